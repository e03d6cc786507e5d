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
