// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

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
// room while the reflector was busy.
func TestRoomDuringAResync(t *testing.T) {
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
		time.Sleep(time.Hour + bookmarkLimit - time.Second)
		synctest.Wait()
		assert.Empty(t, report.Status().Hangs)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "the watch", report.Status().Hangs)
	})
}
