// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/report"
)

// stallWrites are the writes of one of the stallRows.
type stallWrites struct {
	name, title string
	// indexers are those of the store before the writes.
	indexers clientgo.Indexers
	// once reports whether a store accepts the write only once.
	once bool
	// write performs write number i, counted from 0. both are all objects, and the same objects
	// decoded again.
	write func(store clientgo.Indexer, both [2]contents, i int) error
}

// transactionSize is the number of updates of one transaction.
const transactionSize = 10_000

func stalls() []stallWrites {
	more := indexers(3)
	delete(more, byOwner)
	return []stallWrites{
		{name: "replace", title: "Replaces of all", indexers: indexers(3), write: func(store clientgo.Indexer, both [2]contents, i int) error {
			return store.Replace(both[(i+1)%2].list, listVersion(0))
		}},
		{name: "transaction", title: fmt.Sprintf("transactions of %d updates", transactionSize), indexers: indexers(3),
			write: func(store clientgo.Indexer, both [2]contents, i int) error {
				if err := store.(clientgo.TransactionStore).Transaction(both[(i+1)%2].updates...); err != nil {
					return err
				}
				return nil
			}},
		{name: "add-indexers", title: "an AddIndexers of two indexes on a full store", indexers: clientgo.Indexers{byOwner: indexOwner}, once: true,
			write: func(store clientgo.Indexer, _ [2]contents, _ int) error { return store.AddIndexers(more) }},
	}
}

const (
	// stallTime is the duration of the writes in a full run.
	stallTime = 400 * time.Millisecond
	// stallInterval is the time between two reads.
	stallInterval = 100 * time.Microsecond
)

// stallRows measure the latency of Get during a long write. The schedule is open: Get number i is
// due at i times stallInterval and its latency counts from then, even if earlier ones are not done.
// The garbage collector is off during the measurement, because with few cores its time slices would
// hide the effect.
func stallRows() []row {
	var all []row
	for _, w := range stalls() {
		all = append(all, row{
			group: "Store, reads during long writes", name: "store/stall-" + w.name, light: true,
			title: "reads on an open schedule during " + w.title,
			setup: func(ctx context.Context, e *env) (trial, error) {
				first, err := e.population(ctx)
				second, err2 := e.redecoded(ctx)
				if err = errors.Join(err, err2); err != nil {
					return nil, err
				}
				both := [2]contents{contentsOf(objects(first), transactionSize), contentsOf(objects(second), transactionSize)}
				return func(_ context.Context, s side) (outcome, error) {
					store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, maps.Clone(w.indexers)) // client-go keeps the map
					if err := store.Replace(both[0].list, listVersion(0)); err != nil {
						return outcome{}, err
					}
					return w.round(e, store, both, first.Keys)
				}, nil
			},
		})
	}
	return all
}

func (w stallWrites) round(e *env, store clientgo.Indexer, both [2]contents, keys []string) (outcome, error) {
	var latencies []float64
	_, err := e.measure(func() error {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		var done atomic.Bool
		wrote := make(chan error, 1)
		go func() {
			defer done.Store(true)
			wrote <- w.writeFor(time.Duration(float64(stallTime)*e.scale), store, both)
		}()
		var err error
		latencies, err = getOnSchedule(store, keys, &done)
		return errors.Join(err, <-wrote)
	})
	if err != nil {
		return outcome{}, err
	}
	slices.Sort(latencies)
	state, err := stateOf(store)
	return outcome{check: state, samples: []sample{
		{"Get, p99.9", "us", report.Percentile(latencies, 0.999)},
		{"Get, worst", "us", latencies[len(latencies)-1]},
	}}, err
}

// writeFor writes for some time, at least once.
func (w stallWrites) writeFor(limit time.Duration, store clientgo.Indexer, both [2]contents) error {
	start := time.Now()
	for i := 0; ; i++ {
		if err := w.write(store, both, i); err != nil || w.once || time.Since(start) >= limit {
			return err
		}
	}
}

// getOnSchedule makes every Get that is due before done, and at least one, late or not, and returns
// the latencies in microseconds. It spins between them, because timers are later than a Get takes.
func getOnSchedule(store clientgo.Indexer, keys []string, done *atomic.Bool) ([]float64, error) {
	const step = 7919 // a prime: neighbours in time are no neighbours in memory
	latencies := make([]float64, 0, 1<<14)
	start := time.Now()
	end := time.Duration(-1) // when done was seen: a reader that is always late sees it too
	for i := 0; ; i++ {
		due := time.Duration(i) * stallInterval
		for end < 0 && time.Since(start) < due && !done.Load() {
			continue
		}
		if end < 0 && i > 0 && done.Load() {
			end = time.Since(start)
		}
		if end >= 0 && due >= end {
			return latencies, nil
		}
		if _, exists, err := store.GetByKey(keys[i*step%len(keys)]); err != nil || !exists {
			return latencies, errors.Join(err, errMissing)
		}
		latencies = append(latencies, float64(time.Since(start)-due)/float64(time.Microsecond))
	}
}
