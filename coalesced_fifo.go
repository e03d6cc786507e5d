// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "k8s.io/klog/v2"

// coalescedFIFO is the queue of informers WithCoalescedQueue: the order of a DeltaFIFO, where the states of an object that
// wait together become one, with the atomic events of a RealFIFO. It is never locked while it processes: a list that comes
// meanwhile is compared with the store when its turn comes, so nothing in work is overlooked.
type coalescedFIFO struct {
	recordQueue
	byKey *byKey // guarded by mu
}

var (
	_ Queue                  = (*coalescedFIFO)(nil)
	_ ReflectorBookmarkStore = (*coalescedFIFO)(nil)
	_ boundedStore           = (*coalescedFIFO)(nil)
)

func newCoalescedFIFO(logger klog.Logger, name string, id InformerNameAndResource, metrics InformerMetricsProvider) *coalescedFIFO {
	f := &coalescedFIFO{byKey: newByKey()}
	f.byKey.merge = true
	f.init(firstOf(id.Name(), name), nil)
	f.keys.opens = opensDeltas
	f.logger = queueLogger(&logger, f.name)
	f.bookmarks, f.unlocked = true, true
	f.waiting = f.byKey
	f.setMetrics(id, metrics)
	return f
}

// Add queues an Added delta. Errors: KeyError, or what the transformer returned; nothing is queued then.
func (f *coalescedFIFO) Add(obj any) error { return f.put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *coalescedFIFO) Update(obj any) error { return f.put(Updated, obj) }

// Delete queues a Deleted delta. Errors as for Add.
func (f *coalescedFIFO) Delete(obj any) error { return f.put(Deleted, obj) }

// Bookmark queues a Bookmark delta.
func (f *coalescedFIFO) Bookmark(version string) error { return f.bookmark(version) }

// Replace queues a ReplacedAll delta. An object that has no key or cannot be transformed fails the call.
func (f *coalescedFIFO) Replace(list []any, version string) error { return f.replaceAll(list, version) }

// Resync queues a SyncAll delta.
func (f *coalescedFIFO) Resync() error { return f.syncAll() }

// Pop waits for an item and hands out its Deltas.
func (f *coalescedFIFO) Pop(process PopProcessFunc) (any, error) {
	return f.popDeltas("CoalescedFIFO Pop Process", process)
}
