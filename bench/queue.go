// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
)

// queueRows are events on their way through a RealFIFO as users make it, put and taken by one
// goroutine, so many at a time: Update of each and PopBatch of all.
func queueRows() []row {
	var all []row
	for _, depth := range []int{1, 64} {
		all = append(all, queueRow(fmt.Sprintf("queue/api-%d", depth), fmt.Sprintf("Update %d and PopBatch", depth), depth))
	}
	return all
}

// queuePath puts the objects as updates, takes them, and returns how many it
// took.
type queuePath func(objects []any) (taken int, err error)

// queueObjects is the number of objects that are updated, few as in fanoutObjects.
const queueObjects = fanoutObjects

func queueRow(name, title string, depth int) row {
	return row{group: "Queue", name: name, title: title, light: true, setup: func(ctx context.Context, e *env) (trial, error) {
		population, err := e.population(ctx)
		if err != nil {
			return nil, err
		}
		updated := objects(population)
		updated = updated[:min(queueObjects, len(updated))]
		depth := min(depth, len(updated))
		return func(_ context.Context, s side) (outcome, error) {
			return queueRound(e, apiPath(s), updated, depth, e.ops(2_000_000/(depth+9))+1)
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

// apiPath is the way through the exported RealFIFO of the side, made as
// informers make it.
func apiPath(s side) queuePath {
	options := clientgo.RealFIFOOptions{
		KeyFunction: clientgo.MetaNamespaceKeyFunc, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	}
	var queue clientgo.QueueWithBatch
	if s.status == nil {
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
