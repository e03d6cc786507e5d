// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// follow runs an informer, and waits until all goroutines are idle.
func follow(t *testing.T, server *testkit.Server, options kinformer.Options) (informer cache.SharedIndexInformer, stop func()) {
	t.Helper()
	informer = kinformer.New(server, &corev1.Pod{}, options)
	end := testkit.InBackground(t, informer.RunWithContext)
	synctest.Wait()
	return informer, func() { end(); synctest.Wait() }
}

func serving(pods ...*corev1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// failingFirst makes the lists of a server take the given time, and the first ones fail.
func failingFirst(server *testkit.Server, takes time.Duration, failures int) *testkit.Server {
	then := server.OnList
	server.OnList = func(n int, ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		time.Sleep(takes)
		if n <= failures {
			return nil, testkit.ErrForbidden
		}
		return then(n, ctx, o)
	}
	return server
}

func tracing(t *testing.T) (spans *tracetest.InMemoryExporter, stop func()) {
	spans = tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return spans, testkit.InBackground(t, func(ctx context.Context) { RunTraces(ctx, provider, TraceOptions{}) })
}

// lines formats the spans, each with the seconds at which it began and ended.
func lines(spans *tracetest.InMemoryExporter, from time.Time) (all []string) {
	names := map[string]string{}
	for _, s := range spans.GetSpans() {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range spans.GetSpans() {
		line := fmt.Sprintf("%s %v-%v", s.Name, s.StartTime.Sub(from).Seconds(), s.EndTime.Sub(from).Seconds())
		if s.Parent.IsValid() {
			line += " of " + names[s.Parent.SpanID().String()]
		}
		if s.Status.Code == codes.Error {
			line += " failed " + s.Status.Description
		}
		for _, a := range s.Attributes {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		all = append(all, line)
	}
	return all
}

// TestTraces: a first list that fails, one that succeeds, a watch that ends, one that expires, another
// list, and the stop.
func TestTraces(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		spans, end := tracing(t)
		w := testkit.NewScriptedWatch(9)
		server := failingFirst(serving(testkit.PodAt("a", "1"), testkit.PodAt("b", "2")), 2*time.Second, 1)
		server.OnWatch = testkit.Watches(w)
		_, stop := follow(t, server, kinformer.Options{ObjectDescription: "pods", Requests: kinformer.Requests{Backoff: *testkit.Second()}})
		time.Sleep(5*time.Second - time.Since(from))
		assert.Empty(t, lines(spans, from), "they come when they are looked at")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{
			"kinformer.list 0-2 of kinformer.sync failed  resource=pods objects=0",
			"kinformer.list 3-5 of kinformer.sync resource=pods objects=2",
			"kinformer.sync 0-5 resource=pods",
		}, lines(spans, from))
		spans.Reset()
		w.Events <- testkit.Added("c", "7")
		w.Events <- testkit.FailedWith(testkit.ErrExpired)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{
			"kinformer.watch 5-10 failed expired resource=pods objects=1 reason=expired",
			"kinformer.list 11-13 resource=pods objects=2",
		}, lines(spans, from))
		spans.Reset()
		stop()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"kinformer.watch 13-20 resource=pods objects=0 reason=stopped"}, lines(spans, from))
		end()
		assert.Len(t, lines(spans, from), 1, "nothing twice")
	})
}

// TestTracesOfAStream: a watch-list has a span of its own name.
func TestTracesOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		spans, end := tracing(t)
		server := &testkit.Server{OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "4"), testkit.EndMark("5")))}
		options := kinformer.Options{ObjectDescription: "pods", Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}}
		_, stop := follow(t, server, options)
		time.Sleep(15 * time.Second) // until after a poll
		synctest.Wait()
		stop()
		end()
		assert.Contains(t, lines(spans, from), "kinformer.watch_list 0-0 of kinformer.sync resource=pods objects=1")
	})
}

// TestTracesWithoutSync: an informer that stops before its first list, after more failures than are
// kept.
func TestTracesWithoutSync(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		spans, end := tracing(t)
		options := kinformer.Options{Requests: kinformer.Requests{Backoff: *testkit.Second()}}
		_, stop := follow(t, failingFirst(serving(), time.Second, 1000), options)
		time.Sleep(99*time.Second + 500*time.Millisecond) // no request is made at this time
		stop()
		end()
		got := lines(spans, from)
		require.Len(t, got, mostWaiting+1)
		assert.Equal(t, "kinformer.sync 0-99 failed stopped resource=*v1.Pod", got[mostWaiting])
		assert.Equal(t, "kinformer.list 98-99 of kinformer.sync failed  resource=*v1.Pod objects=0", got[mostWaiting-1])
	})
}

// TestTracesKeepNothing: an informer that has stopped is released after the next poll.
func TestTracesKeepNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans, end := tracing(t)
		pod := func() weak.Pointer[corev1.Pod] {
			informer, stop := follow(t, serving(testkit.PodAt("a", "1")), kinformer.Options{})
			of := weak.Make(informer.GetStore().List()[0].(*corev1.Pod))
			time.Sleep(15 * time.Second) // between two polls
			stop()
			return of
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Len(t, spans.GetSpans(), 3)
		goruntime.GC()
		assert.Nil(t, pod.Value())
		end()
	})
}
