// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/source"
)

// fanoutObjects is the number of objects that events change: few, because the
// rows are about the way of an event and not about the store's size.
const fanoutObjects = 500

// warmEvents is the number of different events: two per object. The parts of them that are read
// therefore stay in the processor's second-level cache, as those of an object that a client has
// just decoded do.
const warmEvents = 2 * fanoutObjects

// fanoutRows measure MODIFIED events sent as fast as the informer accepts them. Every handler
// receives every event and only counts it.
func fanoutRows() []row {
	var all []row
	for _, capacity := range []int{0, 1024} {
		for _, handlers := range []int{1, 4, 16, 64} {
			all = append(all, fanoutRow(capacity, handlers))
		}
	}
	return all
}

func fanoutRow(capacity, handlers int) row {
	channel := "unbuffered"
	if capacity > 0 {
		channel = fmt.Sprintf("%d slots", capacity)
	}
	return row{
		group: "Fan-out", name: fmt.Sprintf("fanout/%d-%d", capacity, handlers),
		title: fmt.Sprintf("watch events, handlers: %d, ResultChan: %s", handlers, channel),
		light: true,
		setup: func(ctx context.Context, e *env) (trial, error) {
			n := e.ops(1_200_000 / (handlers + 3))
			generation, events, err := updates(ctx, e, min(n, warmEvents))
			if err != nil {
				return nil, err
			}
			events = repeated(events, n)
			options := source.Options{ChannelCapacity: capacity}
			return func(ctx context.Context, s side) (outcome, error) {
				i := newInformer(s, source.New(generation, options))
				return fanoutRound(ctx, e, i, handlers, events)
			}, nil
		},
	}
}

// repeated returns the events again and again, up to n or a little more.
func repeated(events []watch.Event, n int) []watch.Event {
	all := make([]watch.Event, 0, n+len(events))
	for len(all) < n {
		all = append(all, events...)
	}
	return all
}

// updates returns a small population and n MODIFIED events for it, one pod after the other, each with
// an own object and a higher resource version than the one before.
func updates(ctx context.Context, e *env, n int) (*source.Generation, []watch.Event, error) {
	all, err := e.population(ctx)
	if err != nil {
		return nil, nil, err
	}
	few := &workload.Population{Pods: all.Pods[:min(fanoutObjects, len(all.Pods))]}
	events := make([]watch.Event, n)
	for i := range events {
		events[i] = watch.Event{Type: watch.Modified, Object: workload.Version(few.Pods[i%len(few.Pods)], eventVersion(i))}
	}
	return source.NewGeneration(few, listVersion(0)), events, nil
}

func fanoutRound(ctx context.Context, e *env, i *informer, handlers int, events []watch.Event) (outcome, error) {
	defer i.stop()
	if err := i.addHandlers(handlers); err != nil {
		return outcome{}, err
	}
	stream, err := i.startSynced(ctx, min(fanoutObjects, e.n))
	if err != nil {
		return outcome{}, err
	}
	i.expect(len(events))
	usage, err := e.measure(func() error { return i.feed(ctx, stream, events) })
	if err != nil {
		return outcome{}, err
	}
	state, err := i.finish()
	return outcome{check: state, samples: per("event", usage, len(events))}, err
}

const (
	idleInformers = 1000
	idleHandlers  = 4
	idleObjects   = 10
)

// idleRows measure many informers that receive no events.
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

// idleUsage is the memory and the goroutines of a process. heap and stacks are in bytes.
type idleUsage struct{ goroutines, heap, stacks float64 }

func readIdleUsage() idleUsage {
	heap := measure.LiveHeap()
	var all runtime.MemStats
	runtime.ReadMemStats(&all)
	return idleUsage{float64(runtime.NumGoroutine()), float64(heap), float64(all.StackInuse)}
}

// since returns the usage since before for each of n things.
func (u idleUsage) since(before idleUsage, n int, thing string) []sample {
	each := 1 / float64(n)
	return []sample{
		{"goroutines", "per " + thing, (u.goroutines - before.goroutines) * each},
		{"heap", "B/" + thing, (u.heap - before.heap) * each},
		{"stacks", "B/" + thing, max(0, (u.stacks-before.stacks)*each)},
	}
}

func idleRound(ctx context.Context, number int, s side, generation *source.Generation, objects int) (outcome, error) {
	before := readIdleUsage()
	informers := make([]*informer, number)
	for n := range informers {
		i := newInformer(s, source.New(generation, source.Options{}))
		defer i.stop()
		if err := i.addHandlers(idleHandlers); err != nil {
			return outcome{}, err
		}
		if _, err := i.startSynced(ctx, objects); err != nil {
			return outcome{}, err
		}
		informers[n] = i
	}
	samples := readIdleUsage().since(before, number, "informer")
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
	return outcome{check: total, samples: samples}, nil
}
