// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// pipeline is the way of a change through an informer: from the reflector, whose sink it is, through the queue into the store
// and on to the handlers.
//
//	reflector ──▶ put ──▶ reader ──▶ queue ──▶ handle ──▶ applier ──▶ deliver
//	          ──▶ stage ──────────────▲
//
// An idle queue hands a batch straight on to handle, in the reflector's goroutine; otherwise the controller's takes it.
type pipeline struct {
	contents *contents // of the store
	applier  *applier
	failures *processFailures
	deliver  func([]change)                                   // tells the handlers; the changes are the pipeline's again afterwards
	handlers func(inFlight func() int) (int, <-chan struct{}) // the room that handlers have; nil: always enough
	reuse    ReuseMode
	queue    *recordQueue // nil until it is opened
	pending  func() int   // queue.pending

	// delivery is held while a batch goes into the store and on to the handlers, so that a handler that joins sees each
	// change either in its initial list or as a notification, never in both and never in neither.
	delivery sync.Mutex
}

func newPipeline(s *keyedStore, failures *processFailures, deliver func([]change)) *pipeline {
	c := &s.objects.contents
	return &pipeline{contents: c, applier: newApplier(c), failures: failures, deliver: deliver}
}

// put takes changes of a watch.
func (p *pipeline) put(changes []record) (refused []refusedRecord) { return p.queue.putBatch(changes) }

// stage returns the next state of the store. It gets into the store by way of the queue.
func (p *pipeline) stage(size int, streamed bool) stage {
	stored := p.contents.table.Len()
	if streamed {
		size = stored
	}
	return newStateStage(&p.queue.reader, p.contents, size, stored > 0 && p.reuse.wanted(), p.queue.putState)
}

// resync brings up again all that is in the store.
func (p *pipeline) resync() error { return p.queue.syncAll() }

// room is what both the queue and the handlers have room for.
func (p *pipeline) room() (changes int, freed <-chan struct{}) {
	changes, freed = p.queue.room()
	if freed != nil || p.handlers == nil {
		return changes, freed
	}
	most, freed := p.handlers(p.pending)
	return min(changes, most), freed
}

// handle brings a batch into the store and then to the handlers.
func (p *pipeline) handle(batch []record, isInInitialList bool) error {
	p.delivery.Lock()
	defer p.delivery.Unlock()
	p.handleLocked(batch, isInInitialList, true)
	return nil
}

// handleNow is handle in the reflector's goroutine, while the controller's is idle: the batch needs to wake nobody up. It
// refuses where it would have to wait: for a handler that joins, for another writer of the store, or for slow index
// functions. A panic is reported like one of the controller's goroutine.
func (p *pipeline) handleNow(batch []record, isInInitialList bool) (done bool) {
	if !p.contents.pace.allowsReader(len(batch)) || !p.delivery.TryLock() {
		return false
	}
	defer utilruntime.HandleCrash()
	defer p.delivery.Unlock()
	done = true // also after a panic: the batch is not tried again
	done = p.handleLocked(batch, isInInitialList, false)
	return done
}

// handleLocked returns false, and has done nothing, if it may not wait for other writers and would have to.
func (p *pipeline) handleLocked(batch []record, isInInitialList, mayWait bool) (done bool) {
	defer p.failures.panickingBatch(batch)
	defer p.applier.done()
	var changes []change
	if mayWait {
		changes = p.applier.apply(batch, isInInitialList)
	} else if changes, done = p.applier.tryApply(batch, isInInitialList); !done {
		return false
	}
	p.deliver(changes)
	return true
}

// queueOptions are what an informer's queue needs to know of the informer.
type queueOptions struct {
	logger     klog.Logger
	resource   string // what the queue is called, if the identifier has no name
	transform  TransformFunc
	identifier InformerNameAndResource
	metrics    InformerMetricsProvider
	queueConfig
}

// open makes the queue: changes in order of arrival or, coalesced, in that of their objects, a whole state as one.
func (p *pipeline) open(o queueOptions) {
	q := &recordQueue{bookmarks: true, unlocked: true}
	kind := "RealFIFO"
	if o.coalesced {
		kind = "CoalescedFIFO"
		order := newByKey()
		order.merge = true
		q.waiting = order
	} else {
		q.waiting = &arrivals{}
	}
	q.init(firstOf(o.identifier.Name(), kind+" "+o.resource))
	q.reader.logger = queueLogger(&o.logger, q.Name())
	q.reader.keys.init(MetaNamespaceKeyFunc, true)
	q.reader.keys.opens, q.reader.keys.known = opensDeltas, p.contents.table
	q.reader.transform.function, q.reader.transform.keepCached = o.transform, o.keepCached
	setMetrics(q, o.identifier, o.metrics)
	q.SetLimit(o.limit)
	p.queue, p.pending = q, q.pending
}
