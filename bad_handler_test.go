// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// misbehaviour is what a handler does in each call, given its own handle once that is known.
type misbehaviour func(e *exact, self func() ownRegistration)

var misbehaviours = map[string]misbehaviour{
	"panics":             func(*exact, func() ownRegistration) { panic("cannot take it") },
	"panics with nil":    func(*exact, func() ownRegistration) { panic(nil) },
	"ends its goroutine": func(*exact, func() ownRegistration) { runtime.Goexit() },
	"removes itself":     func(e *exact, self func() ownRegistration) { _ = e.informer.RemoveEventHandler(self()) },
	"adds another": func(e *exact, _ func() ownRegistration) {
		e.addNow(cache.ResourceEventHandlerFuncs{}, cache.Delivery{})
	},
	"waits for its removal": func(e *exact, self func() ownRegistration) {
		for e.informer.IsRegistered(self()) {
			time.Sleep(time.Second)
		}
	},
	"waits for the informer": func(e *exact, _ func() ownRegistration) { time.Sleep(time.Hour) },
	"reads the informer":     readEverything,
	"removes itself and ends": func(e *exact, self func() ownRegistration) {
		_ = e.informer.RemoveEventHandler(self())
		runtime.Goexit()
	},
}

func readEverything(e *exact, self func() ownRegistration) {
	e.informer.GetStore().List()
	e.informer.HasSynced()
	e.informer.LastSyncResourceVersion()
	e.informer.EventHandlerCount()
	e.informer.IsRegistered(self())
	_ = e.informer.AddIndexers(cache.Indexers{fmt.Sprint(self().Stats().Delivered): cache.MetaNamespaceIndexFunc})
	self().HasSynced()
}

func TestBadHandlersHarmNobody(t *testing.T) {
	testkit.QuietPanics(t)
	for name, behave := range misbehaviours {
		for _, delivery := range []cache.Delivery{{}, {Parallel: 3}, {Overflow: cache.OverflowBlock, Max: 2}, {Overflow: cache.OverflowCoalesce}, {Overflow: cache.OverflowDisconnect, Max: 2}} {
			t.Run(fmt.Sprintf("%s, %d, %d", name, delivery.Overflow, delivery.Parallel), func(t *testing.T) {
				inExactBubble(t, func(e *exact) {
					good := testkit.NewMirror()
					e.addNow(good, cache.Delivery{})
					known := make(chan struct{})
					var handle ownRegistration
					self := func() ownRegistration { <-known; return handle }
					handle = e.addNow(&testkit.Journal{On: func(string) { behave(e, self) }}, delivery)
					close(known)
					for _, name := range []string{"b", "c", "d"} {
						e.change(name, 5)
					}
					if delivery.Overflow != cache.OverflowBlock {
						state, problems, _ := good.State()
						assert.Equal(t, e.source.State(), state)
						assert.Empty(t, problems)
					}
					begin := time.Now()
					require.NoError(t, e.informer.RemoveEventHandler(handle))
					<-handle.ShutdownChan()
					assert.LessOrEqual(t, time.Since(begin), time.Hour, "at most the running call")
					synctest.Wait()
					state, problems, _ := good.State()
					assert.Equal(t, e.source.State(), state)
					assert.Empty(t, problems)
				})
			})
		}
	}
}

func TestPanickingHandlerHearsTheRest(t *testing.T) {
	for _, delivery := range []cache.Delivery{{}, {Parallel: 2}, {Overflow: cache.OverflowBlock, Max: 100}, {Overflow: cache.OverflowCoalesce}} {
		t.Run(fmt.Sprint(delivery.Overflow, delivery.Parallel), func(t *testing.T) {
			panics := testkit.QuietPanics(t)
			inExactBubble(t, func(e *exact) {
				handler := &testkit.Journal{On: func(line string) {
					if line == "add c1" {
						panic("cannot take it")
					}
				}}
				handle := e.add(handler, delivery)
				for _, name := range []string{"b", "c", "d", "e"} {
					e.source.Put(testkit.Pod(name, "1"))
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				assert.ElementsMatch(t, []string{"initial a1", "add b1", "add c1", "add d1", "add e1"}, handler.Take())
				assert.Equal(t, 1, panics())
				assert.Equal(t, uint64(5), handle.Stats().Delivered)
				assert.True(t, handle.HasSynced())
			})
		})
	}
}
