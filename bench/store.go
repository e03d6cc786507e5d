// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
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

// holding says whether a snapshot is held in all measured regions of a row, on
// the side that has snapshots. Each round takes its own and looks at its end
// whether it still shows what it showed.
type holding bool

// rowOf is the group and the name of a row.
func (h holding) rowOf(group, name string) row {
	if h {
		return row{group: group + ", while a snapshot is held (light objects; client-go has no snapshots)", name: "held/" + name, light: true}
	}
	return row{group: group, name: "store/" + name}
}

// view is a snapshot that is held, or nothing.
type view struct{ snapshot kinformer.Snapshot }

// open takes a snapshot of the side's store, if one is to be held.
func (h holding) open(s side, store clientgo.Store) (view, error) {
	if !h || s.snapshot == nil {
		return view{}, nil
	}
	snapshot, err := s.snapshot(store)
	if err != nil {
		return view{}, fmt.Errorf("take a snapshot: %w", err)
	}
	return view{snapshot}, nil
}

// close lets go of the snapshot, after a look whether it shows the state.
func (v view) close(want check) error {
	if v.snapshot == nil {
		return nil
	}
	defer v.snapshot.Close()
	var seen check
	if err := seen.add(v.snapshot.List()); err != nil {
		return err
	}
	if seen.Objects != want.Objects || seen.State != want.State {
		return fmt.Errorf("%w: %d objects of %d", errSnapshotMoved, seen.Objects, want.Objects)
	}
	return nil
}

// during runs a round on the store with a snapshot held, if it is to be. The
// round leaves the store as it found it.
func (h holding) during(s side, store clientgo.Indexer, round func() (outcome, error)) (outcome, error) {
	v, err := h.open(s, store)
	if err != nil {
		return outcome{}, err
	}
	out, err := round()
	return out, errors.Join(err, v.close(out.check))
}

var errSnapshotMoved = errors.New("a snapshot does not show the state at which it was taken")

// storePlan is called once, before the stores are filled, and returns
// operations and their number.
type storePlan func(e *env, p *workload.Population) (storeOps, int)

// row is a row of single-threaded operations on a store with three indexes.
func (h holding) row(name, title string, plan storePlan) row {
	r := h.rowOf(storeGroup, name)
	r.title = title
	r.setup = func(ctx context.Context, e *env) (trial, error) {
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
			return h.during(s, filled[s.index], func() (outcome, error) {
				return storeRound(e, filled[s.index], do, ops)
			})
		}, nil
	}
	return r
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
