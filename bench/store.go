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

const storeGroup = "Store"

// stores are two stores with equal contents, one for each side.
type stores [2]clientgo.Indexer

// newStores fills a store per side with the population, by Replace, as an
// informer does.
func newStores(both [2]side, p *workload.Population, indexes int) (stores, error) {
	var filled stores
	for i, s := range both {
		filled[i] = s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(indexes))
		if err := filled[i].Replace(objects(p), listVersion(0)); err != nil {
			return filled, fmt.Errorf("fill the store of %s: %w", s.name, err)
		}
	}
	return filled, nil
}

// objects are the pods of a population as a store's Replace takes them.
func objects(p *workload.Population) []any {
	list := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		list[i] = pod
	}
	return list
}

// storeOps runs ops operations on a store and returns how many objects it was
// given by reads.
type storeOps func(store clientgo.Indexer) (reads int64, err error)

// storeRow is a row of single-threaded operations on a store with three
// indexes. plan is called once, before the stores are filled, and returns the
// operations and their number.
func storeRow(name, title string, plan func(e *env, p *workload.Population) (storeOps, int)) row {
	setup := func(ctx context.Context, e *env) (trial, error) {
		population, err := e.population(ctx)
		if err != nil {
			return nil, err
		}
		do, ops := plan(e, population)
		filled, err := newStores(e.sides, population, 3)
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, s side) (outcome, error) {
			return storeRound(e, filled[s.index], do, ops)
		}, nil
	}
	return row{group: storeGroup, name: name, title: title, setup: setup}
}

func storeRound(e *env, store clientgo.Indexer, do storeOps, ops int) (outcome, error) {
	var reads int64
	usage, err := e.measure(func() (err error) {
		reads, err = do(store)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	return storeOutcome(store, reads, perOp(usage, ops))
}

// storeOutcome checks the store after a round.
func storeOutcome(store clientgo.Indexer, reads int64, samples []sample) (outcome, error) {
	state, err := stateOf(store)
	if err != nil {
		return outcome{}, err
	}
	state.Reads = reads
	return outcome{samples: samples, check: state}, nil
}

// shuffled are the numbers below n in an order that depends on the seed only.
func shuffled(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, uint64(n))).Perm(n)
}

// milliseconds is the form in which rows of whole runs show their usage.
func milliseconds(prefix string, u measure.Usage) []sample {
	return []sample{
		{prefix + "CPU", "ms", u.CPU.Seconds() * 1000},
		{prefix + "wall", "ms", u.Wall.Seconds() * 1000},
	}
}
