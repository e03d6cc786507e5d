// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestInformer(t *testing.T) {
	onStage(t, []informerCase{
		{name: "calls its handler in order, after the store", run: informerOrder},
		{name: "passes on updates that change nothing", run: informerUnchanged},
		{name: "tells a relist as tombstones, then updates and adds", run: informerRelist},
		{name: "resyncs from the store", run: informerResync},
		{name: "makes an indexer", run: informerIndexer},
		{name: "transforms", run: informerTransform},
		{name: "a handler may change the source", run: informerFeedback},
		{name: "a panic of the handler", run: informerPanic},
		{name: "a panic within a batch", run: informerPanicInBatch},
		{name: "metrics", run: informerMetrics},
		{name: "bookmarks move the store's version", run: informerBookmark},
	})
}

// plain makes an informer of NewInformerWithOptions for pods; set may change the options.
func (s *stage) plain(handler cache.ResourceEventHandler, set func(*cache.InformerOptions)) (cache.Store, cache.Controller) {
	opts := cache.InformerOptions{ListerWatcher: s.source, ObjectType: &corev1.Pod{}, Handler: handler}
	if set != nil {
		set(&opts)
	}
	return s.impl.informers.informer(opts)
}

func informerOrder(t *testing.T, s *stage) {
	rec := &recorder{}
	var store cache.Store
	var stored []string
	rec.hook = func(string) { stored = append(stored, store.LastStoreSyncResourceVersion()) }
	store, c := s.plain(rec, nil)
	s.source.put(pod("a", ""))
	r := s.start(c)
	s.source.put(pod("b", ""))
	settle()
	s.source.put(pod("a", ""))
	settle()
	s.source.remove("b")
	settle()
	assert.Equal(t, []string{"add a@11 initial", "add b@12", "update a@11 a@13", "delete b@14"}, rec.take())
	assert.Equal(t, []string{"11", "12", "13", "14"}, stored)
	assert.Equal(t, []string{"a@13"}, labels(store.List()))
	assert.True(t, c.HasSynced())
	assert.Equal(t, "14", c.LastSyncResourceVersion())
	r.stop()
}

func informerUnchanged(t *testing.T, s *stage) {
	rec := &recorder{}
	_, c := s.plain(rec, nil)
	s.source.put(pod("a", ""))
	s.start(c)
	rec.take()
	for _, rv := range []string{"11", ""} {
		s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", rv)})
		settle()
		s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", rv)})
		settle()
	}
	assert.Equal(t, []string{"update a@11 a@11", "update a@11 a@11", "update a@11 a@", "update a@ a@"}, rec.take(),
		"one handler needs no sorting out")
}

func informerRelist(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.plain(rec, nil)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(c)
	rec.take()
	s.source.miss([]*corev1.Pod{pod("c", "")}, "a")
	s.source.expire()
	pass(time.Minute)
	lines := rec.take()
	require.Len(t, lines, 3)
	assert.Equal(t, "delete gone(a@11)", lines[0])
	assert.ElementsMatch(t, []string{"update b@12 b@12", "add c@13"}, lines[1:])
	assert.Equal(t, []string{"b@12", "c@13"}, sorted(store.List()))
}

func informerResync(t *testing.T, s *stage) {
	rec := &recorder{}
	_, c := s.plain(rec, func(o *cache.InformerOptions) { o.ResyncPeriod = time.Minute })
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(c)
	rec.take()
	s.source.takeRequests()
	pass(2*time.Minute + time.Second)
	assert.ElementsMatch(t, []string{"update a@11 a@11", "update b@12 b@12", "update a@11 a@11", "update b@12 b@12"}, rec.take())
	assert.Empty(t, s.source.takeRequests())
}

func informerIndexer(t *testing.T, s *stage) {
	store, c := s.plain(&recorder{}, func(o *cache.InformerOptions) {
		o.Indexers = cache.Indexers{"app": byLabel("app")}
	})
	s.source.put(labelled("a", "", "app", "x"))
	s.start(c)
	indexer, ok := store.(cache.Indexer)
	require.True(t, ok)
	assert.Equal(t, []string{"a@11"}, members(t, indexer, "app", "x"))
}

func informerTransform(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.plain(rec, func(o *cache.InformerOptions) { o.Transform = annotate })
	s.source.put(pod("a", ""))
	s.start(c)
	s.source.put(pod("b", ""))
	settle()
	s.source.remove("a")
	settle()
	for _, obj := range append(rec.takeRaw(), store.List()...) {
		assert.Equal(t, "yes", obj.(*corev1.Pod).Annotations["seen"])
	}
}

// annotate marks every object it is given; twice looks like once.
func annotate(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["seen"] = "yes"
	return p, nil
}

func informerFeedback(t *testing.T, s *stage) {
	rec := &recorder{}
	fed := 0
	rec.hook = func(string) {
		if fed < 20 {
			fed++
			s.source.put(pod("fed"+strconv.Itoa(fed), ""))
		}
	}
	_, c := s.plain(rec, nil)
	s.source.put(pod("a", ""))
	s.start(c)
	assert.Len(t, rec.take(), 21)
}

func informerPanic(t *testing.T, s *stage) {
	survivePanics(t)
	rec := &recorder{}
	rec.hook = func(line string) {
		if line == "add bad@11" {
			panic("in handler")
		}
	}
	store, c := s.plain(rec, nil)
	s.start(c)
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	pass(time.Second)
	assert.Equal(t, []string{"add bad@11", "add good@12"}, rec.take())
	assert.Equal(t, []any{"in handler"}, reported.panics())
	assert.Equal(t, []string{"bad@11", "good@12"}, sorted(store.List()))
}

func informerPanicInBatch(t *testing.T, s *stage) {
	survivePanics(t)
	rec := &recorder{}
	rec.hook = func(line string) {
		if line == "add a@11 initial" {
			panic("in handler")
		}
	}
	_, c := s.plain(rec, nil)
	s.source.put(pod("a", ""))
	if s.source.mode == byList {
		s.source.put(pod("b", ""))
	}
	s.start(c)
	pass(time.Second)
	if s.source.mode == byList {
		assert.Equal(t, differs(t, s.impl, "a panic costs one notification, in client-go the rest of its batch as well",
			[]string{"add a@11 initial"}, []string{"add a@11 initial", "add b@12 initial"}), rec.take())
	}
	assert.True(t, c.HasSynced())
}

func informerMetrics(t *testing.T, s *stage) {
	m := newMetrics()
	id := reservedName(t, "plain")
	_, c := s.plain(&recorder{}, func(o *cache.InformerOptions) {
		o.Identifier = id
		o.InformerMetricsProvider = m
	})
	s.source.put(pod("a", ""))
	s.start(c)
	for _, kind := range []string{"queued", "latency", "version"} {
		assert.Equal(t, 1, m.made(kind), kind)
	}
	assert.Equal(t, 11.0, m.version.last())
	assert.Equal(t, 0.0, m.queued.last())
}

func informerBookmark(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.plain(rec, nil)
	s.start(c)
	assert.Equal(t, "10", store.LastStoreSyncResourceVersion())
	s.source.send(bookmark("20", false))
	settle()
	assert.Equal(t, "20", store.LastStoreSyncResourceVersion())
	assert.Empty(t, rec.take())
}
