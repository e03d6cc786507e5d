// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/testkit"
)

func TestHandlers(t *testing.T) {
	onStage(t, []informerCase{
		{name: "a late handler hears of the store as its initial list", run: handlerLate},
		{name: "a late handler neither misses nor repeats", run: handlerLateExact},
		{name: "a late handler is not synced before it has heard, and does not hold the others up", run: handlerLateBlocked},
		{name: "the same handler twice hears everything twice", run: handlerTwice},
		{name: "the first list is initial, deletes carry the deletion's version, and the store is ahead", run: handlerAfterStore},
		{name: "an object deleted and created again", run: handlerRecreated},
		{name: "filters turn updates into adds and deletes", run: handlerFilter},
		{name: "typed informers unwrap", run: handlerTyped},
		{name: "objects are the store's own", run: handlerIdentity},
		{name: "a nil handler", run: handlerNil, only: byList},
	})
}

func handlerLate(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a", "b")
	s.source.put(pod("c", ""))
	s.source.put(pod("a", ""))
	s.source.remove("b")
	pass(time.Hour)
	late := &recorder{}
	handle := add(t, informer, late)
	settle()
	lines := late.take()
	assert.ElementsMatch(t, []string{"add a@14 initial", "add c@13 initial"}, lines)
	assert.True(t, handle.HasSynced())
	s.source.put(pod("d", ""))
	settle()
	assert.Equal(t, []string{"add d@16"}, late.take())
}

func handlerLateExact(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	const n = 200
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			s.source.put(pod(strconv.Itoa(i), ""))
		}
	}()
	late := make([]*recorder, 10)
	for i := range late {
		late[i] = &recorder{}
		add(t, informer, late[i])
	}
	<-done
	settle()
	for _, rec := range late {
		lines := rec.take()
		assert.Len(t, lines, n)
		slices.Sort(lines)
		assert.Len(t, slices.Compact(lines), n, "each object once, initial or not")
	}
}

func handlerLateBlocked(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a", "b")
	g := make(chan struct{})
	late := &recorder{hook: func(string) { <-g }}
	handle := add(t, informer, late)
	assert.False(t, handle.HasSynced(), "at once")
	s.source.put(pod("c", ""))
	settle()
	assert.Equal(t, []string{"add c@13"}, rec.take())
	assert.Len(t, late.take(), 1)
	assert.False(t, handle.HasSynced())
	assert.True(t, informer.HasSynced())
	close(g)
	settle()
	assert.Equal(t, "add c@13", late.take()[1])
	assert.True(t, handle.HasSynced())
	assert.True(t, cache.IsDone(handle.HasSyncedChecker()))
}

func handlerTwice(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	one, two := add(t, informer, rec), add(t, informer, rec)
	assert.NotSame(t, one, two)
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.Equal(t, []string{"add a@11 initial", "add a@11 initial"}, rec.take())
	three := add(t, informer, rec)
	settle()
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	require.NoError(t, informer.RemoveEventHandler(one))
	require.NoError(t, informer.RemoveEventHandler(three))
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, []string{"add b@12"}, rec.take(), "each registration by itself")
}

func handlerAfterStore(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	checked := 0
	rec := &recorder{}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			assert.Contains(t, members(t, informer.GetIndexer(), "app", "x"), label(obj))
			checked++
		},
		DeleteFunc: func(obj any) {
			_, exists, err := informer.GetStore().Get(obj)
			assert.NoError(t, err)
			assert.False(t, exists)
			checked++
		},
	}
	add(t, informer, handler)
	add(t, informer, rec)
	s.source.put(labelled("a", "", "app", "x"))
	s.start(informer)
	s.source.put(labelled("b", "", "app", "x"))
	settle()
	s.source.remove("a")
	settle()
	assert.Equal(t, 3, checked)
	assert.Equal(t, []string{"add a@11 initial", "add b@12", "delete a@13"}, rec.take())
	assert.Equal(t, "13", informer.GetStore().LastStoreSyncResourceVersion())
}

func handlerRecreated(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a")
	s.source.remove("a")
	s.source.put(pod("a", ""))
	s.source.remove("a")
	s.source.put(pod("a", ""))
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"delete a@12", "add a@13", "delete a@14", "add a@15", "update a@15 a@16"}, rec.take())
}

