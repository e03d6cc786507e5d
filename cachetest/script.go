// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// Inject sends events on every open stream, after everything written before and before everything
// written later. They are not in the log: no watch replays them, no selector leaves them out, and
// the state does not change. Objects are delivered as they are (copied, unless Options.Share), also
// nil.
func (s *Source) Inject(events ...watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.appendLocked(entry{kind: injected, event: event})
	}
}

// Resend sends the events of the writes with these resourceVersions once more: a duplicate if the
// write is the last one of its object, otherwise an old version, and a resourceVersion that goes
// backwards. It panics if a write is not in the log.
func (s *Source) Resend(rvs ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rv := range rvs {
		e := s.mu.log.changeAt(rv)
		if e == nil {
			panic(fmt.Errorf("cachetest: no write with resourceVersion %d in the log", rv))
		}
		s.appendLocked(entry{kind: injected, event: e.event, key: e.key, prev: e.prev})
	}
}

// Bookmark sends a bookmark with the current counter on every open stream that
// asked for bookmarks, after all that was written before.
func (s *Source) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.example != nil {
		s.appendLocked(entry{kind: bookmark})
	}
}

// Cut ends every open stream after everything written before, like a server whose watch times out:
// clients lose nothing. A stream counts as open (Watching) until it has come to its end.
func (s *Source) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appendLocked(entry{kind: cut})
}

// Break ends every open stream at once, like a broken connection: what was not delivered yet is
// lost.
func (s *Source) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakLocked()
}

func (s *Source) breakLocked() {
	for w := range s.mu.streams {
		w.cancel()
	}
	clear(s.mu.streams)
	s.notifyLocked()
}

// Lose keeps what is written until end is called from all streams, also from those that open later,
// like a fault in a server's watch cache. A client that lists finds it, a client that watches never
// hears of it, and bookmarks say that there was nothing. Overlapping losses last until all have
// ended. Settle waits until a list has told handlers of what was lost.
func (s *Source) Lose() (end func()) {
	s.lose(1)
	return sync.OnceFunc(func() { s.lose(-1) })
}

func (s *Source) lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.losing += n
}

// Stall holds back the events of all streams, including those that open later, until release is
// called. An event that already waits for its reader may still be delivered. Overlapping stalls
// last until all are released.
func (s *Source) Stall() (release func()) {
	s.stall(1)
	return sync.OnceFunc(func() { s.stall(-1) })
}

func (s *Source) stall(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.stalls += n
	s.notifyLocked()
}
