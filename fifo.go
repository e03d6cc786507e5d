// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
)

// FIFO is a Queue of single objects: an object that is put again while it waits keeps its place and
// is popped once, in its newest state; one that is deleted before is not popped at all.
//
// All methods are safe for use by any number of goroutines. A FIFO must be made by NewFIFO.
type FIFO struct {
	queueLife
	core  queue.Synced
	keys  event.Keys
	items map[string]any // guarded by mu
	order []string       // keys in order of arrival, among them deleted ones; guarded by mu
}

var (
	_ Queue       = (*FIFO)(nil)
	_ DoneChecker = (*FIFO)(nil)
)

// NewFIFO returns an empty FIFO that distinguishes objects by KeyFunc.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	f := &FIFO{items: map[string]any{}}
	f.core.Init("FIFO")
	f.queueLife = f.core.Life
	f.keys.Init(keyFunc, isMetaNamespaceKeyFunc(keyFunc))
	return f
}

// Add puts obj in the queue, or its newer state in the place where it waits already. Error:
// KeyError.
func (f *FIFO) Add(obj interface{}) error {
	key, err := f.keys.KeyOf(obj, false)
	if err != nil {
		return err
	}
	f.core.Mu.Lock()
	defer f.core.Mu.Unlock()
	f.core.PopulateLocked()
	f.putLocked(key, obj)
	f.core.Mu.Arrival.Broadcast()
	return nil
}

func (f *FIFO) putLocked(key string, obj any) {
	if _, waiting := f.items[key]; !waiting {
		f.order = append(f.order, key)
	}
	f.items[key] = obj
}

// Update is the same as Add.
func (f *FIFO) Update(obj interface{}) error { return f.Add(obj) }

// Delete takes obj out of the queue if it waits there. Error: KeyError.
func (f *FIFO) Delete(obj interface{}) error {
	key, err := f.keys.KeyOf(obj, false)
	if err != nil {
		return err
	}
	f.core.Mu.Lock()
	defer f.core.Mu.Unlock()
	f.core.PopulateLocked()
	delete(f.items, key)
	return nil
}

// Pop waits for an object and calls process with it while the queue is locked: process must not
// call the queue. It returns the object and what process returned, or ErrFIFOClosed when the queue
// is closed and empty.
func (f *FIFO) Pop(process PopProcessFunc) (interface{}, error) {
	f.core.Mu.Lock()
	defer f.core.Mu.Unlock()
	taken := 0
	defer func() { f.core.ThroughLocked(taken) }()
	for {
		if err := f.core.AwaitLocked(func() int { return len(f.order) }); err != nil {
			return nil, err
		}
		key := f.order[0]
		f.order = f.order[1:]
		taken++
		if obj, waiting := f.items[key]; waiting {
			delete(f.items, key)
			return obj, process(obj, f.core.IsInitialLocked())
		}
	}
}

// Replace makes list the content of the queue, in the order of the list. An object without a key
// fails the call (KeyError) and leaves the queue as it was. The queue keeps no resourceVersion.
func (f *FIFO) Replace(list []interface{}, resourceVersion string) error {
	keys, err := f.replacedKeys(list)
	if err != nil {
		return err
	}
	items, order := make(map[string]any, len(list)), keys[:0]
	for i, key := range keys {
		if _, twice := items[key]; !twice {
			order = append(order, key)
		}
		items[key] = list[i]
	}

	f.core.Mu.Lock()
	defer f.core.Mu.Unlock()
	f.core.PopulateInitialLocked(len(items))
	f.items, f.order = items, order
	if len(f.order) > 0 {
		f.core.Mu.Arrival.Broadcast()
	}
	return nil
}

// replacedKeys computes the keys of a list before anything of it is queued.
func (f *FIFO) replacedKeys(list []any) (keys []string, err error) {
	keys = make([]string, len(list))
	for i, obj := range list {
		if keys[i], err = f.keys.KeyOf(obj, false); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Resync does nothing: every object in the queue is in line already.
func (f *FIFO) Resync() error { return nil }
