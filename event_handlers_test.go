// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

func TestNilHandlerIsRefused(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		_, err := b.informer.AddEventHandler(nil)
		assert.ErrorIs(t, err, cache.ErrNilHandler)
	})
}

func TestRemoveHandler(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		seen, other := &testkit.Journal{}, &testkit.Journal{}
		handle := b.handle(seen)
		b.handle(other)
		unstarted := b.handle(&testkit.Journal{})
		require.NoError(t, cache.ShutDownEventHandler(b.informer, unstarted), "before the start")
		b.start()
		b.source.Add(testkit.Pod("a", "1"))
		synctest.Wait()
		assert.True(t, b.informer.IsRegistered(handle))
		require.NoError(t, b.informer.RemoveEventHandler(handle))
		require.NoError(t, b.informer.RemoveEventHandler(handle), "removing twice does nothing")
		require.NoError(t, cache.ShutDownEventHandler(b.informer, handle))
		assert.False(t, b.informer.IsRegistered(handle))
		assert.Equal(t, 1, b.informer.EventHandlerCount())
		b.source.Add(testkit.Pod("b", "1"))
		synctest.Wait()
		assert.Equal(t, []string{"add a1"}, seen.Take())
		assert.Equal(t, []string{"add a1", "add b1"}, other.Take())

		assert.Error(t, b.informer.RemoveEventHandler(foreignHandle{}))
		assert.False(t, b.informer.IsRegistered(foreignHandle{}))
	})
}

type foreignHandle struct{}

func (foreignHandle) HasSynced() bool { return true }

func (foreignHandle) HasSyncedChecker() cache.DoneChecker { return nil }

func TestHandleOfAnotherInformerIsIgnored(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		seen := &testkit.Journal{}
		b.handle(seen)
		other := cache.NewSharedIndexInformer(b.source, nil, 0, nil)
		foreign, err := other.AddEventHandler(&testkit.Journal{})
		require.NoError(t, err)
		require.NoError(t, b.informer.RemoveEventHandler(foreign))
		assert.Equal(t, 1, b.informer.EventHandlerCount())
		assert.True(t, other.(ownInformer).IsRegistered(foreign))
	})
}

func TestHandlerMayAddAndRemoveHandlers(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		late, seen := &testkit.Journal{}, &testkit.Journal{}
		var self cache.ResourceEventHandlerRegistration
		seen.On = func(line string) {
			if line == "add a1" {
				b.handle(late)
				assert.NoError(t, b.informer.RemoveEventHandler(self))
			}
		}
		self = b.handle(seen)
		b.start()
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Add(testkit.Pod("b", "1"))
		synctest.Wait()
		b.source.Add(testkit.Pod("c", "1"))
		synctest.Wait()
		assert.Equal(t, []string{"add a1"}, seen.Take(), "removed in its first call")
		lines := late.Take()
		assert.Len(t, lines, 3)
		assert.Equal(t, "add c1", lines[2])
	})
}

func TestPanickingHandlerLosesOneCall(t *testing.T) {
	panics := testkit.QuietPanics(t)
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		bad, good := &testkit.Journal{}, &testkit.Journal{}
		bad.On = func(line string) {
			if line == "add b1" {
				panic("cannot take it")
			}
		}
		b.handle(bad)
		b.handle(good)
		b.start()
		for _, name := range []string{"a", "b", "c"} {
			b.source.Add(testkit.Pod(name, "1"))
		}
		synctest.Wait()
		assert.Equal(t, []string{"add a1", "add b1"}, bad.Take(), "a pause follows a panic")
		assert.Len(t, good.Take(), 3, "the other handler goes on")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"add c1"}, bad.Take())
		assert.Equal(t, 1, panics())
	})
}

func TestPanicInTheInitialListKeepsTheHandlerUnsynced(t *testing.T) {
	testkit.QuietPanics(t)
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		b.source.Add(testkit.Pod("a", "1"))
		registration := b.handle(&testkit.Journal{On: func(string) { panic("cannot take it") }})
		b.start()
		time.Sleep(2 * time.Second)
		assert.True(t, b.informer.HasSynced())
		assert.False(t, registration.HasSynced())
	})
}

func TestStopDuringThePauseAfterAPanic(t *testing.T) {
	testkit.QuietPanics(t)
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		handle := b.handle(&testkit.Journal{On: func(string) { panic("cannot take it") }})
		b.start()
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Add(testkit.Pod("b", "1"))
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, cache.ShutDownEventHandler(b.informer, handle))
		assert.Zero(t, time.Since(begin))
	})
}

func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		seen := &testkit.Journal{}
		seen.On = func(line string) {
			if line == "initial a1" || line == "initial b1" {
				runtime.Goexit()
			}
		}
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Add(testkit.Pod("b", "1"))
		handle := b.handle(seen)
		b.start()
		b.source.Add(testkit.Pod("c", "1"))
		synctest.Wait()
		lines := seen.Take()
		require.Len(t, lines, 3)
		assert.Equal(t, "add c1", lines[2])
		require.NoError(t, cache.ShutDownEventHandler(b.informer, handle))
	})
}

func TestResyncReachesWhoIsDue(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute}, func(b *bubble) {
		every, never, slow := &testkit.Journal{}, &testkit.Journal{}, &testkit.Journal{}
		b.addWithPeriod(every, time.Millisecond) // raised to a second
		b.addWithPeriod(never, 0)
		b.addWithPeriod(slow, 3*time.Second)
		b.source.Add(testkit.Pod("a", "1"))
		b.start()
		hasty := &testkit.Journal{}
		b.addWithPeriod(hasty, time.Millisecond)
		synctest.Wait()
		for _, j := range []*testkit.Journal{every, never, slow, hasty} {
			j.Take()
		}
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		again := "update a1 a1"
		assert.Equal(t, []string{again, again, again}, every.Take())
		assert.Equal(t, []string{again, again, again}, hasty.Take())
		assert.Equal(t, []string{again}, slow.Take())
		assert.Empty(t, never.Take())
	})
}

func (b *bubble) addWithPeriod(handler cache.ResourceEventHandler, period time.Duration) {
	_, err := b.informer.AddEventHandlerWithResyncPeriod(handler, period)
	require.NoError(b, err)
}

func TestSlowHandlerDelaysNobody(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		release := make(chan struct{})
		slow, quick := &testkit.Journal{On: func(string) { <-release }}, &testkit.Journal{}
		b.handle(slow)
		b.handle(quick)
		b.start()
		const n = 3000
		for range n / 2 {
			b.source.Add(testkit.Pod("a", "1"))
			b.source.Delete(testkit.Pod("a", "1"))
		}
		synctest.Wait()
		assert.Len(t, quick.Take(), n)
		assert.Len(t, slow.Take(), 1)
		close(release)
		synctest.Wait()
		assert.Len(t, slow.Take(), n-1)
	})
}
