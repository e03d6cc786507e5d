// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/report"
)

const (
	// stallTime is the duration of the writes in a full run.
	stallTime = 400 * time.Millisecond
	// stallInterval is the time between two reads.
	stallInterval = 100 * time.Microsecond
)

// stallRows measure the latency of Get during long writes. The schedule is open: Get number i is
// due at i times stallInterval and its latency counts from then, even if earlier ones are not done.
// The garbage collector is off during the measurement, because with few cores its time slices would
// hide the effect.
func stallRows() []row {
	return []row{{
		group: "Store, reads during long writes", name: "store/stall-replace", light: true,
		title: "reads on an open schedule during Replaces of all",
		setup: func(ctx context.Context, e *env) (trial, error) {
			first, err := e.population(ctx)
			second, err2 := e.redecoded(ctx)
			if err = errors.Join(err, err2); err != nil {
				return nil, err
			}
			both := [2][]any{objects(first), objects(second)}
			return func(_ context.Context, s side) (outcome, error) {
				store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, blank.Indexers(3))
				if err := store.Replace(both[0], listVersion(0)); err != nil {
					return outcome{}, err
				}
				return stallRound(e, store, both, first.Keys)
			}, nil
		},
	}}
}

func stallRound(e *env, store clientgo.Indexer, both [2][]any, keys []string) (outcome, error) {
	var latencies []float64
	_, err := e.measure(func() error {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		var done atomic.Bool
		wrote := make(chan error, 1)
		go func() {
			defer done.Store(true)
			wrote <- replaceFor(time.Duration(float64(stallTime)*e.scale), store, both)
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

// replaceFor replaces all objects by the same objects decoded again, in turns, for some time, at least
// once.
func replaceFor(limit time.Duration, store clientgo.Indexer, both [2][]any) error {
	start := time.Now()
	for i := 1; ; i++ {
		if err := store.Replace(both[i%2], listVersion(0)); err != nil || time.Since(start) >= limit {
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