func handlerFilter(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	add(t, informer, cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			return obj.(*corev1.Pod).Labels["app"] == "x"
		},
		Handler: rec,
	})
	s.source.put(pod("a", ""))
	s.source.put(labelled("b", "", "app", "x"))
	s.start(informer)
	s.source.put(labelled("a", "", "app", "x"))
	settle()
	s.source.put(labelled("a", "", "app", "x"))
	s.source.put(pod("a", ""))
	settle()
	s.source.miss(nil, "b")
	s.relist()
	assert.Equal(t, []string{"add b@12 initial", "add a@13", "update a@13 a@14", "delete a@14", "delete gone(b@12)"}, rec.take())
}

func handlerTyped(t *testing.T, s *stage) {
	informer := minor.NewTypedSharedIndexInformer[*corev1.Pod](s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}))
	var lines []string
	_, err := informer.AddTypedEventHandler(minor.TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{
		AddFunc:    func(p *corev1.Pod, initial bool) { lines = append(lines, "add "+p.Name) },
		UpdateFunc: func(_, p *corev1.Pod) { lines = append(lines, "update "+p.Name) },
		DeleteFunc: func(d minor.DeletedObject[*corev1.Pod]) { lines = append(lines, "delete "+d.GetKey()) },
	})
	require.NoError(t, err)
	require.NoError(t, informer.AddTypedIndexers(minor.TypedIndexers[*corev1.Pod]{
		"name": func(p *corev1.Pod) ([]string, error) { return []string{p.Name}, nil },
	}))
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	s.source.miss(nil, "b")
	s.relist()
	slices.Sort(lines[:2])
	assert.Equal(t, []string{"add a", "add b", "update a", "delete ns/a", "delete ns/b"}, lines)
	pods, err := informer.GetTypedIndexer().ByTypedIndex("name", "b")
	require.NoError(t, err)
	assert.Empty(t, pods)
}

func handlerNil(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	_, err := informer.AddEventHandler(nil)
	if differs(t, s.impl, "a nil handler is refused, in client-go it panics at the first notification", true, false) && !s.impl.guards() {
		assert.NoError(t, err)
		return
	}
	assert.Error(t, err)
}

func handlerIdentity(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	stored := func() any {
		obj, _, err := informer.GetStore().GetByKey("ns/a")
		assert.NoError(t, err)
		return obj
	}
	var before any
	add(t, informer, cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			assert.Same(t, stored(), obj)
			before = obj
		},
		UpdateFunc: func(old, obj any) {
			assert.Same(t, before, old)
			assert.Same(t, stored(), obj)
			before = obj
		},
	})
	s.source.put(pod("a", ""))
	s.start(informer)
	s.source.put(pod("a", ""))
	settle()
	s.source.miss([]*corev1.Pod{pod("a", "")})
	s.relist()
	assert.Equal(t, "a@13", label(before))
}

func TestSynced(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the informer before its handlers, for WaitFor and WaitForCacheSync as well", run: syncedOrder},
		{name: "never without a list", run: syncedNever},
		{name: "a handler of an informer that was never run", run: syncedUnstarted},
		{name: "names say what is waited for", run: syncedNames, only: byList},
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
	g := make(chan struct{})
	rec := &recorder{hook: func(line string) {
		if strings.HasPrefix(line, "add b") {
			<-g
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
	assert.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	assert.False(t, cache.WaitFor(ctx, "", informer.HasSyncedChecker(), slow.HasSyncedChecker()))
	close(g)
	assert.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker(), slow.HasSyncedChecker()))
	assert.True(t, slow.HasSynced())
}

func syncedNever(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	s.source.fail(forbidden)
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

// named is a handler with its own type name.
type named struct{ recorder }

func syncedNames(t *testing.T, s *stage) {
	byType := s.shared(cache.SharedIndexInformerOptions{})
	assert.Equal(t, "SharedIndexInformer *v1.Pod", byType.HasSyncedChecker().Name())
	informer := s.shared(cache.SharedIndexInformerOptions{ObjectDescription: "my pods"})
	upstream := differs(t, s.impl, "a description or a resource names the informer", "SharedIndexInformer *v1.Pod", "SharedIndexInformer my pods")
	assert.Equal(t, upstream, informer.HasSyncedChecker().Name())
	functions := differs(t, s.impl, "handlers that are functions are named by file and line", "suite.syncedNames", "/suite/informer_test.go:")
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

func controllerView(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	c := informer.GetController()
	assert.Zero(t, elapsed(func() {
		c.Run(nil)
		c.RunWithContext(t.Context())
	}), "returns at once")
	settle()
	assert.Empty(t, s.source.asked(), "and did nothing")
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
	if differs(t, s.impl, "an informer made without indexers takes some later; client-go writes to a nil map", true, false) && !s.impl.guards() {
		assert.Panics(t, attempt)
		return
	}
	attempt()
	s.source.put(labelled("a", "", "app", "x"))
	s.start(informer)
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "app", "x"))
}

func sharedMetrics(t *testing.T, s *stage) {
	m := &metrics{}
	m.Depth.Last = -1 // never set
	id := reservedName(t, "shared")
	informer := s.shared(cache.SharedIndexInformerOptions{Identifier: id, InformerMetricsProvider: m})
	assert.Equal(t, !minor.Since38, slices.Contains(m.made, "version"), "since v0.38 it is made for the first version")
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.Equal(t, []cache.InformerNameAndResource{id, id, id}, m.ids)
	assert.ElementsMatch(t, []string{"queued", "latency", "version"}, m.made)
	assert.Equal(t, 11.0, m.Version.Last)
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, 12.0, m.Version.Last)
	s.source.Inject(testkit.Bookmark("20"))
	settle()
	assert.Equal(t, 20.0, m.Version.Last)
	assert.Equal(t, 0.0, m.Depth.Last)
	assert.Equal(t, 3.0, m.Latencies.Last)
}

