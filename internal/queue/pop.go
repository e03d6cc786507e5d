// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/minor"
)

// PopAll takes all waiting items, up to the end of the initial list, as records. Consumers of
// informers call it.
func (q *Queue) PopAll(process ProcessFunc) error {
	return q.Pop(q.allLocked, process)
}

// PopUnique takes at most one change of each object, for a consumer that calls user code after the
// store has the batch: each notification is then about the stored state. The queue must be in order
// of arrival.
func (q *Queue) PopUnique(process ProcessFunc) error {
	return q.Pop(q.UniqueLocked, process)
}

// PopDeltas takes one item, in the form of the exported queue API.
func (q *Queue) PopDeltas(process clientgo.PopProcessFunc) (any, error) {
	var popped clientgo.Deltas
	err := q.Pop(func() int { return 1 }, func(batch []event.Record, isInInitialList bool) error {
		popped = make(clientgo.Deltas, len(batch))
		for i := range batch {
			popped[i] = DeltaOf(&batch[i])
		}
		return process(popped, isInInitialList)
	})
	if popped == nil {
		return nil, err
	}
	return popped, err
}

// Pop takes the number of items that count returns, processes them, and then counts them as
// processed.
func (q *Queue) Pop(count func() int, process ProcessFunc) error {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.awaitLocked(); err != nil {
		return err
	}
	items := count()
	batch := q.Waiting.take(items)
	defer q.Waiting.recycle(batch)
	q.showDepthLocked()
	q.limit.resume(q.Waiting.Len())
	isInInitialList := q.isInitialLocked()
	if q.options.Early {
		q.throughLocked(items)
	} else {
		defer q.throughLocked(items)
	}
	if q.Unlocked && q.Through != nil {
		defer q.Through()
	}
	return q.workLocked(batch, isInInitialList, process)
}

// allLocked returns the number of waiting items, up to the end of the initial list, so that all
// items of a batch have the same isInInitialList.
func (q *Queue) allLocked() int {
	if q.Mu.initial > 0 {
		return min(q.Mu.initial, q.Waiting.Len())
	}
	return q.Waiting.Len()
}

// BatchLocked returns the number of items of a batch of client-go's queue: UniqueLocked, or since v0.38
// any changes of single objects.
func (q *Queue) BatchLocked() int {
	if !minor.Since38 {
		return q.UniqueLocked()
	}
	waiting, limit := q.Waiting.(*Arrivals), min(PopBatchSize, q.allLocked())
	for i := range limit {
		if !waiting.At(i).Keyed() {
			return max(i, 1)
		}
	}
	return limit
}

// UniqueLocked returns the number of items at the front that are about different objects. An item
// about several objects is taken alone.
func (q *Queue) UniqueLocked() int {
	waiting, limit := q.Waiting.(*Arrivals), min(PopBatchSize, q.allLocked())
	if limit < 2 {
		return limit
	}
	if q.seen == nil {
		q.seen = make(map[string]struct{}, limit)
	}
	defer clear(q.seen)
	for i := range limit {
		rec := waiting.At(i)
		q.seen[rec.Key] = struct{}{}
		if !rec.Keyed() || len(q.seen) == i {
			return max(i, 1)
		}
	}
	return limit
}
