// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"sync"
	"time"
)

// hangPace is the time between two lines about requests that hang, for the whole process: a server
// that does not answer does so for all reflectors.
const hangPace = time.Second

// hangLines gives the reflectors of a process their turns to write lines: one in a while. What is
// not written is counted by a later line.
type hangLines struct {
	mu struct {
		sync.Mutex
		last    time.Time // when a line was written
		asked   uint64    // tickets
		settled uint64    // up to this ticket lines were written or counted
	}
}

// ask returns the ticket of a line.
func (l *hangLines) ask() (ticket uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.asked++
	return l.mu.asked
}

// turn returns after what time to come again, or 0; then, whether the line is to be written, or
// another one has counted it; and how many others the line that is written counts.
func (l *hangLines) turn(ticket uint64, now time.Time) (wait time.Duration, others uint64, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ticket <= l.mu.settled {
		return 0, 0, false
	}
	if since := now.Sub(l.mu.last); since >= 0 && since < hangPace {
		return hangPace - since, 0, false
	}
	others = l.mu.asked - l.mu.settled - 1
	l.mu.last, l.mu.settled = now, l.mu.asked
	return 0, others, true
}