func sharedMetricsTaken(t *testing.T, s *stage) {
	name, err := cache.NewInformerName("shared")
	require.NoError(t, err)
	defer name.Release()
	first := name.WithResource(podsResource)
	second := name.WithResource(podsResource)
	require.True(t, first.Reserved())
	m := &metrics{}
	s.start(s.shared(cache.SharedIndexInformerOptions{Identifier: second, InformerMetricsProvider: m}))
	s.start(s.shared(cache.SharedIndexInformerOptions{InformerMetricsProvider: m}))
	assert.Empty(t, m.ids)
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

// scene plays a list, some events, a relist and a stop, and returns a handler's notifications.
func (s *stage) scene(t *testing.T) []string {
	s.source = newSource(s.source.mode)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
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

func TestRemoval(t *testing.T) {
	onStage(t, []informerCase{
		{name: "what waits is dropped, the running call ends", run: removalDropsPending, since037: true},
		{name: "a handle of another informer is ignored", run: removalForeign, since037: true},
		{name: "a handle of another type is an error", run: removalOtherType},
		{name: "from inside the handler", run: removalFromInside, since037: true},
		{name: "from inside another handler", run: removalFromAnother, since037: true},
		{name: "before the start", run: removalBeforeStart, since037: true},
		{name: "during the first list", run: removalBeforeSync},
		{name: "the last handler's removal does not stop the informer", run: removalOfAll},
		{name: "ShutDownEventHandler waits for the running call", run: shutdownWaits, since037: true},
		{name: "again and again, before the start and after the stop", run: removalAnytime, since037: true},
		{name: "a removed handler leaves the resync check as it is", run: removalResync},
		{name: "an event whose object the program has stored", run: storedByTheProgram},
	})
}

// shutdownChan returns the channel for which ShutDownEventHandler waits.
func shutdownChan(t *testing.T, handle cache.ResourceEventHandlerRegistration) <-chan struct{} {
	t.Helper()
	h, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	require.True(t, ok)
	return h.ShutdownChan()
}

func removalDropsPending(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	g := make(chan struct{})
	rec := &recorder{hook: func(string) { <-g }}
	handle := add(t, informer, rec)
	for _, name := range []string{"a", "b", "c"} {
		s.source.put(pod(name, ""))
	}
	settle()
	assert.Zero(t, elapsed(func() { require.NoError(t, informer.RemoveEventHandler(handle)) }), "does not wait")
	settle()
	assert.False(t, closed(shutdownChan(t, handle)), "the call still runs")
	close(g)
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.True(t, closed(shutdownChan(t, handle)))
}

func removalForeign(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	other := s.shared(cache.SharedIndexInformerOptions{})
	foreign := add(t, other, &recorder{})
	require.NoError(t, informer.RemoveEventHandler(foreign))
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.False(t, closed(shutdownChan(t, foreign)), "and stays registered where it is")
}

// strange is a registration of no informer.
type strange struct{}

func (strange) HasSynced() bool                     { return true }
func (strange) HasSyncedChecker() cache.DoneChecker { return nil }

func removalOtherType(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	require.Error(t, informer.RemoveEventHandler(strange{}))
	require.Error(t, minor.ShutDownEventHandler(informer, strange{}))
	require.Error(t, informer.RemoveEventHandler(nil))
}

func removalFromInside(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	rec := &recorder{}
	var handle cache.ResourceEventHandlerRegistration
	rec.hook = func(string) { assert.NoError(t, informer.RemoveEventHandler(handle)) }
	handle = add(t, informer, rec)
	s.source.put(pod("a", ""))
	settle()
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.True(t, closed(shutdownChan(t, handle)))
}

func removalFromAnother(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	victim := &recorder{}
	handle := add(t, informer, victim)
	add(t, informer, &recorder{hook: func(string) { assert.NoError(t, minor.ShutDownEventHandler(informer, handle)) }})
	s.source.put(pod("a", ""))
	settle()
	victim.take()
	s.source.put(pod("b", ""))
	settle()
	assert.Empty(t, victim.take())
}

func removalBeforeStart(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	handle := add(t, informer, rec)
	require.NoError(t, informer.RemoveEventHandler(handle))
	assert.True(t, closed(shutdownChan(t, handle)))
	s.source.put(pod("a", ""))
	s.start(informer)
	assert.Empty(t, rec.take())
	assert.False(t, handle.HasSynced())
}

func removalBeforeSync(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	g := make(chan struct{})
	rec := &recorder{hook: func(string) { <-g }}
	handle := add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	require.NoError(t, informer.RemoveEventHandler(handle))
	close(g)
	settle()
	assert.Len(t, rec.take(), 1)
	assert.False(t, handle.HasSynced(), "it has not heard of everything")
	assert.True(t, informer.HasSynced())
}

func removalOfAll(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	s.start(informer)
	require.NoError(t, informer.RemoveEventHandler(handle))
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())
	assert.False(t, informer.IsStopped())
	rec := listen(t, informer)
	settle()
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
}

func shutdownWaits(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	g := make(chan struct{})
	handle := add(t, informer, &recorder{hook: func(string) { <-g }})
	s.source.put(pod("a", ""))
	settle()
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, minor.ShutDownEventHandler(informer, handle))
	}()
	settle()
	assert.False(t, closed(done))
	close(g)
	<-done
}

