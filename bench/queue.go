// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/table"
)

const queueGroup = "Queue"

// queueRows are events on their way through the queue of an informer, put and
// taken by one goroutine, so many at a time. On client-go's side that is
// Update of each and PopBatch of all. On ours it is, in the rows "api", the
// same calls, as users of New have it, and in the rows "batch" what our own
// reflector and controller call.
func queueRows() []row {
	var all []row
	for _, depth := range []int{1, 64} {
		all = append(all,
			queueRow(fmt.Sprintf("queue/batch-%d", depth), fmt.Sprintf("put %d and take them, as informers do", depth), depth, batchPath),
			queueRow(fmt.Sprintf("queue/api-%d", depth), fmt.Sprintf("Update %d and PopBatch", depth), depth, apiPath))
	}
	return all
}

// queuePath puts the objects as updates, takes them, and returns how many it
// took.
type queuePath func(objects []any) (taken int, err error)

// queueObjects is the number of objects that are updated, few as in fanoutObjects.
const queueObjects = fanoutObjects

func queueRow(name, title string, depth int, pathOf func(side, []any) queuePath) row {
	return row{group: queueGroup, name: name, title: title, light: true, setup: func(ctx context.Context, e *env) (trial, error) {
		population, err := e.population(ctx)
		if err != nil {
			return nil, err
		}
		updated := objects(population)
		updated = updated[:min(queueObjects, len(updated))]
		depth := min(depth, len(updated))
		return func(_ context.Context, s side) (outcome, error) {
			return queueRound(e, pathOf(s, updated), updated, depth, e.ops(2_000_000/(depth+9))+1)
		}, nil
	}}
}

func queueRound(e *env, path queuePath, updated []any, depth, batches int) (outcome, error) {
	var taken int64
	usage, err := e.measure(func() error {
		for from := range batches {
			at := from * depth % (len(updated) - depth + 1)
			n, err := path(updated[at : at+depth])
			if err != nil {
				return fmt.Errorf("queue: %w", err)
			}
			taken += int64(n)
		}
		return nil
	})
	return outcome{samples: perOp(usage, batches*depth), check: check{Updates: taken}}, err
}

// batchPath is the inner way of the side. The store has the objects, as that of
// an informer has.
func batchPath(s side, updated []any) queuePath {
	if s.module == clientGo(0, "").module {
		return apiPath(s, updated)
	}
	stored := table.New(nil, table.Options{})
	for _, obj := range updated {
		key, _ := clientgo.MetaNamespaceKeyFunc(obj) // a pod has one
		stored.Apply([]table.Op{{Key: key, Object: obj}}, nil)
	}
	q := queue.New(queue.Options{Opens: event.OpensDeltas, Bookmarks: true, Unlocked: true, Stored: stored})
	var batch []event.Record
	taken := 0
	count := func(batch []event.Record, _ bool) error { taken = len(batch); return nil }
	return func(objects []any) (int, error) {
		batch = batch[:0]
		for _, obj := range objects {
			version, _ := event.VersionOf(obj)
			batch = append(batch, event.Record{Type: clientgo.Updated, Object: obj, Version: version})
		}
		for _, refused := range q.PutBatch(batch) {
			return 0, refused.Err
		}
		err := q.PopAll(count)
		return taken, err
	}
}

// apiPath is the way through the exported RealFIFO of the side, made as
// informers make it.
func apiPath(s side, _ []any) queuePath {
	options := clientgo.RealFIFOOptions{
		KeyFunction: clientgo.MetaNamespaceKeyFunc, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	}
	var queue clientgo.QueueWithBatch
	if s.module == clientGo(0, "").module {
		queue = clientgo.NewRealFIFOWithOptions(options)
	} else {
		queue = kinformer.NewRealFIFOWithOptions(options)
	}
	taken := 0
	single := func(any, bool) error { taken++; return nil }
	several := func(deltas []clientgo.Delta, _ bool) error { taken += len(deltas); return nil }
	return func(objects []any) (int, error) {
		for _, obj := range objects {
			if err := queue.Update(obj); err != nil {
				return 0, err
			}
		}
		taken = 0
		for taken < len(objects) {
			if err := queue.PopBatch(several, single); err != nil {
				return taken, err
			}
		}
		return taken, nil
	}
}
