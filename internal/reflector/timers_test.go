// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinformer/cache/internal/testkit"
)

func resyncs(store *testkit.StoreLog) (count int) {
	for _, entry := range store.Entries() {
		if entry == "resync" {
			count++
		}
	}
	return count
}

// TestResyncBetweenEvents: a resync runs between events, and also while the reflector backs off
// from a watch and across the end of a watch.
func TestResyncBetweenEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := testkit.NewScriptedWatch(0), &testkit.StoreLog{}
		backoff := testkit.Second()
		backoff.Duration = 30 * time.Second
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w, testkit.ErrRefused)}
		defer testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(store), ResyncPeriod: 10 * time.Second, Backoff: backoff}).Run)()
		time.Sleep(5 * time.Second)
		w.Events <- testkit.Added("a", "6")
		time.Sleep(10 * time.Second)
		w.Events <- testkit.Added("b", "7")
		close(w.Events) // the next watch gets no connection
		time.Sleep(18 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"replace 5:", "add a@6", "resync", "add b@7", "resync", "resync"}, store.Entries())
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "watch rv=7"}, server.Requests())
	})
}

// TestResyncOnlyWhileWatching: the period starts when the state is in the store, and starts again
// in each round.
func TestResyncOnlyWhileWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &testkit.StoreLog{}
		server := newDeafServer(25*time.Second, 0, testkit.ErrForbidden).streamless()
		stop := testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(store), ResyncPeriod: 10 * time.Second, Backoff: testkit.Second()}).Run)
		time.Sleep(52 * time.Second) // a list up to 25 s, refused, and a list from 26 s to 51 s
		synctest.Wait()
		assert.Zero(t, resyncs(store))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, resyncs(store))
		stop()
	})
}

// TestResyncByTheClock: the period uses the reflector's clock.
func TestResyncByTheClock(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	var asked atomic.Int32
	store := &testkit.StoreLog{}
	r := New(Options{
		ListerWatcher: &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()},
		Sink:          Foreign(store), Clock: clock, ResyncPeriod: time.Hour,
		ShouldResync: func() bool { return asked.Add(1) == 2 },
	})
	defer testkit.InBackground(t, r.Run)()
	for range 2 {
		require.Eventually(t, clock.HasWaiters, testkit.Patience, time.Millisecond)
		clock.Step(time.Hour)
	}
	require.Eventually(t, func() bool { return slices.Contains(store.Entries(), "resync") }, testkit.Patience, time.Millisecond)
	assert.EqualValues(t, 2, asked.Load())
}

// TestIdleTimeoutNotForPauses: the time in which the reflector waits for its store does not count
// as silence of the server.
func TestIdleTimeoutNotForPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w)}
		store := &testkit.StoreLog{Fail: func(entry string) error {
			if entry == "add b@9" {
				time.Sleep(time.Hour)
			}
			return nil
		}}
		r := New(Options{ListerWatcher: server, Sink: Foreign(store), IdleTimeout: 4 * time.Minute})
		stop := testkit.InBackground(t, r.Run)
		w.Events <- testkit.Bookmark("8")
		w.Events <- testkit.Added("b", "9") // the store takes an hour for it
		time.Sleep(time.Hour + time.Minute)
		w.Events <- testkit.Added("c", "10")
		time.Sleep(3 * time.Minute)
		stop()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, server.Requests())
	})
}
