// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestHandlerCatchesUpBetweenLooks: a handler that has read all after each change has caught up,
// even if it is in a call whenever the watcher looks.
func TestHandlerCatchesUpBetweenLooks(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		lines := &testkit.Logged{}
		logger := funcr.New(lines.Write, funcr.Options{})
		var lasts atomic.Int64
		lasts.Store(int64(11 * time.Second))
		slow := clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { time.Sleep(time.Duration(lasts.Load())) }}
		p.Add(newTestListener(t, p, slow, Options{Logger: &logger}), givenSnapshot(nil))
		distributeUpdate(p)
		time.Sleep(10500 * time.Millisecond)
		require.Len(t, lines.Take(), 1)
		lasts.Store(int64(1500 * time.Millisecond))
		time.Sleep(501 * time.Millisecond)
		for range 20 {
			distributeUpdate(p)
			time.Sleep(2 * time.Second)
		}
		assert.Equal(t, 1, lines.Count("has caught up"))
	})
}

// TestLastCallIsForgottenAfterARest: the duration of a call before a rest does not count as slow.
func TestLastCallIsForgottenAfterARest(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		slow := clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { time.Sleep(slowCall) }}
		listener := newTestListener(t, p, slow, Options{Parallel: 2})
		p.Add(listener, givenSnapshot(nil))
		distributeUpdate(p)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Zero(t, listener.Figures().Last)
	})
}

// TestLogFunctionEndsItsGoroutine: a log function that ends its goroutine, as FailNow of a test
// does, ends neither the delivery nor the watcher.
func TestLogFunctionEndsItsGoroutine(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		var lines, calls atomic.Int32
		logger := funcr.New(func(string, string) { lines.Add(1); runtime.Goexit() }, funcr.Options{})
		hold := make(chan struct{})
		add := func(on func()) {
			handler := clientgo.ResourceEventHandlerFuncs{AddFunc: func(any) { on() }}
			p.Add(newTestListener(t, p, handler, Options{Logger: &logger}), givenSnapshot([]any{testkit.Pod("a", "1"), testkit.Pod("b", "1")}))
		}
		add(func() {
			if calls.Add(1) == 1 {
				runtime.Goexit()
			}
		})
		synctest.Wait()
		require.EqualValues(t, 2, calls.Load())
		require.EqualValues(t, 1, lines.Load(), "the initial list is lost")
		for n := range int32(2) {
			add(func() { <-hold })
			time.Sleep(2 * lagWarning)
			require.Equal(t, 2+n, lines.Load())
		}
		close(hold)
	})
}

// TestLookBesideStop: a look without lines does not count as one that Stop waits for.
func TestLookBesideStop(t *testing.T) {
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		p := NewProcessor(neverSynced{}, clock.RealClock{})
		p.Add(newTestListener(t, p, nothing), givenSnapshot(nil))
		var over atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !over.Load() {
				p.watcher.look()
			}
		}()
		p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: "ns/a"}})
		p.Stop()
		over.Store(true)
		<-done
	}
}
