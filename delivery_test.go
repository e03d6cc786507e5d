// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// exact is an informer on a source of pods inside a synctest bubble.
type exact struct {
	*testing.T
	source   *testkit.Pods
	informer ownInformer
	stop     context.CancelFunc
	stopped  chan struct{}
}

// ownRegistration is all that a registration of ours has.
type ownRegistration interface {
	cache.MeasuredRegistration
	ShutdownChan() <-chan struct{}
}

// inExactBubble runs test with an informer that runs and is synced with one pod, a1, and stops it
// in the end.
func inExactBubble(t *testing.T, test func(e *exact)) {
	inResyncedBubble(t, 0, test)
}

// inResyncedBubble is inExactBubble with a period of resyncs.
func inResyncedBubble(t *testing.T, resync time.Duration, test func(e *exact)) {
	synctest.Test(t, func(t *testing.T) {
		e := &exact{T: t, source: testkit.NewPods(), stopped: make(chan struct{})}
		e.source.Put(testkit.Pod("a", "1"))
		e.informer = cache.NewSharedIndexInformer(e.source, &corev1.Pod{}, resync, nil).(ownInformer)
		ctx, cancel := context.WithCancel(t.Context())
		e.stop = cancel
		go func() { e.informer.RunWithContext(ctx); close(e.stopped) }()
		synctest.Wait()
		test(e)
		cancel()
		<-e.stopped
	})
}

func (e *exact) add(handler cache.ResourceEventHandler, delivery cache.Delivery) ownRegistration {
	handle := e.addNow(handler, delivery)
	synctest.Wait()
	return handle
}

// addNow is add in a goroutine that is not the test's.
func (e *exact) addNow(handler cache.ResourceEventHandler, delivery cache.Delivery) ownRegistration {
	handle, err := e.informer.AddEventHandler(cache.Deliver(handler, delivery))
	require.NoError(e, err)
	return handle.(ownRegistration)
}

// change puts n versions of a pod, from 1 on, into the source.
func (e *exact) change(name string, n int) {
	for i := range n {
		e.source.Put(testkit.Pod(name, fmt.Sprint(i+1)))
	}
	synctest.Wait()
}

// stuck returns a handler that does not return from a call about the named pod before release is
// closed.
func stuck(name string) (handler *testkit.Journal, release chan struct{}) {
	release = make(chan struct{})
	return &testkit.Journal{On: func(line string) {
		if len(line) > 4 && line[:4] == "add " && line[4:4+len(name)] == name {
			<-release
		}
	}}, release
}

func TestBlockHoldsTheWatch(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		other := &testkit.Journal{}
		e.add(other, cache.Delivery{})
		blocked := e.add(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 4})
		e.change("b", 2*event.BatchLimit)
		assert.Equal(t, 4, blocked.Stats().Pending)
		assert.Len(t, other.Take(), 1+4)
		assert.GreaterOrEqual(t, e.source.Unread(), event.BatchLimit-4, "the reflector holds a batch, and the watch is not read")

		close(release)
		synctest.Wait()
		assert.Zero(t, e.source.Unread())
		assert.Len(t, handler.Take(), 1+2*event.BatchLimit)
		assert.Len(t, other.Take(), 2*event.BatchLimit-4)
	})
}

func TestBlockEndsWithRemovalAndStop(t *testing.T) {
	for name, end := range map[string]func(e *exact, handle cache.ResourceEventHandlerRegistration){
		"removal": func(e *exact, handle cache.ResourceEventHandlerRegistration) {
			require.NoError(e, e.informer.RemoveEventHandler(handle))
		},
		"stop": func(e *exact, _ cache.ResourceEventHandlerRegistration) { e.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			inExactBubble(t, func(e *exact) {
				handler, release := stuck("b")
				handle := e.add(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 1})
				e.change("b", 2*event.BatchLimit)
				require.Positive(t, e.source.Unread())
				end(e, handle)
				synctest.Wait()
				if name == "stop" {
					assert.True(t, e.informer.IsStopped(), "the controller does not wait for the handler")
				} else {
					assert.Zero(t, e.source.Unread())
				}
				close(release)
				<-handle.ShutdownChan()
			})
		})
	}
}

func TestBlockedHandlerMayAddAndRemoveHandlers(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		late := &testkit.Journal{}
		var handle ownRegistration
		handler := &testkit.Journal{}
		handler.On = func(line string) {
			if line == "add b1" {
				time.Sleep(time.Minute) // until the watch is held
				e.addNow(late, cache.Delivery{})
				assert.NoError(t, e.informer.RemoveEventHandler(handle))
			}
		}
		handle = e.add(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 1})
		e.change("b", 2*event.BatchLimit)
		require.Positive(t, e.source.Unread())
		time.Sleep(2 * time.Minute)
		assert.Zero(t, e.source.Unread())
		assert.Equal(t, []string{"initial a1", "add b1"}, handler.Take())
		assert.Contains(t, late.Take(), fmt.Sprintf("update b%d b%d", 2*event.BatchLimit-1, 2*event.BatchLimit))
	})
}

func TestListsAndResyncsDoNotBlock(t *testing.T) {
	inResyncedBubble(t, time.Minute, func(e *exact) {
		e.change("b", 1)
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(string) { <-release }}
		handle := e.add(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 2})
		require.Equal(t, 2, handle.Stats().Pending, "two objects of the initial list")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 4, handle.Stats().Pending)
		e.change("c", 1)
		assert.Zero(t, e.source.Unread(), "one notification waits")
		close(release)
	})
}

