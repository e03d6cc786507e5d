// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
)

// queueKind is a queue as users make it.
type queueKind struct {
	name, title  string
	theirs, ours newQueue
	methods      []string
}

// newQueue makes a queue for a store that has the known objects.
type newQueue func(known clientgo.KeyListerGetter) clientgo.Queue

// queueKinds are all queues with what can be done to them. FIFO's Update is its
// Add, and its Resync does nothing. With atomic events a Replace and a Resync are
// one item each, whose work client-go leaves to who takes it: see syncRows.
func queueKinds() []queueKind {
	key := clientgo.MetaNamespaceKeyFunc
	plain := clientgo.RealFIFOOptions{KeyFunction: key}
	atomic := clientgo.RealFIFOOptions{KeyFunction: key, AtomicEvents: true, UnlockWhileProcessing: true}
	delta := func(known clientgo.KeyListerGetter) clientgo.DeltaFIFOOptions {
		return clientgo.DeltaFIFOOptions{KeyFunction: key, KnownObjects: known, EmitDeltaTypeReplaced: true}
	}
	return []queueKind{{
		name: "fifo", title: "FIFO", methods: []string{"add", "replace"},
		theirs: func(clientgo.KeyListerGetter) clientgo.Queue { return clientgo.NewFIFO(key) },
		ours:   func(clientgo.KeyListerGetter) clientgo.Queue { return kinformer.NewFIFO(key) },
	}, {
		name: "delta", title: "DeltaFIFO", methods: []string{"add", "update", "delete", "replace", "resync"},
		theirs: func(k clientgo.KeyListerGetter) clientgo.Queue { return clientgo.NewDeltaFIFOWithOptions(delta(k)) },
		ours:   func(k clientgo.KeyListerGetter) clientgo.Queue { return kinformer.NewDeltaFIFOWithOptions(delta(k)) },
	}, {
		name: "real", title: "RealFIFO", methods: []string{"add", "update", "delete", "replace", "resync", "batch"},
		theirs: realFIFO(plain, func(o clientgo.RealFIFOOptions) clientgo.Queue { return clientgo.NewRealFIFOWithOptions(o) }),
		ours:   realFIFO(plain, func(o clientgo.RealFIFOOptions) clientgo.Queue { return kinformer.NewRealFIFOWithOptions(o) }),
	}, {
		name: "atomic", title: "RealFIFO of atomic events", methods: []string{"add", "update", "delete", "batch"},
		theirs: realFIFO(atomic, func(o clientgo.RealFIFOOptions) clientgo.Queue { return clientgo.NewRealFIFOWithOptions(o) }),
		ours:   realFIFO(atomic, func(o clientgo.RealFIFOOptions) clientgo.Queue { return kinformer.NewRealFIFOWithOptions(o) }),
	}}
}

// realFIFO makes a RealFIFO, which has known objects unless events are atomic.
func realFIFO(o clientgo.RealFIFOOptions, make func(clientgo.RealFIFOOptions) clientgo.Queue) newQueue {
	return func(known clientgo.KeyListerGetter) clientgo.Queue {
		if !o.AtomicEvents {
			o.KnownObjects = known
		}
		return make(o)
	}
}

// on is the queue's constructor of a side.
func (k queueKind) on(s side) newQueue {
	if s.module == clientGo(0, "").module {
		return k.theirs
	}
	return k.ours
}

// queueMethods put objects into a queue: an item for each.
var queueMethods = map[string]struct {
	title string
	put   func(q clientgo.Queue, objects []any) error
}{
	"add":     {"Add of each, then Pops", putEach(clientgo.Queue.Add)},
	"update":  {"Update of each, then Pops", putEach(clientgo.Queue.Update)},
	"delete":  {"Delete of each, then Pops", putEach(clientgo.Queue.Delete)},
	"replace": {"Replace, then Pops", func(q clientgo.Queue, objects []any) error { return q.Replace(objects, listVersion(0)) }},
	"resync":  {"Resync, then Pops", func(q clientgo.Queue, _ []any) error { return q.Resync() }},
	"batch":   {"Update of each, then PopBatches", putEach(clientgo.Queue.Update)},
}

