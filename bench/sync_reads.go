// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// readsRows are the longest call of each kind of read while an informer
// relists. The reads come from a goroutine for each kind, and one more does
// what a short read costs without touching the store: the control.
func readsRows() []row {
	var all []row
	for _, mode := range syncModes() {
		if mode.slow {
			continue // publishes as the others do
		}
		all = append(all, row{
			group: syncGroup, name: "reads/" + mode.name, slow: mode.options.WatchList, waits: true,
			title: "longest call of each kind of read during a relist, " + mode.title,
			setup: func(ctx context.Context, e *env) (trial, error) { return readsTrial(ctx, e, mode) },
		})
	}
	return all
}

func readsTrial(ctx context.Context, e *env, mode syncMode) (trial, error) {
	first, second, err := e.generations(ctx)
	if err != nil {
		return nil, err
	}
	population, err := e.population(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s side) (outcome, error) {
		r, err := newRelisting(s, mode, first, second, e.n)
		if err != nil {
			return outcome{}, err
		}
		var longest []sample
		state, err := r.run(ctx, func(phase int, do func() error) error {
			if phase == 0 {
				return do()
			}
			_, err := e.measure(func() (err error) {
				longest, err = longestReads(ctx, r.GetIndexer(), population, do)
				return err
			})
			return err
		})
		if err != nil {
			return outcome{}, err
		}
		control := len(longest) - 1
		return outcome{check: state, samples: longest[:control], shown: longest[control:]}, nil
	}, nil
}

// longestReads makes reads of every kind while do runs, and returns the
// longest call of each; the last is the control's.
func longestReads(ctx context.Context, store clientgo.Indexer, p *workload.Population, do func() error) ([]sample, error) {
	ctx, finish := context.WithCancel(ctx)
	defer finish()
	kinds := append(stallReads(p), stallRead{"control", 100 * time.Microsecond, func(clientgo.Indexer, int) (int, error) {
		for start := time.Now(); time.Since(start) < time.Microsecond; {
			continue
		}
		return 1, nil
	}})
	var (
		reading sync.WaitGroup
		longest = make([]sample, len(kinds))
		failed  = make([]error, len(kinds)+1)
	)
	for i, kind := range kinds {
		reading.Go(func() {
			var worst time.Duration
			worst, failed[i] = longestCall(ctx, store, kind)
			longest[i] = sample{kind.name + ", longest", "ms", worst.Seconds() * 1000}
		})
	}
	failed[len(kinds)] = do()
	finish()
	reading.Wait()
	return longest, errors.Join(failed...)
}

// longestCall makes the read about once in its interval until the context ends.
func longestCall(ctx context.Context, store clientgo.Indexer, kind stallRead) (longest time.Duration, err error) {
	err = eachCall(ctx, store, kind, func(took time.Duration) { longest = max(longest, took) })
	return longest, err
}

// eachCall makes the read about once in its interval until the context ends,
// and notes how long each took.
func eachCall(ctx context.Context, store clientgo.Indexer, kind stallRead, note func(took time.Duration)) error {
	pause := time.NewTicker(kind.interval)
	defer pause.Stop()
	for i := 0; ; i++ {
		start := time.Now()
		found, err := kind.read(store, i)
		note(time.Since(start))
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		if found == 0 {
			return fmt.Errorf("%s: %w", kind.name, errMissing)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}