func removalAnytime(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	before, during, after := add(t, informer, &recorder{}), add(t, informer, &recorder{}), add(t, informer, &recorder{})
	require.NoError(t, minor.ShutDownEventHandler(informer, before))
	r := s.start(informer)
	for range 3 {
		require.NoError(t, informer.RemoveEventHandler(during))
	}
	require.NoError(t, minor.ShutDownEventHandler(informer, during))
	require.NoError(t, minor.ShutDownEventHandler(informer, before))
	r.stop()
	require.NoError(t, minor.ShutDownEventHandler(informer, after))
	require.NoError(t, minor.ShutDownEventHandler(informer, before))
}

func storedByTheProgram(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	h := &recorder{}
	_, err := informer.AddEventHandlerWithResyncPeriod(h, 0)
	require.NoError(t, err)
	_, err = informer.AddEventHandler(&recorder{})
	require.NoError(t, err)
	s.source.put(pod("a", ""))
	s.start(informer)
	pass(2 * time.Minute) // client-go asks for resyncs from the first one on
	h.take()
	require.NoError(t, informer.GetStore().Update(pod("a", "12")))
	s.source.put(labelled("a", "", "app", "x"))
	settle()
	assert.Equal(t, differs(t, s.impl, "an event of the watch is never a resync", []string{}, []string{"update a@12 a@12"}), h.take())
}

func removalResync(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	slow, fast := &recorder{}, &recorder{}
	add(t, informer, slow)
	handle := addEvery(t, informer, fast, 10*time.Second)
	s.source.put(pod("a", ""))
	s.start(informer)
	slow.take()
	require.NoError(t, informer.RemoveEventHandler(handle))
	late := &recorder{}
	addEvery(t, informer, late, 10*time.Second)
	settle()
	late.take()
	pass(61 * time.Second)
	assert.Len(t, late.take(), 6, "the check stays at ten seconds")
	assert.Len(t, slow.take(), 1)
}

