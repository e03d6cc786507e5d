// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// stallRows are how long reads take while a long write is under way, beside a
// control loop that does not touch the store (see stall_schedule.go).
func (h holding) stallRows() []row {
	var all []row
	for _, w := range []struct {
		name, title string
		make        func(e *env, p, again *workload.Population) stallWrites
	}{
		{"replace", "Replaces of all", replacing},
		{"transaction", fmt.Sprintf("transactions of %d updates", transactionSize), transacting},
		{"add-indexers", "an AddIndexers of two indexes on a full store", indexing},
	} {
		r := h.rowOf("Store, reads during long writes", "stall-"+w.name)
		r.title = "reads on an open schedule during " + w.title
		r.light, r.slow = true, bool(h)
		if h {
			r.rounds = 3
		}
		r.setup = func(ctx context.Context, e *env) (trial, error) {
			first, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			second, err := e.redecoded(ctx)
			if err != nil {
				return nil, err
			}
			writes := w.make(e, first, second)
			return func(_ context.Context, s side) (outcome, error) {
				return (&stall{env: e, side: s, hold: h, population: first, writes: writes}).round()
			}, nil
		}
		all = append(all, r)
	}
	return all
}

// stallWrites are the writes of a row.
type stallWrites struct {
	// indexers are those of the store before the writes.
	indexers clientgo.Indexers
	// once says that a store can take the write once only.
	once bool
	// write does write number i, counted from 0. Writes leave the store with
	// objects of equal contents.
	write func(store clientgo.Indexer, i int) error
}

// replacing replaces all objects by equal ones.
func replacing(_ *env, p, again *workload.Population) stallWrites {
	lists := [2][]any{objects(again), objects(p)}
	return stallWrites{indexers: indexers(3), write: func(store clientgo.Indexer, i int) error {
		return store.Replace(lists[i%2], listVersion(0))
	}}
}

// transactionSize is the number of updates of one transaction.
const transactionSize = 10_000

// transacting updates a part of the objects, in turns from one generation and the other.
func transacting(_ *env, p, again *workload.Population) stallWrites {
	var turns [2][]clientgo.Transaction
	for i := range min(transactionSize, len(p.Pods)) {
		turns[0] = append(turns[0], clientgo.Transaction{Type: clientgo.TransactionTypeUpdate, Object: again.Pods[i]})
		turns[1] = append(turns[1], clientgo.Transaction{Type: clientgo.TransactionTypeUpdate, Object: p.Pods[i]})
	}
	return stallWrites{indexers: indexers(3), write: func(store clientgo.Indexer, i int) error {
		transactional, ok := store.(clientgo.TransactionStore)
		if !ok {
			return fmt.Errorf("%T has no transactions", store)
		}
		if err := transactional.Transaction(turns[i%2]...); err != nil {
			return err
		}
		return nil
	}}
}

// indexing adds two indexes to a store that has the one by owner.
func indexing(*env, *workload.Population, *workload.Population) stallWrites {
	more := indexers(3)
	delete(more, byOwner)
	return stallWrites{
		indexers: clientgo.Indexers{byOwner: indexOwner},
		once:     true,
		write:    func(store clientgo.Indexer, _ int) error { return store.AddIndexers(more) },
	}
}

// stallTime is how long the writes of one phase go on in a full run.
const stallTime = 400 * time.Millisecond