func TestDisconnect(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		var reported []error
		again := &testkit.Journal{}
		handle := e.add(handler, cache.Delivery{Name: "lazy", Overflow: cache.OverflowDisconnect, Max: 3, OnDisconnect: func(err error) {
			reported = append(reported, err)
			e.addNow(again, cache.Delivery{})
		}})
		e.change("b", 3)
		assert.True(t, e.informer.IsRegistered(handle), "three may wait")
		e.change("c", 1)
		require.Len(t, reported, 1)
		assert.ErrorIs(t, reported[0], cache.ErrDisconnected)
		assert.ErrorContains(t, reported[0], "lazy")
		assert.False(t, e.informer.IsRegistered(handle))
		assert.Equal(t, cache.HandlerDisconnected, handle.Stats().State)
		assert.True(t, handle.HasSynced(), "the last value stays")
		assert.Len(t, again.Take(), 3)
		select {
		case <-handle.ShutdownChan():
			t.Fatal("shut down while a call is running")
		default:
		}
		close(release)
		<-handle.ShutdownChan()
		assert.Equal(t, []string{"initial a1", "add b1"}, handler.Take())
	})
}

func TestDisconnectIgnoresInitialLists(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		for _, name := range []string{"b", "c", "d"} {
			e.change(name, 1)
		}
		release := make(chan struct{})
		handle := e.add(&testkit.Journal{On: func(string) { <-release }}, cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1})
		e.change("e", 1)
		assert.True(t, e.informer.IsRegistered(handle))
		e.change("f", 1)
		assert.False(t, e.informer.IsRegistered(handle))
		assert.False(t, handle.HasSynced())
		close(release)
	})
}

func TestCoalesceTellsTheLastState(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		handle := e.add(handler, cache.Delivery{Overflow: cache.OverflowCoalesce})
		e.change("b", 1)
		e.change("b", 500)
		e.change("c", 2)
		e.source.Remove("a")
		synctest.Wait()
		assert.Less(t, handle.Stats().Pending, 100, "one call runs, three objects wait, and what is not read ahead")
		assert.Positive(t, handle.Stats().Coalesced)
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"initial a1", "add b1", "update b1 b500", "add c2", "delete a1"}, handler.Take())
		assert.Equal(t, uint64(500), handle.Stats().Coalesced)
	})
}

func TestCoalescedInitialListSyncs(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		e.change("b", 1)
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(string) { <-release }}
		handle := e.add(handler, cache.Delivery{Overflow: cache.OverflowCoalesce})
		for _, name := range []string{"a", "b"} { // one of them is in the running call
			e.source.Remove(name)
		}
		e.change("c", 1)
		assert.False(t, handle.HasSynced())
		release <- struct{}{}
		synctest.Wait()
		assert.True(t, handle.HasSynced(), "an Add that came to nothing counts as delivered")
		close(release)
		synctest.Wait()
		assert.Len(t, handler.Take(), 3, "one Add, its Delete, and c")
	})
}

func TestParallelCalls(t *testing.T) {
	// As many as it takes for each of the four to get some, whatever the seed of the hash: one
	// process in a million fails.
	const names = "bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	inExactBubble(t, func(e *exact) {
		var mu sync.Mutex
		running, most := 0, 0
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(string) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
		}}
		handle := e.add(handler, cache.Delivery{Parallel: 4})
		assert.False(t, handle.HasSynced())
		for _, name := range names {
			e.change(string(name), 3)
		}
		assert.Equal(t, 4, most)
		close(release)
		synctest.Wait()
		assert.True(t, handle.HasSynced())
		lines := handler.Take()
		assert.Len(t, lines, 1+3*len(names))
		for _, name := range names {
			var own []string
			for _, line := range lines {
				if line[len(line)-2] == byte(name) {
					own = append(own, line)
				}
			}
			assert.Equal(t, []string{fmt.Sprintf("add %c1", name), fmt.Sprintf("update %c1 %c2", name, name), fmt.Sprintf("update %c2 %c3", name, name)}, own)
		}
	})
}

func TestDeliveryKeepsNames(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handle := e.add(&testkit.Journal{}, cache.Delivery{Name: "given"})
		assert.Contains(t, handle.HasSyncedChecker().Name(), "+ event handler given")
		assert.Contains(t, e.add(&testkit.Journal{}, cache.Delivery{Overflow: cache.OverflowCoalesce}).HasSyncedChecker().Name(), "testkit.Journal")
	})
}

func TestDeliveredHandlerInClientGosInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := framework.NewFakeControllerSource()
		source.Add(testkit.Pod("a", "1"))
		informer := clientgo.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		seen := &testkit.Journal{}
		_, err := informer.AddEventHandler(cache.Deliver(seen, cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1, Parallel: 3}))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { informer.RunWithContext(ctx); close(done) }()
		synctest.Wait()
		assert.Equal(t, []string{"initial a1"}, seen.Take())
		cancel()
		<-done
		source.Shutdown()
	})
}

func TestOnDisconnectThatPanicsOrEndsItsGoroutine(t *testing.T) {
	panics := testkit.QuietPanics(t)
	for name, fail := range map[string]func(error){"panic": func(error) { panic("cannot take it") }, "exit": func(error) { runtime.Goexit() }} {
		t.Run(name, func(t *testing.T) {
			inExactBubble(t, func(e *exact) {
				handler, release := stuck("b")
				e.add(handler, cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1, OnDisconnect: fail})
				e.change("b", 2)
				assert.Zero(t, e.informer.EventHandlerCount())
				close(release)
			})
		})
	}
	assert.Equal(t, 1, panics())
}
