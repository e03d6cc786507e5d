// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/workload"
)

// churnOperations is the number of random updates and deletes after which a
// store is weighed again.
const churnOperations = 1_000_000

// storeMemoryRows are what a store takes per object, keys included and objects
// not, by how it was filled and what happened to it.
func storeMemoryRows() []row {
	var all []row
	for _, indexes := range []int{0, 1, 3} {
		all = append(all, row{
			group: "Memory of a store", name: fmt.Sprintf("store/bytes-%d", indexes),
			title: fmt.Sprintf("indexes: %d, keys included; random: %d updates and deletes", indexes, churnOperations),
			light: true, rounds: 2, // bytes hardly differ between rounds
			setup: func(ctx context.Context, e *env) (trial, error) { return memoryTrial(ctx, e, indexes) },
		})
	}
	return all
}

func memoryTrial(ctx context.Context, e *env, indexes int) (trial, error) {
	population, err := e.population(ctx)
	if err != nil {
		return nil, err
	}
	moved := movedPods(population)
	return func(_ context.Context, s side) (outcome, error) {
		scales := scales{side: s, indexes: indexes, objects: float64(len(population.Pods))}
		scales.fill("filled by Replace", func(store clientgo.Indexer) error {
			return store.Replace(objects(population), listVersion(0))
		})
		scales.fill("filled by Add", func(store clientgo.Indexer) error { return addAll(store, population) })
		scales.change("after random changes", func(store clientgo.Indexer) error {
			return churn(store, population, moved, e.ops(churnOperations), e.seed)
		})
		scales.hold()
		scales.change("after 2 more per object, with a snapshot of before held", func(store clientgo.Indexer) error {
			return churn(store, population, moved, 2*len(population.Pods), e.seed+1)
		})
		scales.change("after its Close", func(clientgo.Indexer) error { return scales.letGo() })
		return outcome{samples: scales.samples, check: scales.check}, scales.err
	}, nil
}

func addAll(store clientgo.Indexer, p *workload.Population) error {
	for _, pod := range p.Pods {
		if err := store.Add(pod); err != nil {
			return fmt.Errorf("add: %w", err)
		}
	}
	return nil
}

// movedPods are versions of all objects with other values in two of the three
// indexes, each the value of some object.
func movedPods(p *workload.Population) []any {
	moved := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		other := p.Pods[(i+workload.PodsPerDeployment+1)%len(p.Pods)]
		moved[i] = workload.Moved(pod, eventVersion(i), other.Spec.NodeName, other.OwnerReferences[0].UID)
	}
	return moved
}

// churn adds, updates and deletes random objects, and leaves the store with
// all objects as they were. The objects that it puts in exist already: only
// what the store keeps is new on the heap.
func churn(store clientgo.Indexer, p *workload.Population, moved []any, operations int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	deleted := make([]bool, len(p.Pods))
	for range operations {
		i := random.IntN(len(p.Pods))
		var err error
		switch choice := random.IntN(4); {
		case deleted[i]:
			err, deleted[i] = store.Add(p.Pods[i]), false
		case choice == 0:
			err, deleted[i] = store.Delete(p.Pods[i]), true
		case choice == 1:
			err = store.Update(moved[i])
		default:
			err = store.Update(p.Pods[i])
		}
		if err != nil {
			return fmt.Errorf("change %s: %w", p.Keys[i], err)
		}
	}
	return addAll(store, p)
}

// scales weigh one store after another. After an error they do nothing.
type scales struct {
	side    side
	indexes int
	objects float64

	base  uint64 // the live heap without the store
	store clientgo.Indexer
	held  view

	samples []sample
	check   check
	err     error
}

// fill makes a store, fills it and weighs it.
func (s *scales) fill(name string, fill func(clientgo.Indexer) error) {
	s.store = nil
	s.base = measure.LiveHeap()
	s.store = s.side.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(s.indexes))
	s.change(name, fill)
}

// change changes the store and weighs it.
func (s *scales) change(name string, do func(clientgo.Indexer) error) {
	if s.err != nil {
		return
	}
	if s.err = do(s.store); s.err != nil {
		return
	}
	s.samples = append(s.samples, sample{name, "B/object", (float64(measure.LiveHeap()) - float64(s.base)) / s.objects})
	s.check, s.err = stateOf(s.store) // keeps the store alive over the weighing
}

// hold takes a snapshot.
func (s *scales) hold() {
	if s.err == nil {
		s.held, s.err = holding(true).open(s.side, s.store)
	}
}

func (s *scales) letGo() error { return s.held.close(s.check) }
