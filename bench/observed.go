// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/kinformerprom"
)

// observedRows are events with all on that shows an informer to its operator:
// the metrics and the pages of package debug, which inspect it, asked for each
// second, and the log at V(2). Our side runs two informers, without and with
// that; client-go's figure stands beside both.
func observedRows() []row {
	const handlers = 4
	var all []row
	for _, capacity := range []int{0, 1024} {
		channel := "unbuffered"
		if capacity > 0 {
			channel = fmt.Sprintf("%d slots", capacity)
		}
		all = append(all, row{
			group: "Fan-out, looked at", name: fmt.Sprintf("observed/%d-%d", capacity, handlers),
			title: fmt.Sprintf("watch events, handlers: %d, ResultChan: %s; observed: metrics and pages asked for each second, log at V(2)", handlers, channel),
			light: true, slow: capacity > 0,
			setup: func(ctx context.Context, e *env) (trial, error) {
				generation, events, err := updates(ctx, e, min(e.ops(warmEvents), warmEvents))
				if err != nil {
					return nil, err
				}
				// Seconds, so that there is more than one look.
				o := &observedStage{env: e, handlers: handlers, events: events, repeat: max(1, e.ops(4_000_000)/len(events))}
				o.source = func() *source.Source { return source.New(generation, source.Options{ChannelCapacity: capacity}) }
				return o.round, nil
			},
		})
	}
	return all
}

// observedStage is what a row of observedRows has.
type observedStage struct {
	env      *env
	source   func() *source.Source
	handlers int
	events   []watch.Event
	repeat   int // how often the events are sent
	rounds   int // of our side
}

// errObservedUnlike says that our two informers did not end alike.
var errObservedUnlike = errors.New("an informer that is looked at ends in another state")

// round runs the informers of a side: of ours, which of the two begins changes
// from round to round; of client-go's there is one, which is taken for both.
func (o *observedStage) round(ctx context.Context, s side) (out outcome, err error) {
	ends, err := o.both(ctx, s)
	if err != nil {
		return out, err
	}
	if out.check = ends[0].check; ends[1].check != out.check {
		return out, fmt.Errorf("%w: %+v, else %+v", errObservedUnlike, ends[1].check, ends[0].check)
	}
	for i, plain := range ends[0].samples {
		observed := ends[1].samples[i]
		observed.name = "observed, " + observed.name
		out.samples = append(out.samples, plain, observed)
		if i == 0 {
			out.shown = append(out.shown, sample{"difference, " + plain.name, plain.unit, observed.value - plain.value})
		}
	}
	return out, nil
}

// both runs the informers of a side, without and with all that looks at them.
func (o *observedStage) both(ctx context.Context, s side) (ends [2]outcome, err error) {
	if s.status == nil {
		ends[0], err = o.one(ctx, s, false)
		ends[1] = ends[0]
		return ends, err
	}
	o.rounds++
	for i := range ends {
		which := (i + o.rounds) % 2
		if ends[which], err = o.one(ctx, s, which == 1); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

// one runs one informer.
func (o *observedStage) one(ctx context.Context, s side, observed bool) (out outcome, err error) {
	if observed {
		log := funcr.New(func(string, string) {}, funcr.Options{Verbosity: 2})
		ctx = klog.NewContext(ctx, log)
	}
	i := newInformer(s, o.source(), 0)
	defer i.stop()
	for range o.handlers {
		if err := i.addHandler(0, &counter{}); err != nil {
			return out, err
		}
	}
	stream, err := i.startSynced(ctx, min(fanoutObjects, o.env.n))
	if err != nil {
		return out, err
	}
	n := o.repeat * len(o.events)
	i.expect(n)
	usage, err := o.env.measure(func() error {
		if observed {
			defer startLooking()()
		}
		for range o.repeat {
			if err := stream.SendAll(ctx, o.events); err != nil {
				return err
			}
		}
		return i.wait(ctx)
	})
	if err != nil {
		return out, err
	}
	out.check, err = i.finish()
	out.samples = []sample{
		{"CPU", "ns/event", float64(usage.CPU) / float64(n)},
		{"wall", "ns/event", float64(usage.Wall) / float64(n)},
		{"allocations", "allocs/event", float64(usage.Allocs) / float64(n)},
	}
	return out, err
}

// startLooking asks for the metrics and for the pages of all informers at once
// and each second, until stop is called.
func startLooking() (stop func()) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
	pages := debug.Handler(debug.Options{})
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			look(registry, pages)
			select {
			case <-tick.C:
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-ended }
}

// look panics for what is refused: then the row would show nothing.
func look(registry *prometheus.Registry, pages http.Handler) {
	if families, err := registry.Gather(); err != nil || len(families) == 0 {
		panic(fmt.Sprintf("%d families of metrics: %v", len(families), err))
	}
	load(pages, "/?format=json")
	for informer := range kinformer.Informers() {
		if all, err := kinformer.Inspect(informer); err == nil {
			load(pages, fmt.Sprintf("/?id=%d", all.ID))
		}
	}
}

func load(pages http.Handler, path string) {
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	if answer.Code != http.StatusOK {
		panic(fmt.Sprintf("%s: %s", path, answer.Body))
	}
}