func TestStop(t *testing.T) {
	onStage(t, []informerCase{
		{name: "IsStopped turns before the running call ends, what waits is dropped", run: stopOrder},
		{name: "a stopped informer takes no handlers and no indexers", run: stopRefuses},
		{name: "a stopped informer can be read", run: stopReads},
		{name: "Run twice at the same time", run: stopRunTwice},
		{name: "Run after the stop", run: stopRunAgain},
		{name: "Run with a context that has ended", run: stopBeforeStart, since037: true},
		{name: "Run with a channel", run: stopChannel},
		{name: "in the middle of events", run: stopAmidEvents},
		{name: "in the middle of joining handlers", run: stopAmidJoins, since037: true},
	})
}

// stopping starts an informer whose handler blocks in its first notification, with a second one pending,
// and cancels the run.
func (s *stage) stopping(t *testing.T) (informer cache.SharedIndexInformer, r *running, rec *recorder, g chan struct{}) {
	informer = s.shared(cache.SharedIndexInformerOptions{})
	g = make(chan struct{})
	rec = &recorder{hook: func(string) { <-g }}
	add(t, informer, rec)
	r = s.start(informer)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	assert.False(t, informer.IsStopped())
	r.cancel()
	settle()
	return informer, r, rec, g
}

func stopOrder(t *testing.T, s *stage) {
	informer, r, rec, g := s.stopping(t)
	assert.True(t, informer.IsStopped(), "the controller has stopped")
	assert.False(t, closed(r.done), "a handler is still running")
	assert.Zero(t, s.source.Watching())
	_, err := informer.AddEventHandler(&recorder{})
	require.ErrorContains(t, err, "stopped")
	close(g)
	<-r.done
	assert.True(t, informer.IsStopped())
	assert.Equal(t, []string{"add a@11"}, rec.take(), "what waits is dropped")
}

func stopRefuses(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	s.close()
	refused := func(handle cache.ResourceEventHandlerRegistration, err error) {
		t.Helper()
		require.ErrorContains(t, err, "stopped")
		assert.Nil(t, handle)
	}
	refused(informer.AddEventHandler(&recorder{}))
	refused(informer.AddEventHandlerWithResyncPeriod(&recorder{}, 1))
	refused(informer.AddEventHandlerWithOptions(&recorder{}, cache.HandlerOptions{}))
	require.ErrorContains(t, informer.AddIndexers(cache.Indexers{"late": byLabel("app")}), "stopped")
}

func stopReads(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	handle := add(t, informer, &recorder{})
	settle()
	s.close()
	assert.Equal(t, []string{"a@11"}, labels(informer.GetStore().List()))
	assert.Equal(t, "11", informer.LastSyncResourceVersion())
	assert.Equal(t, "11", informer.GetStore().LastStoreSyncResourceVersion())
	assert.True(t, informer.HasSynced())
	assert.True(t, handle.HasSynced())
}

func stopRunTwice(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	second := s.start(informer)
	assert.True(t, closed(second.done), "only logs")
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take(), "the first one goes on")
	assert.False(t, informer.IsStopped())
}

func stopRunAgain(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	s.close()
	s.source.asked()
	again := s.start(informer)
	assert.True(t, closed(again.done))
	assert.Empty(t, s.source.asked())
	assert.Empty(t, rec.take())
	assert.True(t, informer.IsStopped())
}

func stopBeforeStart(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.startWith(ctx, informer)
	assert.True(t, closed(r.done))
	assert.True(t, informer.IsStopped())
	assert.True(t, closed(shutdownChan(t, handle)))
}

func stopChannel(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		informer.Run(stop)
	}()
	settle()
	assert.True(t, informer.HasSynced())
	close(stop)
	<-done
	assert.True(t, informer.IsStopped())
}

func stopAmidEvents(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			s.source.put(pod(strconv.Itoa(i), ""))
		}
	}()
	s.close()
	<-done
	heard := len(rec.take())
	assert.LessOrEqual(t, heard, len(informer.GetStore().ListKeys()), "never ahead of the store")
	settle()
	assert.Empty(t, rec.take(), "silent once Run has returned")
}

func stopAmidJoins(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	done := make(chan struct{})
	var handles []cache.ResourceEventHandlerRegistration
	go func() {
		defer close(done)
		for {
			handle, err := informer.AddEventHandler(&recorder{})
			if err != nil {
				return
			}
			handles = append(handles, handle)
		}
	}()
	s.close()
	<-done
	settle()
	for _, handle := range handles {
		if closed(shutdownChan(t, handle)) {
			continue
		}
		// The handler was added after the others had been stopped and before AddEventHandler returned an
		// error. It was never started.
		assert.False(t, handle.HasSynced())
	}
}