func putEach(put func(clientgo.Queue, any) error) func(clientgo.Queue, []any) error {
	return func(q clientgo.Queue, objects []any) error {
		for _, obj := range objects {
			if err := put(q, obj); err != nil {
				return err
			}
		}
		return nil
	}
}

// queueSizeRows are the methods of the queues with several numbers of objects.
func queueSizeRows() []row {
	var all []row
	for _, kind := range queueKinds() {
		for _, method := range kind.methods {
			for _, size := range sizes {
				all = append(all, row{
					group: "Queues by number of objects: " + kind.title, name: fmt.Sprintf("queued/%d/%s-%s", size.objects, kind.name, method),
					title: fmt.Sprintf("objects: %d, %s", size.objects, queueMethods[method].title),
					light: true, slow: size.slow, objects: size.objects,
					setup: func(ctx context.Context, e *env) (trial, error) {
						return queueSizeTrial(ctx, e, kind, method, size.objects)
					},
				})
			}
		}
	}
	return all
}

// filling fills a queue and empties it.
type filling struct {
	queue   clientgo.Queue
	objects []any
	method  string
}

func queueSizeTrial(ctx context.Context, e *env, kind queueKind, method string, n int) (trial, error) {
	both, err := fillings(ctx, e, kind, method, n)
	if err != nil {
		return nil, err
	}
	passes, err := passesIn(time.Duration(float64(sizedTime)*e.scale), func(side int) error {
		_, err := both[side].run(1)
		return err
	})
	return func(_ context.Context, s side) (outcome, error) {
		var taken int64
		usage, err := e.measure(func() (err error) {
			taken, err = both[s.index].run(passes)
			return err
		})
		cpuAndAllocations := perOp(usage, passes*n)
		return outcome{samples: []sample{cpuAndAllocations[0], cpuAndAllocations[2]}, check: check{Updates: taken}}, err
	}, err
}

// fillings are those of both sides, with n objects in random order that a store
// knows. That is client-go's for both: it is not what is measured.
func fillings(ctx context.Context, e *env, kind queueKind, method string, n int) (both [2]filling, err error) {
	population, err := e.population(ctx)
	if err != nil {
		return both, err
	}
	given := make([]any, n)
	for at, i := range shuffled(n, e.seed) {
		given[at] = population.Pods[i]
	}
	known := clientgo.NewStore(clientgo.MetaNamespaceKeyFunc)
	if err := known.Replace(given, listVersion(0)); err != nil {
		return both, fmt.Errorf("fill the known objects: %w", err)
	}
	for i, s := range e.sides {
		both[i] = filling{queue: kind.on(s)(known), objects: given, method: method}
	}
	return both, nil
}

// run returns how many deltas, or objects of a FIFO, it took.
func (f *filling) run(passes int) (taken int64, err error) {
	items := 0
	single := func(obj any, _ bool) error {
		items++
		taken++
		if deltas, ok := obj.(clientgo.Deltas); ok {
			taken += int64(len(deltas)) - 1
		}
		return nil
	}
	several := func(deltas []clientgo.Delta, _ bool) error {
		items += len(deltas)
		taken += int64(len(deltas))
		return nil
	}
	pop := func() error { _, err := f.queue.Pop(single); return err }
	if f.method == "batch" {
		batches, ok := f.queue.(clientgo.QueueWithBatch)
		if !ok {
			return 0, fmt.Errorf("%T has no batches", f.queue)
		}
		pop = func() error { return batches.PopBatch(several, single) }
	}
	for range passes {
		if err := queueMethods[f.method].put(f.queue, f.objects); err != nil {
			return taken, fmt.Errorf("%s: %w", f.method, err)
		}
		for items = 0; items < len(f.objects); {
			if err := pop(); err != nil {
				return taken, fmt.Errorf("pop: %w", err)
			}
		}
	}
	return taken, nil
}
