// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/testkit"
)

// TestHandlerThatLosesACallOfItsInitialList: its registration never counts as synced, as in
// client-go, and the log, its statistics and WaitForSync say so, which handler it is, and why.
func TestHandlerThatLosesACallOfItsInitialList(t *testing.T) {
	testkit.QuietPanics(t)
	for how, lose := range map[string]func(){"panicked": func() { panic("cannot take it") }, "ended its goroutine": runtime.Goexit} {
		for _, delivery := range []cache.Delivery{{}, {Parallel: 2}, {Overflow: cache.OverflowBlock, Max: 100}, {Overflow: cache.OverflowCoalesce}, {Overflow: cache.OverflowDisconnect}} {
			t.Run(fmt.Sprint(how, delivery.Overflow, delivery.Parallel), func(t *testing.T) {
				delivery.Name = "clumsy"
				loseOneCall(t, delivery, how, lose)
			})
		}
	}
}

func loseOneCall(t *testing.T, delivery cache.Delivery, how string, lose func()) {
	inExactBubble(t, func(e *exact) {
		e.change("b", 1)
		var lines testkit.Logged
		logger := funcr.New(lines.Write, funcr.Options{})
		lost := 0
		handler := &testkit.Journal{On: func(line string) {
			if line == "initial a1" {
				lost++
				lose()
			}
		}}
		registration, err := e.informer.AddEventHandlerWithOptions(cache.Deliver(handler, delivery), cache.HandlerOptions{Logger: &logger})
		require.NoError(e, err)
		began := time.Now()
		err = cache.WaitForSync(e.Context(), e.informer, registration)
		assert.Zero(e, time.Since(began), "it is of no use to wait")
		time.Sleep(time.Minute)
		e.change("c", 1)
		want := "OnAdd of ns/a, which belongs to its initial list, " + how
		assert.ErrorIs(e, err, cache.ErrNeverSyncs)
		assert.ErrorContains(e, err, "+ event handler clumsy has not synced, and never will: "+want)

		statistics := registration.(cache.MeasuredRegistration).Stats()
		assert.EqualError(e, statistics.SyncError, want)
		assert.Equal(e, uint64(3), statistics.Delivered)
		assert.False(e, registration.HasSynced())
		assert.Equal(e, []string{fmt.Sprintf(`"msg"="An event handler will never count as synced" "error"=%q "handler"="clumsy"`, want)}, lines.Take())
		assert.Equal(e, 1, lost)
		require.NoError(e, e.informer.RemoveEventHandler(registration))
		assert.EqualError(e, registration.(cache.MeasuredRegistration).Stats().SyncError, want, "the first reason stays")
	})
}

// TestOneLineForAHandlerThatFailsAllOfItsInitialList: however often, it has failed only once.
func TestOneLineForAHandlerThatFailsAllOfItsInitialList(t *testing.T) {
	testkit.QuietPanics(t)
	inExactBubble(t, func(e *exact) {
		e.change("b", 1)
		var lines testkit.Logged
		logger := funcr.New(lines.Write, funcr.Options{})
		handler := &testkit.Journal{On: func(string) { panic("cannot take it") }}
		_, err := e.informer.AddEventHandlerWithOptions(handler, cache.HandlerOptions{Logger: &logger})
		require.NoError(e, err)
		time.Sleep(time.Minute)
		assert.Len(e, handler.Take(), 2)
		assert.Len(e, lines.Take(), 1)
	})
}

// TestHandlerThatWasRemovedBeforeItSynced: nothing of that is worth a line in the log.
func TestHandlerThatWasRemovedBeforeItSynced(t *testing.T) {
	for name, end := range map[string]func(e *exact, r cache.ResourceEventHandlerRegistration){
		"removed": func(e *exact, r cache.ResourceEventHandlerRegistration) {
			require.NoError(e, e.informer.RemoveEventHandler(r))
		},
		"informer stopped": func(e *exact, _ cache.ResourceEventHandlerRegistration) { e.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			inExactBubble(t, func(e *exact) {
				release := make(chan struct{})
				synced := e.add(&testkit.Journal{}, cache.Delivery{})
				registration := e.add(&testkit.Journal{On: func(string) { <-release }}, cache.Delivery{Name: "slow"})
				assert.NoError(e, registration.Stats().SyncError)
				result := make(chan error, 1)
				go func() { result <- cache.WaitForSync(e.Context(), registration) }()
				synctest.Wait()
				end(e, registration)
				synctest.Wait()
				err := <-result
				assert.ErrorIs(e, err, cache.ErrNeverSyncs)
				assert.ErrorIs(e, err, fanout.ErrRemovedUnsynced)
				assert.ErrorIs(e, registration.Stats().SyncError, fanout.ErrRemovedUnsynced)
				close(release)
				assert.ErrorIs(e, cache.WaitForSync(e.Context(), registration), fanout.ErrRemovedUnsynced, "also of one that is gone already")
				end(e, synced)
				<-synced.ShutdownChan()
				assert.NoError(e, synced.Stats().SyncError)
				assert.NoError(e, cache.WaitForSync(e.Context(), synced))
			})
		})
	}
}

// TestWaitForSyncOfRegistrations: it waits for handlers, and says what they do when it waits no
// longer.
func TestWaitForSyncOfRegistrations(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		slow := e.addNow(&testkit.Journal{On: func(string) { time.Sleep(10 * time.Second) }}, cache.Delivery{Name: "slow"})
		asleep := cache.NewSharedIndexInformer(e.source, &corev1.Pod{}, 0, nil)
		never, err := asleep.AddEventHandler(cache.Deliver(&testkit.Journal{}, cache.Delivery{Name: "never"}))
		require.NoError(e, err)
		foreign := foreignRegistration{}

		errLate := errors.New("it is late")
		ctx, cancel := context.WithTimeoutCause(e.Context(), 3*time.Second, errLate)
		defer cancel()
		err = cache.WaitForSync(ctx, e.informer, slow, never, foreign)
		require.ErrorIs(e, err, errLate)
		assert.EqualError(e, err, "it is late\n"+
			"SharedIndexInformer *v1.Pod + event handler slow has not synced (stuck, 1 calls outstanding, in one for 3s)\n"+
			"SharedIndexInformer *v1.Pod + event handler never has not synced (it waits for the informer)\n"+
			"foreign has not synced")
		require.NoError(e, cache.WaitForSync(e.Context(), slow, e.informer))
		assert.True(e, slow.HasSynced())
	})
}

type foreignRegistration struct{}

func (foreignRegistration) HasSynced() bool { return false }

func (foreignRegistration) HasSyncedChecker() cache.DoneChecker { return foreignRegistration{} }

func (foreignRegistration) Name() string { return "foreign" }

func (foreignRegistration) Done() <-chan struct{} { return nil }
