// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	framework "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
)

// claimed is a registration that says what it is told to.
type claimed struct {
	done   chan struct{} // nil: it has not synced
	reason error         // why it never will
}

func (c claimed) HasSynced() bool                     { return cache.IsDone(c) }
func (c claimed) HasSyncedChecker() cache.DoneChecker { return c }
func (c claimed) Name() string                        { return "claimed" }
func (c claimed) Done() <-chan struct{}               { return c.done }
func (c claimed) Stats() cache.HandlerStats {
	return cache.HandlerStats{SyncError: c.reason}
}

// foreign is one that has no statistics.
type foreign struct {
	cache.ResourceEventHandlerRegistration
}

// TestRegistrationSyncsUnlessItsInitialListPanicked: one that lost a call of its initial list must
// not have synced and must say why, any other must have.
func TestRegistrationSyncsUnlessItsInitialListPanicked(t *testing.T) {
	done, why := make(chan struct{}), errors.New("it panicked")
	close(done)
	for name, c := range map[string]struct {
		registration cache.ResourceEventHandlerRegistration
		lost, broken bool
	}{
		"synced":               {claimed{done: done}, false, false},
		"not synced":           {claimed{}, false, true},
		"lost, synced":         {claimed{done: done}, true, true},
		"lost, says why":       {claimed{reason: why}, true, false},
		"lost, says nothing":   {claimed{}, true, true},
		"lost, cannot say":     {foreign{claimed{}}, true, false},
		"foreign, synced":      {foreign{claimed{done: done}}, false, false},
		"foreign, lost synced": {foreign{claimed{done: done}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(handlerKinds[0], "informer", silentReport())
				h.registration = c.registration
				if c.lost {
					h.behaviour.Store(&behaviour{panicEvery: 1})
					assert.Panics(t, func() { h.OnAdd(podOf("a", "1", 1), true) })
				} else {
					h.OnAdd(podOf("a", "1", 1), true)
					h.behaviour.Store(&behaviour{panicEvery: 1})
					assert.Panics(t, func() { h.OnAdd(podOf("b", "2", 1), false) }, "no call of the initial list")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h.awaitSynced(ctx)
				if c.broken {
					assert.Equal(t, []string{"synced"}, violations(h.report))
				} else {
					assert.Empty(t, violations(h.report))
				}
			})
		})
	}
}

// TestPanicInAnInitialListIsNoViolation: whatever the kind of the handler and the library.
func TestPanicInAnInitialListIsNoViolation(t *testing.T) {
	for library, newInformer := range libraries {
		for _, kind := range handlerKinds {
			t.Run(library+" "+kind.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					report := silentReport()
					defer captureProcess(report)()
					source := framework.NewFakeControllerSource()
					source.Add(podOf("a", "1", 1))
					source.Add(podOf("b", "2", 1))
					h := newHandler(kind, "informer", report)
					h.behaviour.Store(&behaviour{panicEvery: 2})
					informer := newInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
					var err error
					h.registration, err = informer.AddEventHandler(kind.wrap(h))
					require.NoError(t, err)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					var running sync.WaitGroup
					running.Go(func() { informer.RunWithContext(ctx) })
					h.awaitSynced(ctx)
					assert.NoError(t, ctx.Err(), "it is of no use to wait")
					cancel()
					running.Wait()
					synctest.Wait() // for a watch that was about to be opened
					source.Shutdown()
					assert.EqualValues(t, 1, h.panics.Load())
					assert.Empty(t, violations(report))
				})
			})
		}
	}
}
