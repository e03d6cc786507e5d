// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import "time"

// remark is what there is to say of a listener once no lock is held.
type remark struct {
	target   *target
	lost     *lostCall
	lag      lag  // zero: it does not lag, or that was said
	caughtUp bool // it lags no more
}

// with adds what else there is to say of the listener.
func (r *remark) with(more remark) *remark {
	if r == nil {
		return &more
	}
	more.lost = r.lost
	if r.lag != (lag{}) {
		more.lag = r.lag
	}
	return &more
}

func (r remark) say() {
	if r.lost != nil {
		r.target.failSync(r.lost.error())
	}
	if r.lag != (lag{}) {
		r.target.logLag(r.lag)
	}
	if r.caughtUp {
		r.target.logCaughtUp()
	}
}

// logLag logs that the handler lags. That all of it has caught up may be known already: then that
// is logged here, since its line must come second.
func (t *target) logLag(l lag) {
	t.lags.warned.Store(t.feed.now())
	message := "Warning: an event handler is slow and falls behind; this is logged once until it has caught up"
	if l.isStuck() {
		message = "Warning: an event handler does not return from a call; this is logged once until it has caught up"
	}
	t.logger.Info(message, "handler", t.name, "informer", t.feed.upstream.Name(), "call", l.call,
		"pendingNotifications", l.backlog, "oldest", l.oldest)
	t.lags.told.Store(true)
	if t.lags.count.Load() == 0 {
		t.logCaughtUp()
	}
}

// logCaughtUp logs, once after logLag, that the handler lags no more.
func (t *target) logCaughtUp() {
	if t.lags.told.Swap(false) {
		t.logger.Info("The event handler has caught up", "handler", t.name, "informer", t.feed.upstream.Name(),
			"after", time.Duration(t.feed.now()-t.lags.warned.Load()))
	}
}
