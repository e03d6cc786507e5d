// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Panics are swallowed here (utilruntime.ReallyCrash is false); otherwise they end the process on
// either side.
func TestPanic(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the notification is lost, the next comes after a second", run: panicPause},
		{name: "in OnUpdate and OnDelete", run: panicEverywhere},
		{name: "each panic costs its second", run: panicAgain},
		{name: "the other handlers do not notice", run: panicAlone},
		{name: "in the initial list keeps the handler from being synced", run: panicNeverSynced},
		{name: "after the initial list does not unsync", run: panicStaysSynced},
		{name: "a panicking handler can be removed", run: panicRemoved},
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
	survivePanics(t)
	informer, _ := s.relisted(t)
	rec := panicsOn("add a@11")
	add(t, informer, rec)
	s.source.put(pod("a", ""))
	settle()
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.Equal(t, []any{"add a@11"}, reported.panics())
	pass(999 * time.Millisecond)
	assert.Empty(t, rec.take())
	pass(time.Millisecond)
	assert.Equal(t, []string{"add b@12"}, rec.take())
	s.source.put(pod("c", ""))
	settle()
	assert.Equal(t, []string{"add c@13"}, rec.take(), "no pause after what went well")
}

func panicEverywhere(t *testing.T, s *stage) {
	survivePanics(t)
	informer, _ := s.relisted(t, "a")
	rec := panicsOn("update", "delete")
	add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.remove("a")
	s.source.put(pod("a", ""))
	pass(10 * time.Second)
	assert.Equal(t, []string{"add a@11 initial", "update a@11 a@12", "delete a@13", "add a@14"}, rec.take())
	assert.Len(t, reported.panics(), 2)
}

func panicAgain(t *testing.T, s *stage) {
	survivePanics(t)
	informer, _ := s.relisted(t)
	rec := panicsOn("add")
	add(t, informer, rec)
	start := time.Now()
	for _, name := range []string{"a", "b", "c", "d"} {
		s.source.put(pod(name, ""))
	}
	pass(time.Minute)
	assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, rec.times(start))
}

func panicAlone(t *testing.T, s *stage) {
	survivePanics(t)
	informer, rec := s.relisted(t)
	add(t, informer, panicsOn("add"))
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, []string{"add a@11", "add b@12"}, rec.take())
	assert.Len(t, informer.GetStore().List(), 2)
}

func panicNeverSynced(t *testing.T, s *stage) {
	survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := panicsOn("add a@11 initial")
	broken, fine := add(t, informer, rec), add(t, informer, &recorder{})
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	pass(time.Minute)
	assert.Len(t, rec.take(), 2)
	assert.True(t, informer.HasSynced())
	assert.True(t, fine.HasSynced())
	assert.False(t, broken.HasSynced(), "it has not processed its initial list")
}

func panicStaysSynced(t *testing.T, s *stage) {
	survivePanics(t)
	informer, _ := s.relisted(t, "a")
	handle := add(t, informer, panicsOn("add b"))
	settle()
	s.source.put(pod("b", ""))
	pass(time.Minute)
	assert.True(t, handle.HasSynced())
}

func panicRemoved(t *testing.T, s *stage) {
	survivePanics(t)
	informer, _ := s.relisted(t)
	rec := panicsOn("add")
	handle := add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	require.NoError(t, cache.ShutDownEventHandler(informer, handle))
	rec.take()
	pass(time.Minute)
	assert.Empty(t, rec.take())
}

func panicInTransform(t *testing.T, s *stage) {
	survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	add(t, informer, rec)
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
	assert.Equal(t, differs(t, s.impl, reason, []any{"in transform"}, nil), reported.panics())
	assert.Equal(t, differs(t, s.impl, reason, []string{"add bad@11", "add good@12"}, []string{"add good@12"}), rec.take())
}

func panicInErrorHandler(t *testing.T, s *stage) {
	survivePanics(t)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	require.NoError(t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) { panic("in error handler") }))
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	s.start(informer)
	assert.Equal(t, []any{"in error handler"}, reported.panics())
	s.source.failLists(nil)
	s.source.failWatches(nil)
	pass(time.Minute)
	assert.True(t, informer.HasSynced())
}
