// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
)

func TestSynced(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the informer before its handlers", run: syncedOrder},
		{name: "by an empty list", run: syncedEmpty},
		{name: "never without a list", run: syncedNever},
		{name: "a handler of an informer that was never run", run: syncedUnstarted},
		{name: "names say what is waited for", run: syncedNames},
		{name: "WaitFor and WaitForCacheSync", run: syncedWaiting},
		{name: "GetController is a view that does not run", run: controllerView},
		{name: "GetController hides the version without its gate", run: controllerViewGate},
		{name: "SetTransform and SetWatchErrorHandler after the start", run: settersAfterStart},
		{name: "indexers before and after the start", run: indexersAnytime},
		{name: "indexers on an informer made without any", run: indexersOnNone},
		{name: "metrics", run: sharedMetrics},
		{name: "metrics for a name that is taken", run: sharedMetricsTaken},
		{name: "the gates do not change what handlers hear", run: gatesChangeNothing},
	})
}

func syncedOrder(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	g := newGate()
	rec := &recorder{hook: func(line string) {
		if strings.HasPrefix(line, "add b") {
			g.pass()
		}
	}}
	slow, fast := add(t, informer, rec), add(t, informer, &recorder{})
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	assert.True(t, informer.HasSynced(), "the store has the list")
	assert.True(t, cache.IsDone(informer.HasSyncedChecker()))
	assert.True(t, fast.HasSynced())
	assert.False(t, slow.HasSynced(), "one handler is not through")
	assert.False(t, cache.IsDone(slow.HasSyncedChecker()))
	g.open()
	settle()
	assert.True(t, slow.HasSynced())
}

func syncedEmpty(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	s.start(informer)
	assert.True(t, informer.HasSynced())
	assert.True(t, handle.HasSynced())
}

func syncedNever(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	r := s.start(informer)
	late := add(t, informer, &recorder{})
	pass(time.Minute)
	r.stop()
	assert.False(t, informer.HasSynced())
	for _, h := range []cache.ResourceEventHandlerRegistration{handle, late} {
		assert.False(t, h.HasSynced())
		assert.False(t, cache.IsDone(h.HasSyncedChecker()))
	}
}

func syncedUnstarted(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	assert.False(t, informer.HasSynced())
	assert.False(t, handle.HasSynced())
	assert.Empty(t, informer.LastSyncResourceVersion())
	assert.False(t, informer.IsStopped())
	started, ok := informer.(interface{ HasStarted() bool })
	require.True(t, ok)
	assert.False(t, started.HasStarted())
	s.start(informer)
	assert.True(t, started.HasStarted())
}

// named is a handler with a type name of its own.
type named struct{ recorder }

func syncedNames(t *testing.T, s *stage) {
	byType := s.shared(cache.SharedIndexInformerOptions{})
	assert.Equal(t, "SharedIndexInformer *v1.Pod", byType.HasSyncedChecker().Name())
	informer := s.shared(cache.SharedIndexInformerOptions{ObjectDescription: "my pods"})
	upstream := differs(t, s.impl, "a description or a resource names the informer", "SharedIndexInformer *v1.Pod", "SharedIndexInformer my pods")
	assert.Equal(t, upstream, informer.HasSyncedChecker().Name())
	functions := differs(t, s.impl, "handlers that are functions are named by file and line", "suite.syncedNames", "/suite/informer_sync_test.go:")
	for want, handler := range map[string]cache.ResourceEventHandler{
		"suite.named": &named{},
		functions:     cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}, DeleteFunc: func(any) {}},
		"cache.ResourceEventHandlerDetailedFuncs": cache.ResourceEventHandlerDetailedFuncs{},
		"cache.FilteringResourceEventHandler":     cache.FilteringResourceEventHandler{},
	} {
		handle, err := informer.AddEventHandler(handler)
		require.NoError(t, err)
		name := handle.HasSyncedChecker().Name()
		assert.True(t, strings.HasPrefix(name, upstream+" + event handler "), name)
		assert.Contains(t, name, want)
	}
}

func syncedWaiting(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	g := newGate()
	handle := add(t, informer, &recorder{hook: func(string) { g.pass() }})
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	assert.False(t, cache.WaitFor(ctx, "", informer.HasSyncedChecker(), handle.HasSyncedChecker()))
	g.open()
	assert.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker(), handle.HasSyncedChecker()))
}

func controllerView(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	c := informer.GetController()
	assert.Zero(t, elapsed(func() {
		c.Run(nil)
		c.RunWithContext(t.Context())
	}), "returns at once")
	settle()
	assert.Empty(t, s.source.takeRequests(), "and did nothing")
	assert.False(t, c.HasSynced())
	assert.False(t, cache.IsDone(c.HasSyncedChecker()))
	assert.Empty(t, c.LastSyncResourceVersion())
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.True(t, c.HasSynced(), "the rest is live")
	assert.True(t, cache.IsDone(c.HasSyncedChecker()))
	assert.Equal(t, "SharedIndexInformer *v1.Pod", c.HasSyncedChecker().Name())
	assert.Equal(t, "11", c.LastSyncResourceVersion())
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, "12", c.LastSyncResourceVersion())
}

