// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Inject sends events on every open stream, after all that was written before
// and ahead of all that is written later. They are not in the log: no watch
// replays them, no selector keeps them out, and the state does not change.
// Objects are delivered as they are (copied, unless Options.Share), nil included.
func (s *Source) Inject(events ...watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.appendLocked(entry{kind: injected, event: event})
	}
}

// Resend sends the events again that the writes with these resourceVersions
// caused: a duplicate if it is the last one of its object, an old version and
// a resourceVersion that goes backwards if not. It panics if a write is not in
// the log.
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

// Cut ends every open stream after all that was written before, as a server
// does when a watch times out: the clients lose nothing. A stream counts as
// open (Watching) until it has come to its end.
func (s *Source) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appendLocked(entry{kind: cut})
}

// Break ends every open stream at once, as a broken connection does: what was
// not delivered yet is lost with it.
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

// Lose has no stream, also none that opens later, deliver what is written until
// end is called, as a server with a fault of its watch cache does: who lists
// finds it, who watches never hears of it, and bookmarks say that there was
// nothing. Overlapping losses last until all have ended. Settle waits for what
// was lost, until it is heard of by a list.
func (s *Source) Lose() (end func()) {
	s.lose(1)
	return sync.OnceFunc(func() { s.lose(-1) })
}

func (s *Source) lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.losing += n
}

// Stall holds the events of all streams, those that open later included, until
// release is called. An event that waits for its reader already may still be
// delivered. Overlapping stalls last until all are released.
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

// SetEventDelay sets the time that passes before each event is delivered, from
// the next event on. See Options.EventDelay.
func (s *Source) SetEventDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.delay = d
}
