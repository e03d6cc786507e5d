// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/metrics"
)

// scope is the name of the instrumentation.
const scope = "github.com/kinformer/cache/kinformerotel"

// TraceOptions configure the tracing of requests.
type TraceOptions struct {
	// Every is the interval at which the informers are polled; 0 means 10 seconds. If an informer ends
	// more than 32 requests in one interval, only the last 32 are traced.
	Every time.Duration
}

const (
	defaultEvery = 10 * time.Second
	// mostWaiting is the maximum number of requests that wait for the first success of their informer.
	mostWaiting = 32
)

// RunTraces makes spans for the requests of all informers of package cache that run in the process,
// until the context ends. It makes a span after its request has ended, with the times at which the
// request began and ended. It polls the informers, and adds no cost to their events and requests. It
// keeps an informer that has stopped in memory until the next poll. Requests that ended before the call
// are traced if the informer still has them.
//
// The package documentation lists the spans.
func RunTraces(ctx context.Context, provider trace.TracerProvider, o TraceOptions) {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	t := tracer{to: provider.Tracer(scope), informers: map[uint64]*traced{}}
	ticker := time.NewTicker(o.Every)
	defer ticker.Stop()
	for {
		t.poll()
		select {
		case <-ctx.Done():
			t.poll()
			return
		case <-ticker.C:
		}
	}
}

// tracer has the progress of tracing each informer.
type tracer struct {
	to        trace.Tracer
	informers map[uint64]*traced
}

// traced is the progress of tracing one informer.
type traced struct {
	informer cache.Controller
	requests int64     // the number of requests that were traced, or wait
	synced   bool      // the first success was traced, or never will be
	began    time.Time // the beginning of the first request, or zero
	waiting  []inspect.Request
}

// poll traces the requests that have ended since the last call.
func (t *tracer) poll() {
	running := map[uint64]bool{}
	for informer := range inspect.All() {
		if i, err := inspect.Of(informer); err == nil {
			running[i.ID] = true
			if t.informers[i.ID] == nil {
				t.informers[i.ID] = &traced{informer: informer}
			}
			t.trace(t.informers[i.ID], &i)
		}
	}
	for id, state := range t.informers {
		if !running[id] {
			t.end(state)
			delete(t.informers, id)
		}
	}
}

// end traces the last requests of an informer that no longer runs.
func (t *tracer) end(state *traced) {
	i, err := inspect.Of(state.informer)
	if err != nil {
		return
	}
	t.trace(state, &i)
	if n := len(state.waiting); n > 0 {
		last := state.waiting[n-1]
		t.sync(state, &i, last.Began.Add(last.Took), "stopped")
	}
}

// trace traces the requests of an informer that were not traced before.
func (t *tracer) trace(state *traced, i *inspect.Inspection) {
	ended := i.Lists.Ended + i.Streams.Ended + i.Watches.Ended
	fresh := min(ended-state.requests, int64(len(i.Requests)))
	state.requests = ended
	for _, r := range i.Requests[int64(len(i.Requests))-fresh:] {
		if state.synced {
			t.request(context.Background(), i, r)
		} else {
			t.before(state, i, r)
		}
	}
}

// before keeps a request of an informer until a list or watch-list has succeeded.
func (t *tracer) before(state *traced, i *inspect.Inspection, r inspect.Request) {
	if state.began.IsZero() {
		state.began = r.Began
	}
	if len(state.waiting) == mostWaiting {
		state.waiting = state.waiting[1:]
	}
	state.waiting = append(state.waiting, r)
	if r.Kind != "watch" && !r.Failed {
		t.sync(state, i, r.Began.Add(r.Took), "")
	}
}

// sync makes the span of the time until the first complete list or watch-list, with the requests that
// waited for it.
func (t *tracer) sync(state *traced, i *inspect.Inspection, end time.Time, failure string) {
	ctx, span := t.to.Start(context.Background(), "kinformer.sync", trace.WithTimestamp(state.began), trace.WithAttributes(attributesOf(metrics.LabelsOf(i))...))
	for _, r := range state.waiting {
		t.request(ctx, i, r)
	}
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	span.End(trace.WithTimestamp(end))
	state.synced, state.waiting = true, nil
}

// request makes the span of one request.
func (t *tracer) request(ctx context.Context, i *inspect.Inspection, r inspect.Request) {
	attributes := append(attributesOf(metrics.LabelsOf(i)), attribute.Int("objects", r.Objects))
	if r.Reason != "" {
		attributes = append(attributes, attribute.String("reason", r.Reason))
	}
	_, span := t.to.Start(ctx, "kinformer."+strings.ReplaceAll(r.Kind, "-", "_"), trace.WithTimestamp(r.Began), trace.WithAttributes(attributes...),
		trace.WithSpanKind(trace.SpanKindClient))
	if r.Failed {
		span.SetStatus(codes.Error, r.Reason)
	}
	span.End(trace.WithTimestamp(r.Began.Add(r.Took)))
}

func attributesOf(labels []metrics.Label) (attributes []attribute.KeyValue) {
	for _, l := range labels {
		if l.Value != "" {
			attributes = append(attributes, attribute.String(l.Name, l.Value))
		}
	}
	return attributes
}