func controllerViewGate(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	featurestesting.SetFeatureDuringTest(t, features.InformerResourceVersion, false)
	assert.Empty(t, informer.GetController().LastSyncResourceVersion())
	assert.Equal(t, "11", informer.LastSyncResourceVersion())
}

func settersAfterStart(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	require.NoError(t, informer.SetTransform(refuse))
	require.NoError(t, informer.SetTransform(annotate), "the last one counts")
	s.source.put(pod("bad", ""))
	r := s.start(informer)
	assert.Equal(t, []string{"bad@11"}, labels(informer.GetStore().List()))
	const started = "informer has already started"
	for _, stopped := range []bool{false, true} {
		if stopped {
			r.stop()
		}
		assert.EqualError(t, informer.SetTransform(annotate), started)
		assert.EqualError(t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}), started)
		assert.EqualError(t, informer.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler), started)
	}
}

func indexersAnytime(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	require.NoError(t, informer.AddIndexers(cache.Indexers{"tier": byLabel("tier")}))
	s.source.put(labelled("a", "", "app", "x", "tier", "t", "zone", "z"))
	r := s.start(informer)
	require.NoError(t, informer.AddIndexers(cache.Indexers{"zone": byLabel("zone")}))
	for index, value := range map[string]string{"app": "x", "tier": "t", "zone": "z"} {
		assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), index, value), index)
	}
	require.Error(t, informer.AddIndexers(cache.Indexers{"app": byLabel("tier")}))
	s.source.put(labelled("b", "", "zone", "z"))
	settle()
	assert.Equal(t, []string{"a@11", "b@12"}, members(t, informer.GetIndexer(), "zone", "z"))
	r.stop()
	require.ErrorContains(t, informer.AddIndexers(cache.Indexers{"late": byLabel("app")}), "stopped")
	assert.Equal(t, []string{"a@11", "b@12"}, members(t, informer.GetIndexer(), "zone", "z"), "still readable")
}

func indexersOnNone(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	attempt := func() { assert.NoError(t, informer.AddIndexers(cache.Indexers{"app": byLabel("app")})) }
	if differs(t, s.impl, "an informer made without indexers takes some later; client-go writes to a nil map", true, false) {
		assert.Panics(t, attempt)
		return
	}
	attempt()
	s.source.put(labelled("a", "", "app", "x"))
	s.start(informer)
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "app", "x"))
}

func sharedMetrics(t *testing.T, s *stage) {
	m := newMetrics()
	id := reservedName(t, "shared")
	informer := s.shared(cache.SharedIndexInformerOptions{Identifier: id, InformerMetricsProvider: m})
	assert.Equal(t, 1, m.made("version"), "the store is there before the start")
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.Equal(t, []cache.InformerNameAndResource{id, id, id}, m.ids())
	for _, kind := range []string{"queued", "latency", "version"} {
		assert.Equal(t, 1, m.made(kind), kind)
	}
	assert.Equal(t, 11.0, m.version.last())
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, 12.0, m.version.last())
	s.source.send(bookmark("20", false))
	settle()
	assert.Equal(t, 20.0, m.version.last())
	assert.Equal(t, 0.0, m.queued.last())
	assert.Equal(t, 3, m.latency.count())
}

func sharedMetricsTaken(t *testing.T, s *stage) {
	name, err := cache.NewInformerName("shared")
	require.NoError(t, err)
	defer name.Release()
	first := name.WithResource(podsResource)
	second := name.WithResource(podsResource)
	require.True(t, first.Reserved())
	m := newMetrics()
	s.start(s.shared(cache.SharedIndexInformerOptions{Identifier: second, InformerMetricsProvider: m}))
	s.start(s.shared(cache.SharedIndexInformerOptions{InformerMetricsProvider: m}))
	assert.Empty(t, m.ids())
}

func gatesChangeNothing(t *testing.T, s *stage) {
	want := []string{"add a@11 initial", "add b@12 initial", "add c@13", "update a@11 a@14", "delete b@15",
		"delete gone(c@13)", "update a@14 a@14", "add d@17"}
	for name, gates := range map[string]map[features.Feature]bool{
		"default":    {},
		"atomic off": {features.AtomicFIFO: false},
		"unlock off": {features.UnlockWhileProcessingFIFO: false},
		"batch off":  {features.InOrderInformersBatchProcess: false},
		"stream off": {features.WatchListClient: false},
		"all off": {features.AtomicFIFO: false, features.UnlockWhileProcessingFIFO: false,
			features.InOrderInformersBatchProcess: false, features.WatchListClient: false},
	} {
		for gate, on := range gates {
			featurestesting.SetFeatureDuringTest(t, gate, on)
		}
		assert.ElementsMatch(t, want, s.scene(t), name)
		for gate := range gates {
			featurestesting.SetFeatureDuringTest(t, gate, true)
		}
	}
}

// scene plays a list, some events, a relist and a stop and returns what a handler hears.
func (s *stage) scene(t *testing.T) []string {
	s.source = newSource(s.source.mode)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	add(t, informer, rec)
	r := s.start(informer)
	s.source.put(pod("c", ""))
	settle()
	s.source.put(pod("a", ""))
	s.source.remove("b")
	settle()
	s.source.miss(nil, "c")
	s.source.miss([]*corev1.Pod{pod("d", "")})
	s.relist()
	r.stop()
	return rec.take()
}
