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

// churnOperations is the number of random updates and deletes after which a store is weighed again.
const churnOperations = 1_000_000

// storeMemoryRows are what a store takes per object, keys included and objects not, by how it was
// filled and what happened to it.
func storeMemoryRows() []row {
	var all []row
	for _, indexes := range []int{0, 1, 3} {
		all = append(all, row{
			group: "Memory of a store", name: fmt.Sprintf("store/bytes-%d", indexes),
			title: fmt.Sprintf("indexes: %d, keys included; random: %d updates and deletes", indexes, churnOperations),
			light: true, rounds: 2, // bytes hardly differ between rounds
			setup: func(ctx context.Context, e *env) (trial, error) {
				p, err := e.population(ctx)
				if err != nil {
					return nil, err
				}
				moved := movedPods(p)
				return func(_ context.Context, s side) (outcome, error) { return weigh(e, s, p, moved, indexes) }, nil
			},
		})
	}
	return all
}

// weigh fills a store in both ways, and changes the second.
func weigh(e *env, s side, p *workload.Population, moved []any, indexes int) (out outcome, err error) {
	for _, fill := range []struct {
		name string
		fill func(clientgo.Indexer) error
	}{
		{"filled by Replace", func(store clientgo.Indexer) error { return store.Replace(objects(p), listVersion(0)) }},
		{"filled by Add", func(store clientgo.Indexer) error { return addAll(store, p) }},
		{"after random changes", func(store clientgo.Indexer) error {
			if err := addAll(store, p); err != nil {
				return err
			}
			return churn(store, p, moved, e.ops(churnOperations), e.seed)
		}},
	} {
		base := measure.LiveHeap()
		store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(indexes))
		if err := fill.fill(store); err != nil {
			return out, err
		}
		taken := float64(measure.LiveHeap()) - float64(base)
		out.samples = append(out.samples, sample{fill.name, "B/object", taken / float64(len(p.Pods))})
		if out.check, err = stateOf(store); err != nil { // it also keeps the store alive over the weighing
			return out, err
		}
	}
	return out, nil
}

func addAll(store clientgo.Indexer, p *workload.Population) error {
	for _, pod := range p.Pods {
		if err := store.Add(pod); err != nil {
			return fmt.Errorf("add: %w", err)
		}
	}
	return nil
}

// movedPods are versions of all objects with other values in two of the three indexes, each the
// value of some object.
func movedPods(p *workload.Population) []any {
	moved := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		other := p.Pods[(i+workload.PodsPerDeployment+1)%len(p.Pods)]
		moved[i] = workload.Moved(pod, eventVersion(i), other.Spec.NodeName, other.OwnerReferences[0].UID)
	}
	return moved
}

// churn adds, updates and deletes random objects, and leaves the store with all objects as they
// were. The objects that it puts in exist already: only what the store keeps is new on the heap.
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
