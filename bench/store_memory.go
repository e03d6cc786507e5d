// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/workload"
)

// storeMemoryRows are what a store takes per object, keys included and objects
// not, by how it was filled.
func storeMemoryRows() []row {
	var all []row
	for _, indexes := range []int{0, 1, 3} {
		all = append(all, row{
			group: "Memory of a store", name: fmt.Sprintf("store/bytes-%d", indexes),
			title: fmt.Sprintf("indexes: %d, keys included", indexes),
			light: true,
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
	return func(_ context.Context, s side) (outcome, error) {
		replaced, _, err := storeBytes(s, indexes, population, func(store clientgo.Indexer) error {
			return store.Replace(objects(population), listVersion(0))
		})
		if err != nil {
			return outcome{}, err
		}
		added, check, err := storeBytes(s, indexes, population, func(store clientgo.Indexer) error {
			return addAll(store, population)
		})
		return outcome{check: check, samples: []sample{
			{"filled by Replace", "B/object", replaced},
			{"filled by Add", "B/object", added},
		}}, err
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

// storeBytes is the live heap that a store of the population takes per object.
func storeBytes(s side, indexes int, p *workload.Population, fill func(clientgo.Indexer) error) (float64, check, error) {
	before := measure.LiveHeap()
	store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(indexes))
	if err := fill(store); err != nil {
		return 0, check{}, err
	}
	after := measure.LiveHeap()
	state, err := stateOf(store) // keeps the store alive over the second reading
	return (float64(after) - float64(before)) / float64(len(p.Pods)), state, err
}
