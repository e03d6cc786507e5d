// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/workload"
)

const (
	idleInformers = 1000
	idleHandlers  = 4
	idleObjects   = 10
)

// idleRows are many informers that have nothing to do.
func idleRows() []row {
	return []row{{
		group: "Idle informers", name: "idle/1000",
		title: fmt.Sprintf("%d synced informers of %d objects with %d handlers, nothing happens", idleInformers, idleObjects, idleHandlers),
		light: true,
		setup: func(ctx context.Context, e *env) (trial, error) {
			population, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			few := &workload.Population{Pods: population.Pods[:min(idleObjects, len(population.Pods))]}
			generation := source.NewGeneration(few, listVersion(0))
			return func(ctx context.Context, s side) (outcome, error) {
				return idleRound(ctx, e.ops(idleInformers), s, generation, len(few.Pods))
			}, nil
		},
	}}
}

// idleUsage is what a process holds.
type idleUsage struct{ goroutines, heap, stacks float64 }

func readIdleUsage() idleUsage {
	heap := measure.LiveHeap()
	var all runtime.MemStats
	runtime.ReadMemStats(&all)
	return idleUsage{float64(runtime.NumGoroutine()), float64(heap), float64(all.StackInuse)}
}

func idleRound(ctx context.Context, number int, s side, generation *source.Generation, objects int) (outcome, error) {
	before := readIdleUsage()
	informers := make([]*informer, number)
	for n := range informers {
		i := newInformer(s, source.New(generation, source.Options{}), 0)
		defer i.stop()
		for range idleHandlers {
			if err := i.addHandler(0, &counter{}); err != nil {
				return outcome{}, err
			}
		}
		if _, err := i.startSynced(ctx, objects); err != nil {
			return outcome{}, err
		}
		informers[n] = i
	}
	after := readIdleUsage()
	var total check
	for _, i := range informers {
		state, err := i.state()
		if err != nil {
			return outcome{}, err
		}
		total.Adds += state.Adds
		total.Objects += state.Objects
		total.State += state.State
		total.Index += state.Index
	}
	each := 1 / float64(number)
	return outcome{check: total, samples: []sample{
		{"goroutines", "per informer", (after.goroutines - before.goroutines) * each},
		{"heap", "B/informer", (after.heap - before.heap) * each},
		{"stacks", "B/informer", max(0, (after.stacks-before.stacks)*each)},
	}}, nil
}
