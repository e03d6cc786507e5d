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
	// burstsPerSecond is how often events are offered at half load: timers
	// that are to fire more often are late.
	burstsPerSecond = 1000
)

// latencyRows are the time from the moment an event is offered to the
// ResultChan to the moment a handler is called with it.
func latencyRows() []row {
	return []row{{
		group: "Latency", name: "latency/light", light: true,
		title: fmt.Sprintf("ResultChan to handler, %d events/s, %d handlers", latencyRate, latencyHandlers),
		setup: func(ctx context.Context, e *env) (trial, error) { return latencyTrial(ctx, e, latencyRate) },
	}, {
		group: "Latency", name: "latency/half", light: true,
		title: fmt.Sprintf("the same at half of what client-go takes at most, in %d bursts a second, from the burst on", burstsPerSecond),
		setup: func(ctx context.Context, e *env) (trial, error) {
			rate, err := saturation(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("find the highest rate: %w", err)
			}
			return latencyTrial(ctx, e, rate/2)
		},
	}}
}

func latencyTrial(ctx context.Context, e *env, rate int) (trial, error) {
	generation, events, err := updates(ctx, e, max(10, e.ops(latencySeconds*rate)))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s side) (outcome, error) {
		i := newInformer(s, source.New(generation, source.Options{}), 0)
		out, err := latencyRound(ctx, e, i, events, rate)
		out.shown = append(out.shown, sample{"rate", "events/s", float64(rate)})
		return out, err
	}, nil
}

// saturation is how many events a second the first side takes when they come
// as fast as it takes them.
func saturation(ctx context.Context, e *env) (int, error) {
	generation, events, err := updates(ctx, e, max(10, e.ops(100_000)))
	if err != nil {
		return 0, err
	}
	i := newInformer(e.sides[0], source.New(generation, source.Options{}), 0)
	defer i.stop()
	for range latencyHandlers {
		if err := i.addHandler(0, &counter{}); err != nil {
			return 0, err
		}
	}
	stream, err := i.startSynced(ctx, min(fanoutObjects, e.n))
	if err != nil {
		return 0, err
	}
	i.expect(len(events))
	start := time.Now()
	if err := i.feed(ctx, stream, events); err != nil {
		return 0, err
	}
	return int(float64(len(events)) / time.Since(start).Seconds()), nil
}

// clockedEvents are events with the time at which each was offered. Handlers
// read it after the event was handed to them, so the hand-over orders the
// accesses.
type clockedEvents struct {
	events  []watch.Event
	rate    int // events per second
	start   time.Time
	offered []time.Duration // since start
}

func newClockedEvents(events []watch.Event, rate int) *clockedEvents {
	return &clockedEvents{events: events, rate: rate, offered: make([]time.Duration, len(events))}
}

// handler returns a handler that notes its latencies, in microseconds.
func (c *clockedEvents) handler(latencies []float64) *counter {
	return &counter{onUpdate: func(_, current any) {
		event := current.(*corev1.Pod).Generation
		latencies[event] = float64(time.Since(c.start)-c.offered[event]) / float64(time.Microsecond)
	}}
}

// play offers the events at the rate, and waits for no handler. Above the rate
// of the bursts several events are due at once; all of them count as offered
// when the burst begins, however late the receiver takes the last.
func (c *clockedEvents) play(ctx context.Context, stream *source.Stream) error {
	burst := max(1, c.rate/burstsPerSecond)
	pause := time.Duration(burst) * time.Second / time.Duration(c.rate)
	c.start = time.Now()
	for from := 0; from < len(c.events); from += burst {
		due := time.Duration(from/burst) * pause
		select {
		case <-time.After(due - time.Since(c.start)):
		case <-ctx.Done():
			return fmt.Errorf("event %d: %w", from, context.Cause(ctx))
		}
		if err := c.offer(ctx, stream, from, min(from+burst, len(c.events))); err != nil {
			return err
		}
	}
	return nil
}

func (c *clockedEvents) offer(ctx context.Context, stream *source.Stream, from, to int) error {
	now := time.Since(c.start)
	for i := from; i < to; i++ {
		c.offered[i] = now
		if err := stream.Send(ctx, c.events[i]); err != nil {
			return err
		}
	}
	return nil
}

func latencyRound(ctx context.Context, e *env, i *informer, events []watch.Event, rate int) (outcome, error) {
	defer i.stop()
	clocked := newClockedEvents(events, rate)
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
