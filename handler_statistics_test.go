// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

func TestStatistics(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		var took time.Duration
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(line string) {
			if strings.HasPrefix(line, "add") {
				<-release
			}
			time.Sleep(took)
		}}
		handle := e.add(handler, cache.Delivery{Name: "counted"})
		idle := handle.Stats()
		assert.Equal(t, "counted", idle.Name)
		assert.Equal(t, cache.HandlerIdle, idle.State)
		assert.Equal(t, uint64(1), idle.Delivered)
		assert.Zero(t, idle.Pending)

		e.change("b", 1)
		e.change("c", 1)
		e.change("d", 1)
		time.Sleep(time.Second / 2)
		running := handle.Stats()
		assert.Equal(t, cache.HandlerRunning, running.State)
		assert.Equal(t, 3, running.Pending)
		assert.Equal(t, time.Second/2, running.Calling)
		assert.Equal(t, time.Second/2, running.Oldest)
		time.Sleep(time.Second / 2)
		assert.Equal(t, cache.HandlerStuck, handle.Stats().State)

		took = 20 * time.Millisecond
		close(release)
		time.Sleep(time.Minute)
		done := handle.Stats()
		assert.Equal(t, cache.HandlerIdle, done.State)
		assert.Equal(t, uint64(4), done.Delivered)
		assert.Equal(t, time.Second+3*took, done.Busy)
		assert.Equal(t, time.Second+took, done.Longest)
		assert.Equal(t, [7]uint64{0: 1, 3: 2, 5: 1}, done.Histogram)
		require.NoError(t, e.informer.RemoveEventHandler(handle))
		assert.Equal(t, cache.HandlerRemoved, handle.Stats().State)
	})
}

func TestStatisticsOfSeveralGoroutines(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		release := make(chan struct{})
		handle := e.add(&testkit.Journal{On: func(string) { <-release }}, cache.Delivery{Parallel: 8, Overflow: cache.OverflowCoalesce})
		for _, name := range []string{"b", "c", "d", "e"} {
			e.change(name, 2)
		}
		time.Sleep(time.Second)
		statistics := handle.Stats()
		assert.GreaterOrEqual(t, statistics.Pending, 5)
		assert.Equal(t, time.Second, statistics.Calling)
		close(release)
		synctest.Wait()
		statistics = handle.Stats()
		assert.Equal(t, uint64(9), statistics.Delivered+statistics.Coalesced)
		assert.Equal(t, cache.HandlerIdle, statistics.State)
	})
}

func TestHandlerStateNames(t *testing.T) {
	for state, name := range map[cache.HandlerState]string{
		cache.HandlerIdle: "idle", cache.HandlerRunning: "running", cache.HandlerStuck: "stuck",
		cache.HandlerDisconnected: "disconnected", cache.HandlerRemoved: "removed", 99: "unknown",
	} {
		assert.Equal(t, name, state.String())
	}
}

func TestSlowHandlerIsLoggedOnce(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		var lines testkit.Logged
		logger := funcr.New(lines.Write, funcr.Options{})
		handler := &testkit.Journal{On: func(line string) { time.Sleep(200 * time.Millisecond) }}
		handle, err := e.informer.AddEventHandlerWithOptions(cache.Deliver(handler, cache.Delivery{Name: "sloth"}), cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		for range 2 {
			e.change("b", 900)
			time.Sleep(100 * time.Millisecond)
			e.change("b", 900)
			time.Sleep(time.Hour)
			require.Equal(t, cache.HandlerIdle, handle.(cache.MeasuredRegistration).Stats().State)
			said := lines.Take()
			require.Len(t, said, 2, "once until it has caught up, and then")
			assert.Contains(t, said[0], `falls behind; this is logged once until it has caught up" "handler"="sloth" "informer"="SharedIndexInformer *v1.Pod"`)
			assert.Regexp(t, `"call"="200ms" "pendingNotifications"=(1800|1799) "oldest"="200ms"$`, said[0])
			assert.Regexp(t, `has caught up" "handler"="sloth" "informer"="SharedIndexInformer \*v1.Pod" "after"="(6m0s|5m59.8s)"$`, said[1])
		}
	})
}

func TestStuckHandlerIsLoggedOnce(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		var lines testkit.Logged
		logger := funcr.New(lines.Write, funcr.Options{})
		handler, release := stuck("b")
		_, err := e.informer.AddEventHandlerWithOptions(cache.Deliver(handler, cache.Delivery{Name: "stone"}), cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		for range 10 {
			e.change("b", 400)
			time.Sleep(time.Minute)
		}
		said := lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], `does not return from a call; this is logged once until it has caught up" "handler"="stone"`)
		assert.Regexp(t, `"call"="1m0s" "pendingNotifications"=[4-8]\d\d "oldest"="1m0s"$`, said[0])
		close(release)
		synctest.Wait()
		said = lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], `has caught up" "handler"="stone"`)
	})
}
