// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// addLoud adds a handler whose log is kept.
func (e *exact) addLoud(handler cache.ResourceEventHandler, delivery cache.Delivery) (ownRegistration, *testkit.Logged) {
	lines := &testkit.Logged{}
	logger := funcr.New(lines.Write, funcr.Options{})
	handle, err := e.informer.AddEventHandlerWithOptions(cache.Deliver(handler, delivery), cache.HandlerOptions{Logger: &logger})
	require.NoError(e, err)
	synctest.Wait()
	return handle.(ownRegistration), lines
}

const (
	isStuck     = "does not return from a call"
	fallsBehind = "is slow and falls behind"
	caughtUp    = "The event handler has caught up"
)

// TestStuckHandlerWithoutBacklog: that nothing much waits for it is no reason to keep silent. What
// comes next, a bookmark at the latest, brings it to light.
func TestStuckHandlerWithoutBacklog(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		handle, lines := e.addLoud(handler, cache.Delivery{Name: "stone"})
		e.change("b", 1)
		time.Sleep(9 * time.Second)
		e.source.Bookmark()
		synctest.Wait()
		assert.Empty(t, lines.Take(), "many calls take some seconds")
		time.Sleep(3 * time.Second)
		e.source.Bookmark()
		synctest.Wait()
		said := lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], isStuck)
		assert.Contains(t, said[0], `"call"="12s" "pendingNotifications"=1 "oldest"="12s"`)
		time.Sleep(time.Hour)
		e.change("c", 1)
		assert.Empty(t, lines.Take(), "once")
		close(release)
		synctest.Wait()
		said = lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], caughtUp)
		assert.Contains(t, said[0], `"after"="1h0m0s"`)
		assert.Zero(t, handle.Stats().Pending)
	})
}

// TestLaggingHandler: calls that are too quick to be worth a line add up.
func TestLaggingHandler(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler := &testkit.Journal{On: func(string) { time.Sleep(50 * time.Millisecond) }}
		_, lines := e.addLoud(handler, cache.Delivery{Name: "tortoise"})
		e.change("b", 900)
		for range 60 {
			time.Sleep(time.Second)
			e.change("c", 1)
		}
		said := lines.Take()
		require.Len(t, said, 2)
		assert.Contains(t, said[0], fallsBehind)
		assert.Regexp(t, `"oldest"="1\d[.\d]*s"$`, said[0])
		assert.Contains(t, said[1], caughtUp)
	})
}

// TestLagLinesAreFew: a handler that lags again and again says so once a minute at most, and always
// that it has caught up if it had said that it lags.
func TestLagLinesAreFew(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler := &testkit.Journal{On: func(line string) {
			if line != "initial a1" {
				time.Sleep(11 * time.Second)
			}
		}}
		_, lines := e.addLoud(handler, cache.Delivery{})
		for i := range 60 { // a call of 11 s each 20 s
			e.change(fmt.Sprint("b", i), 1)
			time.Sleep(10500 * time.Millisecond)
			e.source.Bookmark()
			time.Sleep(9500 * time.Millisecond)
		}
		assert.Equal(t, 20, lines.Count(isStuck), "in 20 minutes")
		assert.Equal(t, 20, lines.Count(caughtUp))
		assert.Len(t, lines.Take(), 40)
	})
}

// TestLagLineOfSeveralGoroutines is one for all of them, and so is that of the last that has caught
// up.
func TestLagLineOfSeveralGoroutines(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		release := make(chan struct{}, 100)
		handler := &testkit.Journal{On: func(line string) {
			if line != "initial a1" {
				<-release
			}
		}}
		handle, lines := e.addLoud(handler, cache.Delivery{Parallel: 4})
		for i := range 30 {
			e.change(fmt.Sprint("b", i), 1)
		}
		time.Sleep(time.Minute)
		e.source.Bookmark()
		synctest.Wait()
		require.Len(t, lines.Take(), 1)
		for range 29 {
			release <- struct{}{}
			synctest.Wait()
			require.Empty(t, lines.Take(), "some of it still lags")
		}
		release <- struct{}{}
		synctest.Wait()
		assert.Zero(t, handle.Stats().Pending)
		said := lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], caughtUp)
	})
}

// TestStuckHandlerThatHoldsTheWatch: nothing comes then with which it could be noticed.
func TestStuckHandlerThatHoldsTheWatch(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		_, lines := e.addLoud(handler, cache.Delivery{Name: "stone", Overflow: cache.OverflowBlock, Max: 2})
		for round := range 3 {
			e.change(fmt.Sprint("b", round), 10)
			time.Sleep(16 * time.Second)
			if round == 0 {
				said := lines.Take()
				require.Len(t, said, 1)
				assert.Contains(t, said[0], isStuck)
				assert.Contains(t, said[0], `"call"="10s" "pendingNotifications"=2 "oldest"="10s"`)
				close(release)
				synctest.Wait()
				require.Len(t, lines.Take(), 1)
			}
		}
		time.Sleep(time.Hour)
		assert.Empty(t, lines.Take())
	})
}

// TestRemovedHandlerSaysNothing more, however it had lagged.
func TestRemovedHandlerSaysNothing(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		handler, release := stuck("b")
		handle, lines := e.addLoud(handler, cache.Delivery{})
		e.change("b", 5)
		time.Sleep(time.Minute)
		e.source.Bookmark()
		synctest.Wait()
		require.Len(t, lines.Take(), 1)
		require.NoError(t, e.informer.RemoveEventHandler(handle))
		close(release)
		<-handle.ShutdownChan()
		assert.Empty(t, lines.Take())
	})
}

// TestLagLinesOfManyHandlers do not come all at once.
func TestLagLinesOfManyHandlers(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		release := make(chan struct{})
		var all []*testkit.Logged
		for range 20 {
			_, lines := e.addLoud(&testkit.Journal{On: func(string) { <-release }}, cache.Delivery{})
			all = append(all, lines)
		}
		time.Sleep(12 * time.Second)
		for _, want := range []int{8, 16, 20, 20} {
			e.source.Bookmark()
			synctest.Wait()
			e.source.Bookmark() // too early to look again
			synctest.Wait()
			said := 0
			for _, lines := range all {
				said += lines.Count(isStuck)
			}
			assert.Equal(t, want, said)
			time.Sleep(time.Second)
		}
		close(release)
		synctest.Wait()
		for _, lines := range all {
			assert.Equal(t, 1, lines.Count(caughtUp))
		}
	})
}
