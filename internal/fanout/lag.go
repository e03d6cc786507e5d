// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync/atomic"
	"time"
)

const (
	// lagWarning is the age from which a call, or what a handler is called for, is worth a line in
	// the log.
	lagWarning = 10 * time.Second

	// deepBacklog is how many calls must be outstanding for a slow one to be worth a line in the
	// log.
	deepBacklog = 1024

	// lagPace is the least time between two such lines about one handler, and mostLags how many
	// lines are written at once.
	lagPace  = 60 * time.Second
	mostLags = 8
)

// lag is how far a consumer is behind.
type lag struct {
	call    time.Duration // how long its call lasts, or has taken
	oldest  time.Duration // how long ago the change was distributed that the call is about
	backlog int64         // how many calls are outstanding
}

// isStuck reports whether a call of the handler does not return.
func (l lag) isStuck() bool { return l.call >= lagWarning }

// isFar reports whether a call that has taken slow is worth a line.
func (l lag) isFar(slow time.Duration) bool {
	return l.isStuck() || l.oldest >= lagWarning || l.call >= slow && l.backlog > deepBacklog
}

// laggards are the consumers of a handler that lag, and what the log was told of that. Each makes
// two lines of all of them: one when the first falls behind, one when the last has caught up.
type laggards struct {
	count  atomic.Int32
	warned atomic.Int64 // when the log was told last, by the feed's clock; 0: never
	told   atomic.Bool  // it was not told since that none lags
}

// add counts a consumer, unless it is too early for another line. It reports whether it is the
// first.
func (l *laggards) add(now int64) (counted, first bool) {
	if l.count.Load() == 0 {
		if last := l.warned.Load(); last != 0 && now-last < int64(lagPace) {
			return false, false
		}
	}
	return true, l.count.Add(1) == 1
}

// remove counts a consumer no more that has caught up. It reports whether it was the last.
func (l *laggards) remove() (last bool) { return l.count.Add(-1) == 0 }
