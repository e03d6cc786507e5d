// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

func podOf(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "1"}}
}

func silentReport() *report { return newReport(Config{Out: io.Discard}) }

// violations are the rules that were violated.
func violations(r *report) []string {
	rules := []string{}
	for _, v := range r.end().Violations {
		rules = append(rules, v.Rule)
	}
	return rules
}

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
				h := newHandler(handlerKinds[0], "informer", nil, silentReport())
				h.registration = c.registration
				if c.lost {
					h.behaviour.Store(&behaviour{panicEvery: 1})
					assert.Panics(t, func() { h.OnAdd(podOf("a"), true) })
				} else {
					h.OnAdd(podOf("a"), true)
					h.behaviour.Store(&behaviour{panicEvery: 1})
					assert.Panics(t, func() { h.OnAdd(podOf("b"), false) }, "no call of the initial list")
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
					source := cachetest.New(podOf("a"), podOf("b"))
					h := newHandler(kind, "informer", nil, report)
					h.behaviour.Store(&behaviour{panicEvery: 2})
					informer := newInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
					var err error
					h.registration, err = informer.AddEventHandler(cache.Deliver(h, kind.delivery))
					require.NoError(t, err)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					var running sync.WaitGroup
					running.Go(func() { informer.RunWithContext(ctx) })
					h.awaitSynced(ctx)
					assert.NoError(t, ctx.Err(), "it is of no use to wait")
					cancel()
					running.Wait()
					assert.EqualValues(t, 1, h.panics.Load())
					assert.Empty(t, violations(report))
				})
			})
		}
	}
}
