// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"sync"
	"time"
)

const (
	// hangLimit is how long a list may bring no byte, and a watch may take to open: kube-apiserver
	// itself ends a list after a minute, and answers a watch at once.
	hangLimit = time.Minute
	// unseenLimit is how long a page of a list may take whose bytes nobody sees: long enough for
	// one that arrives, however slowly.
	unseenLimit = 5 * time.Minute
	// bookmarkLimit is how long a watch may bring nothing, if bookmarks have come before: servers
	// send one each minute.
	bookmarkLimit = 5 * time.Minute

	// hangPace is the time between two lines about what hangs, for the whole process: a server that
	// does not answer does so for all reflectors.
	hangPace = time.Second
)

// awaited is what a server has to send next. It hangs if it should have come by now.
type awaited struct {
	what  string        // it belongs to, in words
	since time.Time     // the last sign of life
	limit time.Duration // of the time since then
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// hangLines gives the reflectors of a process their turns to write lines about what hangs. What is
// not written is counted by a later line.
type hangLines struct {
	mu struct {
		sync.Mutex
		last    time.Time // when a line was written
		asked   uint64    // tickets
		settled uint64    // up to this ticket lines were written or counted
	}
}

// turn returns after what time to come again with the ticket of a line, which it fills in at first,
// or 0; then, whether the line is to be written now, or was written or counted before; and how many
// others the line that is written counts.
func (l *hangLines) turn(ticket *uint64, now time.Time) (wait time.Duration, others uint64, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *ticket == 0 {
		l.mu.asked++
		*ticket = l.mu.asked
	}
	if *ticket <= l.mu.settled {
		return 0, 0, false
	}
	if since := now.Sub(l.mu.last); since >= 0 && since < hangPace {
		return hangPace - since, 0, false
	}
	others = l.mu.asked - l.mu.settled - 1
	l.mu.last, l.mu.settled = now, l.mu.asked
	return 0, others, true
}
