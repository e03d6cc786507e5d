// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestHandlers(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the first list is initial, the rest is not", run: handlerInitial},
		{name: "a late handler hears of the store as its initial list", run: handlerLate},
		{name: "a late handler is not synced before it has heard", run: handlerLateSynced},
		{name: "a late handler neither misses nor repeats", run: handlerLateExact},
		{name: "a late handler does not hold the others up", run: handlerLateBlocked},
		{name: "the same handler twice hears everything twice", run: handlerTwice},
		{name: "a blocked handler blocks no other", run: handlerBlocked},
		{name: "a handler may add a handler", run: handlerAddsHandler},
		{name: "the store is ahead of the handler", run: handlerAfterStore},
		{name: "an object deleted and created again", run: handlerRecreated},
		{name: "deletes carry the deletion's version", run: handlerDelete},
		{name: "filters turn updates into adds and deletes", run: handlerFilter},
		{name: "typed informers unwrap", run: handlerTyped},
		{name: "objects are the store's own", run: handlerIdentity},
		{name: "a nil handler", run: handlerNil},
	})
}

func handlerInitial(t *testing.T, s *stage) {
	_, rec := s.relisted(t)
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())

	informer := s.shared(cache.SharedIndexInformerOptions{})
	first := &recorder{}
	add(t, informer, first)
	s.start(informer)
	assert.Equal(t, []string{"add a@11 initial"}, first.take())
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

func handlerLateSynced(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a", "b")
	g := newGate()
	late := &recorder{hook: func(string) { g.pass() }}
	handle := add(t, informer, late)
	assert.False(t, handle.HasSynced(), "at once")
	settle()
	assert.False(t, handle.HasSynced())
	assert.True(t, informer.HasSynced())
	g.open()
	settle()
	assert.True(t, handle.HasSynced())
	assert.True(t, cache.IsDone(handle.HasSyncedChecker()))
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
	g := newGate()
	late := &recorder{hook: func(string) { g.pass() }}
	add(t, informer, late)
	s.source.put(pod("c", ""))
	settle()
	assert.Equal(t, []string{"add c@13"}, rec.take())
	assert.Len(t, late.take(), 1)
	g.open()
	settle()
	assert.Equal(t, "add c@13", late.take()[1])
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

func handlerBlocked(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	g := newGate()
	slow := &recorder{hook: func(string) { g.pass() }}
	add(t, informer, slow)
	for i := range 50 {
		s.source.put(pod(strconv.Itoa(i), ""))
	}
	settle()
	assert.Len(t, rec.take(), 50)
	assert.Len(t, slow.take(), 1)
	assert.Len(t, informer.GetStore().ListKeys(), 50)
	g.open()
	settle()
	assert.Len(t, slow.take(), 49)
}

func handlerAddsHandler(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	inner := &recorder{}
	outer := &recorder{hook: func(string) { add(t, informer, inner) }}
	add(t, informer, outer)
	settle()
	assert.Equal(t, []string{"add a@11 initial"}, inner.take())
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

func handlerDelete(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a")
	s.source.remove("a")
	settle()
	raw := rec.takeRaw()
	require.Len(t, raw, 1)
	p, ok := raw[0].(*corev1.Pod)
	require.True(t, ok, "%T: the watch knows the last state", raw[0])
	assert.Equal(t, "12", p.ResourceVersion)
	assert.Equal(t, "12", informer.GetStore().LastStoreSyncResourceVersion())
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
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}))
	var lines []string
	_, err := informer.AddTypedEventHandler(cache.TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{
		AddFunc:    func(p *corev1.Pod, initial bool) { lines = append(lines, "add "+p.Name) },
		UpdateFunc: func(_, p *corev1.Pod) { lines = append(lines, "update "+p.Name) },
		DeleteFunc: func(d cache.DeletedObject[*corev1.Pod]) { lines = append(lines, "delete "+d.GetKey()) },
	})
	require.NoError(t, err)
	require.NoError(t, informer.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{
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
	if differs(t, s.impl, "a nil handler is refused, in client-go it panics at the first notification", true, false) {
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
