// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/workload"
	"github.com/kinformer/cache/kinformer"
)

const (
	stuckObjects = 1000
	stuckRate    = 5000 // events per second
	// stuckEvents are what comes in 60 s at that rate. They are sent as quickly as they are taken:
	// what is kept depends on their number only.
	stuckEvents = 60 * stuckRate
	stuckOthers = 3
)

// stuckRows are a handler that does not return, beside three that do nothing.
func stuckRows() []row {
	var all []row
	for _, mode := range []struct {
		name     string
		delivery kinformer.Delivery
	}{
		{"lossless", kinformer.Delivery{}},
		{"coalesce", kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}},
	} {
		all = append(all, row{
			group: "A stuck handler", name: "stuck/" + mode.name, light: true, rounds: 3,
			title: fmt.Sprintf("%d events on %d objects, 1 of %d handlers stuck, ours with %s", stuckEvents, stuckObjects, stuckOthers+1, mode.name),
			setup: func(ctx context.Context, e *env) (trial, error) {
				population, err := e.population(ctx)
				if err != nil {
					return nil, err
				}
				few := &workload.Population{Pods: population.Pods[:min(stuckObjects, len(population.Pods))]}
				generation := source.NewGeneration(few, listVersion(0))
				return func(ctx context.Context, s side) (outcome, error) {
					i := newInformer(s, source.New(generation, source.Options{}), 0)
					return stuckRound(ctx, e, i, few, mode.delivery)
				}, nil
			},
		})
	}
	return all
}

func stuckRound(ctx context.Context, e *env, i *informer, few *workload.Population, delivery kinformer.Delivery) (outcome, error) {
	release := make(chan struct{})
	defer i.stop()
	defer close(release)
	// client-go's informer takes the wrapped handler for any other.
	_, err := i.AddEventHandler(kinformer.Deliver(clientgo.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) { <-release },
	}, delivery))
	if err != nil {
		return outcome{}, fmt.Errorf("add handler: %w", err)
	}
	for range stuckOthers {
		if err := i.addHandler(0, &counter{}); err != nil {
			return outcome{}, err
		}
	}
	stream, err := i.startSynced(ctx, len(few.Pods))
	if err != nil {
		return outcome{}, err
	}
	events := e.ops(stuckEvents)
	before := measure.LiveHeap()
	i.expect(events)
	usage, err := e.measure(func() error { return feedFresh(ctx, i, stream, few, events) })
	if err != nil {
		return outcome{}, err
	}
	kept := float64(measure.LiveHeap()) - float64(before)
	state, err := i.state()
	return outcome{check: state, samples: []sample{
		{"kept", "MB", kept / 1e6},
		{"kept per event", "B", kept / float64(events)},
		{"CPU", "ns/event", float64(usage.CPU) / float64(events)},
		{"wall until the others have heard", "ns/event", float64(usage.Wall) / float64(events)},
	}}, err
}

// feedFresh sends updates that nobody else keeps.
func feedFresh(ctx context.Context, i *informer, stream *source.Stream, few *workload.Population, events int) error {
	for n := range events {
		pod := workload.Version(few.Pods[n%len(few.Pods)], eventVersion(n))
		if err := stream.Send(ctx, watch.Event{Type: watch.Modified, Object: pod}); err != nil {
			return err
		}
	}
	return i.wait(ctx)
}
