// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
)

// Inject sends events on every open stream, after all earlier writes and before all later ones. They
// are not written to the state or replayed by watches, and no selector excludes them. Objects are
// delivered unchanged (copied, unless Options.Share is set), also if nil.
func (s *Source) Inject(events ...watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.appendLocked(entry{kind: injected, event: event})
	}
}

// Resend sends the events of the writes with these resourceVersions again: a duplicate if the write is
// the last one of its object, otherwise an old version, and a decreasing resourceVersion. It panics if
// a write is not in the log.
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

// Bookmark sends a bookmark with the current counter on every open stream that requested bookmarks,
// after all earlier writes.
func (s *Source) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.example != nil {
		s.appendLocked(entry{kind: bookmark})
	}
}

// Cut ends every open stream after all earlier writes, like a server whose watch times out: clients
// lose nothing. A stream counts as open (Watching) until it has reached its end.
func (s *Source) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appendLocked(entry{kind: cut})
}

// Break ends every open stream at once, like a broken connection: events that were not delivered yet
// are lost.
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
	s.mu.changed.notify()
}

// Lose withholds all writes until end is called from all streams, including those that are opened
// later, like a fault in a server's watch cache. Lists include the writes, watches never do, and
// bookmarks skip them. Overlapping losses last until all have ended. Settle waits until handlers have
// received the lost writes by a list.
func (s *Source) Lose() (end func()) {
	return s.count(&s.mu.losing)
}

// Stall withholds the events of all streams, including those that are opened later, until release is
// called. An event that is already waiting for its reader may still be delivered. Overlapping stalls
// last until all are released.
func (s *Source) Stall() (release func()) {
	return s.count(&s.mu.stalls)
}
