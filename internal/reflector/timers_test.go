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
	"k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinformer/cache/internal/event"
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

// narrowSink is a sink that has no room from the second Put of a watch until its Resync.
type narrowSink struct {
	Sink
	puts  int
	freed chan struct{}
}

func (s *narrowSink) Put(changes []event.Record) []event.Refused {
	if s.puts++; s.puts == 2 {
		s.freed = make(chan struct{})
	}
	return s.Sink.Put(changes)
}

func (s *narrowSink) Room() (int, <-chan struct{}) {
	if s.freed != nil {
		return 0, s.freed
	}
	return event.BatchLimit, nil
}

func (s *narrowSink) Resync() error {
	close(s.freed)
	s.freed = nil
	return s.Sink.Resync()
}

// TestRoomDuringAResync: events of a watch are due again once the sink has room, even if it got
// room while the reflector was busy, and the log says so if none come, even if the pause was longer than that takes.
func TestRoomDuringAResync(t *testing.T) {
	log := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		w, report := testkit.NewScriptedWatch(8), NewJournal()
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w)}
		r := New(Options{
			ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: &narrowSink{Sink: Foreign(&testkit.StoreLog{})},
			ResyncPeriod: time.Hour, Journal: report,
		})
		defer testkit.InBackground(t, r.Run)()
		synctest.Wait()
		w.Events <- testkit.Bookmark("6")
		synctest.Wait()
		w.Events <- testkit.Added("a", "7")
		time.Sleep(time.Hour + leastWatchTimeout + outlives - time.Second)
		synctest.Wait()
		assert.Empty(t, report.Status().Hangs)
		time.Sleep(leastWatchTimeout + time.Second)
		synctest.Wait()
		assert.Equal(t, "the watch", report.Status().Hangs)
		assert.Len(t, testkit.About("A request hangs", log.Take()), 1)
	})
}
