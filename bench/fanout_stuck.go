// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/stats"
	"github.com/kinformer/cache/bench/internal/workload"
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
	usage, course, err := feedFresh(ctx, e, i, stream, few, events)
	if err != nil {
		return outcome{}, err
	}
	delays, err := delaysOfOthers(ctx, e, i, stream, few, events)
	if err != nil {
		return outcome{}, err
	}
	state, err := i.state()
	kept := course.points[len(course.points)-1][1]
	return outcome{check: state, curves: []curve{course}, samples: []sample{
		{"kept", "MB", kept},
		{"kept per event", "B", kept * 1e6 / float64(events)},
		{"CPU", "ns/event", float64(usage.CPU) / float64(events)},
		{"wall until the others have heard", "ns/event", float64(usage.Wall) / float64(events)},
		{"then the others, p50", "us", stats.Percentile(delays, 0.5)},
		{"then the others, p99", "us", stats.Percentile(delays, 0.99)},
	}}, err
}

// stuckPoints is how often the heap is weighed.
const stuckPoints = 12

// feedFresh sends updates that nobody else keeps, in parts, and weighs the
// heap after each. Its course is over the time that the events stand for.
func feedFresh(ctx context.Context, e *env, i *informer, stream *source.Stream, few *workload.Population, events int) (all measure.Usage, course curve, err error) {
	before := measure.LiveHeap()
	course = curve{name: "kept", x: "s", y: "MB", points: []report.Point{{0, 0}}}
	err = e.profiles.Around(e.region, func() error {
		for from, part := 0, max(1, events/stuckPoints); from < events; from += part {
			to := min(events, from+part)
			i.expect(to - from)
			usage, err := measure.Region(func() error { return feedPart(ctx, i, stream, few, from, to) })
			if err != nil {
				return err
			}
			all.CPU, all.Wall = all.CPU+usage.CPU, all.Wall+usage.Wall
			kept := float64(measure.LiveHeap()) - float64(before)
			course.points = append(course.points, report.Point{float64(to) / stuckRate / e.scale, kept / 1e6})
		}
		return nil
	})
	return all, course, err
}

func feedPart(ctx context.Context, i *informer, stream *source.Stream, few *workload.Population, from, to int) error {
	for n := from; n < to; n++ {
		pod := workload.Version(few.Pods[n%len(few.Pods)], eventVersion(n))
		if err := stream.Send(ctx, watch.Event{Type: watch.Modified, Object: pod}); err != nil {
			return err
		}
	}
	return i.wait(ctx)
}

// delaysOfOthers are the sorted latencies of the handlers that are not stuck,
// in microseconds, while the one that is keeps all that came before.
func delaysOfOthers(ctx context.Context, e *env, i *informer, stream *source.Stream, few *workload.Population, version int) ([]float64, error) {
	clocked := newClockedEvents(make([]watch.Event, max(10, e.ops(latencyRate))), latencyRate)
	for n := range clocked.events {
		pod := workload.Version(few.Pods[n%len(few.Pods)], eventVersion(version+n))
		pod.Generation = int64(n)
		clocked.events[n] = watch.Event{Type: watch.Modified, Object: pod}
	}
	latencies := make([]float64, len(i.handlers)*len(clocked.events))
	for h, handler := range i.handlers {
		handler.onUpdate = clocked.handler(latencies[h*len(clocked.events) : (h+1)*len(clocked.events)]).onUpdate
	}
	i.expect(len(clocked.events))
	if err := clocked.play(ctx, stream); err != nil {
		return nil, err
	}
	if err := i.wait(ctx); err != nil {
		return nil, err
	}
	slices.Sort(latencies)
	return latencies, nil
}
