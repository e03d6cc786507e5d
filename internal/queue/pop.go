// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// PopAll is the consumer's call in our own informers: it takes all there is, up to the end of the
// initial list, without leaving the typed form.
func (q *Queue) PopAll(process ProcessFunc) error {
	return q.Pop(q.allLocked, process)
}

// PopUnique takes at most one change of an object, for a consumer that calls the user once the
// store has a batch: what is told of an object is then what the store has. It is for a queue in
// order of arrival.
func (q *Queue) PopUnique(process ProcessFunc) error {
	return q.Pop(q.UniqueLocked, process)
}

// PopDeltas is Pop: one item, in the form that the exported queue API hands out.
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

// Pop takes as many items as count says are next, has them processed, and only then counts them as
// through.
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

// allLocked stops at the end of the initial list, so that everything in a batch has the same
// isInInitialList.
func (q *Queue) allLocked() int {
	if q.Mu.initial > 0 {
		return min(q.Mu.initial, q.Waiting.Len())
	}
	return q.Waiting.Len()
}

// UniqueLocked counts how many of the first items are each about another object. What is about more
// than one object is alone.
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
