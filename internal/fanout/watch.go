// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"time"

	"github.com/kinformer/cache/internal/event"
)

const (
	// lookInterval is the time between two looks: short beside lagWarning, and long beside the
	// microsecond that a look takes for each handler.
	lookInterval = time.Second

	// lagWarning is the age of a call's change from which the call is logged.
	lagWarning = 10 * time.Second

	// slowCall is the duration from which a call is logged if more than deepBacklog calls are
	// outstanding.
	slowCall    = 100 * time.Millisecond
	deepBacklog = 1024

	// lagPace is the least time between two warnings about one handler, and mostLines the largest
	// number of lines written together.
	lagPace   = 60 * time.Second
	mostLines = 8
)

// watcher logs which handlers are slow or do not return from a call, and when they have caught up.
// It looks at their figures while a look may find something new. A handler that was logged is not
// looked at until it has caught up, so a synctest bubble with a stuck handler is reported as a
// deadlock, instead of running its time ahead. The fields are guarded by the feed's lock.
type watcher struct {
	*registry
	timer *time.Timer // nil before the first start
	due   bool        // the timer will fire, or a look runs
}

// startLocked has a look follow, unless one is due. It must be called when there are more
// outstanding calls, and when a handler that was logged has caught up.
func (w *watcher) startLocked() {
	switch {
	case w.due:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(lookInterval, w.look)
	default:
		w.timer.Reset(lookInterval)
	}
	w.due = true
}

// readAllLocked must be called when a consumer of a handler that was logged has read all. A look
// alone would miss that the handler has caught up, if calls are outstanding whenever it looks.
func (w *watcher) readAllLocked() {
	for _, l := range w.listeners {
		if l.warned && !l.caughtUp && l.Figures().Pending == 0 {
			l.caughtUp = true
			w.startLocked()
		}
	}
}

// look logs what is new about the handlers. The next look follows when the lines are written,
// however slow the loggers are. It finds no handler once the processor has stopped.
func (w *watcher) look() {
	w.feed.mu.Lock()
	lines := w.linesLocked()
	if len(lines) > 0 { // not even 0 may be added while Stop waits
		w.pool.running.Add(len(lines))
		defer w.pool.running.Add(-len(lines))
	}
	w.feed.mu.Unlock()
	defer w.lookAgain() // also if a log function ends the goroutine
	for _, log := range lines {
		log()
	}
}

// lookAgain ends a look, and has another one follow if that may find something new.
func (w *watcher) lookAgain() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	if w.due = false; slices.ContainsFunc(w.listeners, (*Listener).isWatchedLocked) {
		w.startLocked()
	}
}

// linesLocked returns functions that write the lines that are due. They must be called without a
// lock.
func (w *watcher) linesLocked() (lines []func()) {
	now := w.feed.now()
	for _, l := range w.listeners {
		if line := l.lineLocked(now); line != nil {
			if lines = append(lines, line); len(lines) == mostLines {
				break
			}
		}
	}
	return lines
}

// isWatchedLocked reports whether a look may find something new about the handler: that it lags
// or, if that was logged, that it has caught up.
func (l *Listener) isWatchedLocked() bool {
	return l.caughtUp || !l.warned && l.Figures().Pending > 0
}

// lineLocked returns a function that writes the line that is due about the handler, or nil.
func (l *Listener) lineLocked(now int64) func() {
	f := l.Figures()
	call, ago := max(f.Calling, f.Last), time.Duration(now-l.warnedAt)
	lags := f.Oldest >= lagWarning || call >= slowCall && f.Pending > deepBacklog
	switch {
	case l.caughtUp:
		l.warned, l.caughtUp = false, false
		return func() {
			l.logger().Info("The event handler has caught up", "handler", l.name, "informer", l.feed.upstream.Name(), "after", ago)
		}
	case l.warned, !lags, l.warnedAt != 0 && ago < lagPace:
		return nil
	}
	l.warned, l.warnedAt = true, now
	message := "An event handler is slow and falls behind; this is logged once until it has caught up"
	if f.Calling >= lagWarning {
		message = "An event handler does not return from a call; this is logged once until it has caught up"
	}
	return func() {
		event.Warn(l.logger(), 0, message, "handler", l.name, "informer", l.feed.upstream.Name(),
			"call", call, "pendingNotifications", f.Pending, "oldest", f.Oldest)
	}
}