// TestPanic runs with utilruntime.ReallyCrash set to false, so that panics are swallowed. Otherwise they
// end the process in both implementations.
func TestPanic(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the notification is lost, the next comes after a second", run: panicPause},
		{name: "in OnUpdate and OnDelete, each costs its second", run: panicEverywhere},
		{name: "in the initial list keeps the handler from being synced, and a later one does not unsync", run: panicSynced},
		{name: "a panicking handler can be removed", run: panicRemoved, since037: true},
		{name: "in a transform", run: panicInTransform},
		{name: "in the watch error handler", run: panicInErrorHandler},
	})
}

// panicsOn makes a recorder that panics after writing down a line that begins with one of the
// texts.
func panicsOn(texts ...string) *recorder {
	return &recorder{hook: func(line string) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(line, text) }) {
			panic(line)
		}
	}}
}

func panicPause(t *testing.T, s *stage) {
	panics := survivePanics(t)
	informer, _ := s.relisted(t)
	rec := panicsOn("add a@11")
	add(t, informer, rec)
	s.source.put(pod("a", ""))
	settle()
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.Equal(t, []any{"add a@11"}, panics())
	pass(999 * time.Millisecond)
	assert.Empty(t, rec.take())
	pass(time.Millisecond)
	assert.Equal(t, []string{"add b@12"}, rec.take())
	s.source.put(pod("c", ""))
	settle()
	assert.Equal(t, []string{"add c@13"}, rec.take(), "no pause after what went well")
}

func panicEverywhere(t *testing.T, s *stage) {
	panics := survivePanics(t)
	informer, _ := s.relisted(t, "a")
	rec := panicsOn("update", "delete")
	start := time.Now()
	add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.remove("a")
	s.source.put(pod("a", ""))
	pass(10 * time.Second)
	calls := rec.takeCalls()
	assert.Equal(t, []string{"add a@11 initial", "update a@11 a@12", "delete a@13", "add a@14"}, each(calls, call.text))
	assert.Equal(t, []time.Duration{0, 0, time.Second, 2 * time.Second}, each(calls, func(c call) time.Duration { return c.at.Sub(start) }))
	assert.Len(t, panics(), 2)
}

func panicSynced(t *testing.T, s *stage) {
	survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := panicsOn("add a@11 initial")
	broken, fine := add(t, informer, rec), add(t, informer, panicsOn("add c"))
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	pass(time.Minute)
	assert.Len(t, rec.take(), 2)
	assert.True(t, informer.HasSynced())
	assert.True(t, fine.HasSynced())
	assert.False(t, broken.HasSynced(), "it has not processed its initial list")
	s.source.put(pod("c", ""))
	pass(time.Minute)
	assert.True(t, fine.HasSynced())
}

func panicRemoved(t *testing.T, s *stage) {
	survivePanics(t)
	informer, _ := s.relisted(t)
	rec := panicsOn("add")
	handle := add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	require.NoError(t, minor.ShutDownEventHandler(informer, handle))
	rec.take()
	pass(time.Minute)
	assert.Empty(t, rec.take())
}

func panicInTransform(t *testing.T, s *stage) {
	panics := survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
	left := 1
	require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok && p.Name == "bad" && left > 0 {
			left--
			panic("in transform")
		}
		return obj, nil
	}))
	s.start(informer)
	s.source.put(pod("bad", ""))
	pass(time.Minute)
	s.source.put(pod("good", ""))
	settle()
	const reason = "a transform that panics is one that fails: the event is reported and left out, the reflector goes on"
	assert.Equal(t, differs(t, s.impl, reason, []any{"in transform"}, nil), panics())
	assert.Equal(t, differs(t, s.impl, reason, []string{"add bad@11", "add good@12"}, []string{"add good@12"}), rec.take())
}

func panicInErrorHandler(t *testing.T, s *stage) {
	panics := survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	require.NoError(t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) { panic("in error handler") }))
	s.source.fail(forbidden)
	s.start(informer)
	assert.Equal(t, []any{"in error handler"}, panics())
	s.source.fail(nil)
	pass(time.Minute)
	assert.True(t, informer.HasSynced())
}
