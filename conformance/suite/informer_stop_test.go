// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestStop(t *testing.T) {
	onStage(t, []informerCase{
		{name: "IsStopped turns before the handlers have finished", run: stopOrder},
		{name: "Run waits for the running call and drops the rest", run: stopDropsPending},
		{name: "a stopped informer takes no handlers and no indexers", run: stopRefuses},
		{name: "a stopped informer lets handlers go", run: stopRemoval},
		{name: "a stopped informer can be read", run: stopReads},
		{name: "Run twice at the same time", run: stopRunTwice},
		{name: "Run after the stop", run: stopRunAgain},
		{name: "Run with a context that has ended", run: stopBeforeStart},
		{name: "Run with a channel", run: stopChannel},
		{name: "without any handler", run: stopWithoutHandlers},
		{name: "in the middle of events", run: stopAmidEvents},
		{name: "in the middle of joining handlers", run: stopAmidJoins},
	})
}

// stopping starts an informer whose handler is stuck in its first notification with another one
// waiting, and cancels.
func (s *stage) stopping(t *testing.T) (informer cache.SharedIndexInformer, r *running, rec *recorder, g gate) {
	informer = s.shared(cache.SharedIndexInformerOptions{})
	g = newGate()
	rec = &recorder{hook: func(string) { g.pass() }}
	add(t, informer, rec)
	r = s.start(informer)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	assert.False(t, informer.IsStopped())
	r.cancel(nil)
	settle()
	return informer, r, rec, g
}

func stopOrder(t *testing.T, s *stage) {
	informer, r, _, g := s.stopping(t)
	assert.True(t, informer.IsStopped(), "the controller has stopped")
	assert.False(t, r.returned(), "a handler is still running")
	assert.Zero(t, s.source.open())
	_, err := informer.AddEventHandler(&recorder{})
	require.ErrorContains(t, err, "stopped")
	g.open()
	<-r.done
	assert.True(t, informer.IsStopped())
}

func stopDropsPending(t *testing.T, s *stage) {
	_, r, rec, g := s.stopping(t)
	g.open()
	<-r.done
	assert.Equal(t, []string{"add a@11"}, rec.take())
}

func stopRefuses(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	s.close()
	for name, attempt := range map[string]func() (cache.ResourceEventHandlerRegistration, error){
		"AddEventHandler": func() (cache.ResourceEventHandlerRegistration, error) {
			return informer.AddEventHandler(&recorder{})
		},
		"AddEventHandlerWithResyncPeriod": func() (cache.ResourceEventHandlerRegistration, error) {
			return informer.AddEventHandlerWithResyncPeriod(&recorder{}, 1)
		},
		"AddEventHandlerWithOptions": func() (cache.ResourceEventHandlerRegistration, error) {
			return informer.AddEventHandlerWithOptions(&recorder{}, cache.HandlerOptions{})
		},
	} {
		handle, err := attempt()
		require.ErrorContains(t, err, "stopped", name)
		assert.Nil(t, handle, name)
	}
	require.ErrorContains(t, informer.AddIndexers(cache.Indexers{"late": byLabel("app")}), "stopped")
}

func stopRemoval(t *testing.T, s *stage) {
	informer, _ := s.relisted(t)
	handle := add(t, informer, &recorder{})
	s.close()
	require.NoError(t, informer.RemoveEventHandler(handle))
	require.NoError(t, informer.RemoveEventHandler(handle))
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
	assert.True(t, second.returned(), "only logs")
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take(), "the first one goes on")
	assert.False(t, informer.IsStopped())
}

func stopRunAgain(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	s.close()
	s.source.takeRequests()
	again := s.start(informer)
	assert.True(t, again.returned())
	assert.Empty(t, s.source.takeRequests())
	assert.Empty(t, rec.take())
	assert.True(t, informer.IsStopped())
}

func stopBeforeStart(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	handle := add(t, informer, &recorder{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.startWith(ctx, informer)
	assert.True(t, r.returned())
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

func stopWithoutHandlers(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	s.source.put(pod("a", ""))
	r := s.start(informer)
	assert.Len(t, informer.GetStore().List(), 1)
	r.stop()
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
		// It came after the handlers had been stopped and before the informer said so: it was never
		// started.
		assert.False(t, handle.HasSynced())
	}
}
