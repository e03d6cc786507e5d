// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
)

// resyncRows are a resync of all objects that one of four handlers asked for.
func resyncRows() []row {
	return []row{{
		group: "Resync", name: "resync/1-of-4",
		waits: true,
		title: "resync of all objects for one of 4 handlers",
		setup: func(ctx context.Context, e *env) (trial, error) {
			population, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			generation := source.NewGeneration(population, listVersion(0))
			return func(ctx context.Context, s side) (outcome, error) {
				return resyncRound(ctx, e, s, generation)
			}, nil
		},
	}}
}

// resyncPeriod is the shortest that client-go accepts, and more for many
// objects, so that all is quiet when the resync comes.
func resyncPeriod(objects int) time.Duration {
	return time.Second + time.Duration(objects)*20*time.Microsecond
}

func resyncRound(ctx context.Context, e *env, s side, generation *source.Generation) (outcome, error) {
	period := resyncPeriod(e.n)
	i := newInformer(s, source.New(generation, source.Options{}), period)
	defer i.stop()
	var first, last time.Time
	resynced := &counter{}
	resynced.onUpdate = func(any, any) {
		switch resynced.updates {
		case 0:
			first = time.Now()
		case int64(e.n) - 1:
			last = time.Now()
		}
	}
	if err := i.addHandler(period, resynced); err != nil {
		return outcome{}, err
	}
	for range 3 {
		if err := i.addHandler(0, &counter{}); err != nil {
			return outcome{}, err
		}
	}
	resynced.await(2 * e.n)
	for _, other := range i.handlers[1:] {
		other.await(e.n)
	}
	i.start(ctx)
	for _, other := range i.handlers[1:] {
		select {
		case <-other.reached:
		case <-ctx.Done():
			return outcome{}, context.Cause(ctx)
		}
	}
	clock, err := measure.StartCPU()
	if err != nil {
		return outcome{}, err
	}
	if err := i.wait(ctx); err != nil {
		return outcome{}, err
	}
	cpu, err := clock.Read()
	if err != nil {
		return outcome{}, err
	}
	i.stop()
	resynced.updates = min(resynced.updates, int64(e.n)) // the next resync may have begun, on one side and not on the other
	state, err := i.state()
	return outcome{check: state, samples: []sample{
		{"first to last call", "ms", last.Sub(first).Seconds() * 1000},
		{"CPU", "ms", cpu.Seconds() * 1000},
	}}, err
}
