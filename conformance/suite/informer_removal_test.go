// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestRemoval(t *testing.T) {
	onStage(t, []informerCase{
		{name: "nothing comes after", run: removalSilences},
		{name: "what waits is dropped, the running call ends", run: removalDropsPending},
		{name: "again and again is no error", run: removalIdempotent},
		{name: "a handle of another informer is ignored", run: removalForeign},
		{name: "a handle of another type is an error", run: removalOtherType},
		{name: "from inside the handler", run: removalFromInside},
		{name: "from inside another handler", run: removalFromAnother},
		{name: "before the start", run: removalBeforeStart},
		{name: "during the first list", run: removalBeforeSync},
		{name: "the last handler's removal does not stop the informer", run: removalOfAll},
		{name: "ShutDownEventHandler waits for the running call", run: shutdownWaits},
		{name: "ShutDownEventHandler before the start and after the stop", run: shutdownAnytime},
		{name: "stopping closes every ShutdownChan", run: shutdownByStop},
		{name: "a removed handler leaves the resync check as it is", run: removalResync},
	})
}

// shutdownChan is the channel that ShutDownEventHandler waits for.
func shutdownChan(t *testing.T, handle cache.ResourceEventHandlerRegistration) <-chan struct{} {
	t.Helper()
	h, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	require.True(t, ok)
	return h.ShutdownChan()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func removalSilences(t *testing.T, s *stage) {
	informer, kept := s.relisted(t)
	rec := &recorder{}
	handle := add(t, informer, rec)
	s.source.put(pod("a", ""))
	settle()
	assert.Len(t, rec.take(), 1)
	require.NoError(t, informer.RemoveEventHandler(handle))
	s.source.put(pod("b", ""))
	s.source.remove("a")
	settle()
	assert.Empty(t, rec.take())
	assert.Len(t, kept.take(), 3)
	assert.True(t, closed(shutdownChan(t, handle)))
	assert.True(t, handle.HasSynced(), "it stays what it was")
}

func removalDropsPending(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	g := newGate()
	rec := &recorder{hook: func(string) { g.pass() }}
	handle := add(t, informer, rec)
	for _, name := range []string{"a", "b", "c"} {
		s.source.put(pod(name, ""))
	}
	settle()
	assert.Zero(t, elapsed(func() { require.NoError(t, informer.RemoveEventHandler(handle)) }), "does not wait")
	settle()
	assert.False(t, closed(shutdownChan(t, handle)), "the call still runs")
	g.open()
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.True(t, closed(shutdownChan(t, handle)))
}

func removalIdempotent(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	handle := add(t, informer, &recorder{})
	settle()
	for range 3 {
		require.NoError(t, informer.RemoveEventHandler(handle))
	}
	require.NoError(t, cache.ShutDownEventHandler(informer, handle))
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

// strange is a registration that no informer made.
type strange struct{}

func (strange) HasSynced() bool                     { return true }
func (strange) HasSyncedChecker() cache.DoneChecker { return nil }

func removalOtherType(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	require.Error(t, informer.RemoveEventHandler(strange{}))
	require.Error(t, cache.ShutDownEventHandler(informer, strange{}))
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
	add(t, informer, &recorder{hook: func(string) { assert.NoError(t, cache.ShutDownEventHandler(informer, handle)) }})
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
	g := newGate()
	rec := &recorder{hook: func(string) { g.pass() }}
	handle := add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(informer)
	require.NoError(t, informer.RemoveEventHandler(handle))
	g.open()
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
	rec := &recorder{}
	add(t, informer, rec)
	settle()
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
}

func shutdownWaits(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	g := newGate()
	handle := add(t, informer, &recorder{hook: func(string) { g.pass() }})
	s.source.put(pod("a", ""))
	settle()
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, cache.ShutDownEventHandler(informer, handle))
	}()
	settle()
	assert.False(t, closed(done))
	g.open()
	<-done
}

func shutdownAnytime(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	before, after := add(t, informer, &recorder{}), add(t, informer, &recorder{})
	require.NoError(t, cache.ShutDownEventHandler(informer, before))
	r := s.start(informer)
	require.NoError(t, cache.ShutDownEventHandler(informer, before))
	r.stop()
	require.NoError(t, cache.ShutDownEventHandler(informer, after))
	require.NoError(t, cache.ShutDownEventHandler(informer, before))
}

func shutdownByStop(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	r := s.start(informer)
	assert.False(t, closed(shutdownChan(t, handle)))
	r.stop()
	assert.True(t, closed(shutdownChan(t, handle)))
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
