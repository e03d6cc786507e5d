// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/source"
)

const (
	latencyHandlers = 4
	latencyRate     = 1000 // events per second
	latencySeconds  = 3    // of a full run
)

// latencyRows are the time from the moment an event is offered to the
// ResultChan to the moment a handler is called with it.
func latencyRows() []row {
	return []row{{
		group: "Latency", name: "latency/light", light: true,
		title: fmt.Sprintf("ResultChan to handler, %d events/s, %d handlers", latencyRate, latencyHandlers),
		setup: latencyTrial,
	}}
}

func latencyTrial(ctx context.Context, e *env) (trial, error) {
	generation, events, err := updates(ctx, e, max(10, e.ops(latencySeconds*latencyRate)))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s side) (outcome, error) {
		i := newInformer(s, source.New(generation, source.Options{}), 0)
		return latencyRound(ctx, e, i, events)
	}, nil
}

// clockedEvents are events with the time at which each was offered. Handlers read it after the
// event was handed to them, so the hand-over orders the accesses.
type clockedEvents struct {
	events  []watch.Event
	start   time.Time
	offered []time.Duration // since start
}

// handler returns a handler that notes its latencies, in microseconds.
func (c *clockedEvents) handler(latencies []float64) *counter {
	return &counter{onUpdate: func(_, current any) {
		event := current.(*corev1.Pod).Generation
		latencies[event] = float64(time.Since(c.start)-c.offered[event]) / float64(time.Microsecond)
	}}
}

// play offers the events at the rate, and waits for no handler.
func (c *clockedEvents) play(ctx context.Context, stream *source.Stream) error {
	c.start = time.Now()
	for i, event := range c.events {
		due := time.Duration(i) * time.Second / latencyRate
		select {
		case <-time.After(due - time.Since(c.start)):
		case <-ctx.Done():
			return fmt.Errorf("event %d: %w", i, context.Cause(ctx))
		}
		c.offered[i] = time.Since(c.start)
		if err := stream.Send(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

func latencyRound(ctx context.Context, e *env, i *informer, events []watch.Event) (outcome, error) {
	defer i.stop()
	clocked := &clockedEvents{events: events, offered: make([]time.Duration, len(events))}
	latencies := make([]float64, latencyHandlers*len(events))
	for h := range latencyHandlers {
		if err := i.addHandler(0, clocked.handler(latencies[h*len(events):(h+1)*len(events)])); err != nil {
			return outcome{}, err
		}
	}
	stream, err := i.startSynced(ctx, min(fanoutObjects, e.n))
	if err != nil {
		return outcome{}, err
	}
	i.expect(len(events))
	usage, err := e.measure(func() error {
		if err := clocked.play(ctx, stream); err != nil {
			return err
		}
		return i.wait(ctx)
	})
	if err != nil {
		return outcome{}, err
	}
	state, err := i.finish()
	slices.Sort(latencies)
	return outcome{
		check: state,
		samples: []sample{
			{"p50", "us", report.Percentile(latencies, 0.5)},
			{"p99", "us", report.Percentile(latencies, 0.99)},
			{"p99.9", "us", report.Percentile(latencies, 0.999)},
			{"CPU", "ns/event", float64(usage.CPU) / float64(len(events))},
		},
	}, err
}
