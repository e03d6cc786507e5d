// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/stats"
)

const (
	// readInterval is the schedule of the reads during a Replace.
	readInterval = 100 * time.Microsecond
	// replacesPerRound follow each other without a pause.
	replacesPerRound = 3
)

// storeStallRows are how long a Get takes while all objects are replaced.
//
// The schedule is open: read number i is due at i times the interval and its
// latency counts from then, whether or not the reads before it are done. A
// reader that is held up for half a second has 5000 late reads, not one.
func storeStallRows() []row {
	return []row{{
		group: "Store, stalls", name: "store/stall",
		title: fmt.Sprintf("GetByKey, one every %s, during %d Replaces of all", readInterval, replacesPerRound),
		setup: stallTrial,
	}}
}

func stallTrial(ctx context.Context, e *env) (trial, error) {
	lists, filled, err := replaceable(ctx, e)
	if err != nil {
		return nil, err
	}
	population, err := e.population(ctx)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, s side) (outcome, error) {
		var latencies []float64
		store := filled[s.index]
		_, err := e.measure(func() (err error) {
			latencies, err = readDuringReplaces(store, lists, population.Keys)
			return err
		})
		if err != nil {
			return outcome{}, err
		}
		slices.Sort(latencies)
		return storeOutcome(store, replacesPerRound, []sample{
			{"worst", "us", latencies[len(latencies)-1]},
			{"p99.9", "us", stats.Percentile(latencies, 0.999)},
			{"p50", "us", stats.Percentile(latencies, 0.5)},
		})
	}, nil
}

// readDuringReplaces returns the latencies of the reads in microseconds. The
// last Replace is with the second list.
func readDuringReplaces(store clientgo.Indexer, lists [2][]any, keys []string) ([]float64, error) {
	var done atomic.Bool
	replaced := make(chan error, 1)
	go func() {
		defer done.Store(true)
		for i := range replacesPerRound {
			if err := store.Replace(lists[(i+1)%len(lists)], listVersion(0)); err != nil {
				replaced <- err
				return
			}
		}
		replaced <- nil
	}()
	latencies, err := readOnSchedule(store, keys, &done)
	if failed := <-replaced; failed != nil {
		return nil, fmt.Errorf("replace: %w", failed)
	}
	return latencies, err
}

// readOnSchedule makes every read that is due before done, and at least one,
// late or not. It spins between the reads: timers are later than what is
// measured.
func readOnSchedule(store clientgo.Indexer, keys []string, done *atomic.Bool) ([]float64, error) {
	latencies := make([]float64, 0, 1<<16)
	start := time.Now()
	for i := 0; ; i++ {
		due := time.Duration(i) * readInterval
		for time.Since(start) < due {
			if done.Load() {
				return latencies, nil
			}
		}
		key := keys[i*7919%len(keys)]
		_, exists, err := store.GetByKey(key)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, fmt.Errorf("%w: %s, during a Replace by equal keys", errMissing, key)
		}
		latencies = append(latencies, float64(time.Since(start)-due)/float64(time.Microsecond))
	}
}
