// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/workload"
)

const joinOthers = 2

// joinRows are a handler that is added while the others are busy.
func joinRows() []row {
	return []row{{
		group: "Late join", name: "join/busy",
		title: fmt.Sprintf("a handler joins %d others, all objects in the store, %d events/s", joinOthers, latencyRate),
		light: true,
		setup: func(ctx context.Context, e *env) (trial, error) {
			population, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			generation := source.NewGeneration(population, listVersion(0))
			events := make([]watch.Event, max(200, e.ops(latencyRate)))
			for i := range events {
				pod := workload.Version(population.Pods[i%len(population.Pods)], eventVersion(i))
				pod.Generation = int64(i)
				events[i] = watch.Event{Type: watch.Modified, Object: pod}
			}
			return func(ctx context.Context, s side) (outcome, error) {
				return joinRound(ctx, e, newInformer(s, source.New(generation, source.Options{}), 0), events)
			}, nil
		},
	}}
}

// joining is a handler that joins, and what that took.
type joining struct {
	handler       *counter
	call, through time.Duration
	err           error
}

// join adds the handler to a busy informer and waits until it has heard of all objects.
func (j *joining) join(ctx context.Context, i *informer) {
	start := time.Now()
	if _, j.err = i.AddEventHandler(j.handler); j.err != nil {
		return
	}
	j.call = time.Since(start)
	select {
	case <-j.handler.reached:
		j.through = time.Since(start)
	case <-ctx.Done():
		j.err = context.Cause(ctx)
	}
}

func joinRound(ctx context.Context, e *env, i *informer, events []watch.Event) (outcome, error) {
	defer i.stop()
	clocked := newClockedEvents(events, latencyRate)
	latencies := make([]float64, joinOthers*len(events))
	for h := range joinOthers {
		if err := i.addHandler(0, clocked.handler(latencies[h*len(events):(h+1)*len(events)])); err != nil {
			return outcome{}, err
		}
	}
	stream, err := i.startSynced(ctx, e.n)
	if err != nil {
		return outcome{}, err
	}
	i.expect(len(events))
	j := &joining{handler: &counter{}}
	j.handler.await(e.n)
	joined := make(chan struct{})
	before := len(events) / 3
	begin := time.AfterFunc(time.Duration(before)*time.Second/latencyRate, func() {
		defer close(joined)
		j.join(ctx, i)
	})
	defer begin.Stop()
	if err := clocked.play(ctx, stream); err != nil {
		return outcome{}, err
	}
	if err := i.wait(ctx); err != nil {
		return outcome{}, err
	}
	<-joined
	if j.err != nil {
		return outcome{}, fmt.Errorf("join: %w", j.err)
	}
	state, err := i.finish()
	undisturbed, disturbed := longestDelays(latencies, len(events), before)
	return outcome{check: state, shown: []sample{{"longest delay of the others before", "ms", undisturbed / 1000}}, samples: []sample{
		{"longest delay of the others", "ms", disturbed / 1000},
		{"AddEventHandler", "ms", j.call.Seconds() * 1000},
		{"until the joiner has heard of all objects", "ms", j.through.Seconds() * 1000},
	}}, err
}

// longestDelays are the longest latencies of all handlers, of the events
// before number split and of those from it on. The latencies are those of the
// handlers one after the other.
func longestDelays(latencies []float64, events, split int) (before, from float64) {
	for ofHandler := range slices.Chunk(latencies, events) {
		before = max(before, slices.Max(ofHandler[:split]))
		from = max(from, slices.Max(ofHandler[split:]))
	}
	return before, from
}
