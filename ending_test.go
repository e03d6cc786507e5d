// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestStoppedSince: the age of the phase of an informer that its policy stopped is the time since
// then.
func TestStoppedSince(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Minute)
			return nil, testkit.ErrForbidden
		}}
		informer := informerOf(server, cache.WithErrorPolicy(cache.StopOnForbidden))
		informer.RunWithContext(t.Context())
		time.Sleep(time.Second)
		s := statusOf(t, informer)
		assert.Equal(t, cache.PhaseStopped, s.Phase)
		assert.Equal(t, time.Second, s.PhaseAge)
	})
}

// TestSyncedAfterThePolicyStopped: who waits for an informer that its policy stops while its first
// list is on the way into the store is not told that it ended before it had synced.
func TestSyncedAfterThePolicyStopped(t *testing.T) {
	testkit.Reports(t)
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches(testkit.ErrForbidden)}
			informer := informerOf(server, cache.WithErrorPolicy(func(context.Context, error, int) cache.ErrorDecision {
				return cache.ErrorDecision{StopEvenIfSynced: true}
			}))
			require.NoError(t, informer.AddIndexers(cache.Indexers{"slow": func(any) ([]string, error) { time.Sleep(10 * time.Second); return nil, nil }}))
			go informer.RunWithContext(t.Context())
			err := cache.WaitForSync(t.Context(), informer)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Len(t, informer.GetStore().List(), 1)
			assert.True(t, informer.HasSynced())
			assert.NoError(t, err)
		})
	}
}

// panickingWatch is a watch with methods that panic.
type panickingWatch struct {
	watch.Interface
	inStop, inChan bool
}

func (u *panickingWatch) Stop() {
	if u.inStop {
		panic("in Stop")
	}
	u.Interface.Stop()
}

func (u *panickingWatch) ResultChan() <-chan watch.Event {
	if u.inChan {
		panic("in ResultChan")
	}
	return u.Interface.ResultChan()
}

// TestWatchThatPanics: a process that is told to survive panics survives those of a watch, too, and
// the informer goes on.
func TestWatchThatPanics(t *testing.T) {
	for name, tc := range map[string]struct{ inStop, inChan bool }{"stop": {true, false}, "channel": {false, true}} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			utilruntime.ReallyCrash = false
			defer func() { utilruntime.ReallyCrash = true }()
			synctest.Test(t, func(t *testing.T) {
				first := testkit.NewScriptedWatch(1)
				first.Events <- testkit.FailedWith(testkit.ErrExpired)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(&panickingWatch{first, tc.inStop, tc.inChan})}
				informer := informerOf(server)
				stop := running(t, informer)
				time.Sleep(time.Minute)
				s := statusOf(t, informer)
				assert.Equal(t, cache.PhaseWatching, s.Phase)
				assert.ErrorContains(t, s.LastError, "in ")
				stop()
			})
		})
	}
}

// TestLateWatchThatPanics is given up before it is there.
func TestLateWatchThatPanics(t *testing.T) {
	reported := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
		server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(time.Hour)
			return &panickingWatch{testkit.NewScriptedWatch(0), true, false}, nil
		}
		stop := running(t, informerOf(server))
		time.Sleep(time.Second)
		stop()
		time.Sleep(2 * time.Hour)
	})
	assert.Len(t, reported(), 1)
}
