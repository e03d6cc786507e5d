// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// Overflow is the treatment of a handler that is slower than the changes arrive.
type Overflow uint8

const (
	Lossless   Overflow = iota // undelivered changes wait in memory
	Block                      // the watch is read only while the handler has room for more
	Coalesce                   // waiting changes are merged by object
	Disconnect                 // the handler is removed if it is further behind than Options.Max
)

// Options configure the delivery to a handler. With the zero value a handler gets all changes, in
// order, one call at a time.
type Options struct {
	Name         string // what logs call the handler
	Overflow     Overflow
	Max          int // for Block and Disconnect: the number of notifications that may be outstanding, including the current one
	Parallel     int // number of goroutines that call the handler; 0 means one
	OnDisconnect func(error)
	Resync       time.Duration // period of resyncs requested by the handler; 0 means never
	Check        time.Duration // interval between calls of ShouldResync; 0 means never
	Logger       *klog.Logger  // of the lines about the handler; nil means the informer's
}

// target is a handler, with the state shared by its consumers.
type target struct {
	feed     *feed
	handler  clientgo.ResourceEventHandler
	own      *klog.Logger // the logger of the handler's lines; nil: the feed's
	name     string       // what logs call the handler
	overflow Overflow
	parallel int   // number of consumers
	live     int   // number of consumers that have not ended; guarded by the feed's lock
	joinedAt int64 // end of the feed when the handler was added; set before its consumers see it

	coalesces bool // Overflow is Coalesce
	bounded   bool // Overflow is Block or Disconnect

	unsynced   atomic.Int64  // number of consumers that have not delivered their part of the initial list
	synced     chan struct{} // closed when unsynced is 0
	syncFailed atomic.Pointer[syncFailure]
	neverSyncs chan struct{} // closed with syncFailed; nil until NeverSyncs is called; guarded by the feed's lock

	closed   atomic.Bool   // the handler is not called again
	closing  chan struct{} // closed with closed
	finished chan struct{} // closed when the handler is closed and its last call has returned
	lags     laggards
	dropped  atomic.Bool // the handler was removed because it was too slow
}

func (t *target) init(f *feed, handler clientgo.ResourceEventHandler, o *Options) {
	t.feed, t.handler, t.own, t.name, t.overflow = f, handler, o.Logger, o.Name, o.Overflow
	t.parallel = max(1, o.Parallel)
	t.live = t.parallel
	t.coalesces, t.bounded = o.Overflow == Coalesce, o.Overflow == Block || o.Overflow == Disconnect
	t.unsynced.Store(int64(t.parallel))
	t.synced, t.closing, t.finished = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

// logger returns the logger of the lines about the handler.
func (t *target) logger() klog.Logger { return t.feed.loggerOr(t.own) }

// needsKeys reports whether the handler needs the key of each object: to merge changes, to
// distribute them among consumers, or to pass it on.
func (t *target) needsKeys() bool { return t.coalesces || t.parallel > 1 || isWhole(t.handler) }

// consumerSynced is called once by each consumer, when it has delivered its part of the initial
// list.
func (t *target) consumerSynced() {
	if t.unsynced.Add(-1) == 0 {
		close(t.synced)
	}
}

// consumerEndedLocked is called once for each consumer of a removed handler. The caller must hold
// the feed's lock.
func (t *target) consumerEndedLocked() {
	if t.live--; t.live == 0 {
		close(t.finished)
	}
}

// panicPause keeps a handler that always panics from filling the log, as in client-go.
const panicPause = time.Second

func (t *target) pauseAfterPanic() {
	timer := time.NewTimer(panicPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.closing:
	}
}

// SyncedChecker returns a checker that is done when the informer has synced and the handler has
// returned from the Adds of its initial list.
func (t *target) SyncedChecker() clientgo.DoneChecker {
	return registrationSynced{t.feed.upstream, t.name, t.synced}
}

var ErrRemovedUnsynced = errors.New("the handler was removed, or its informer stopped, before its initial list was delivered")

// syncFailure is the reason why a registration will never count as synced.
type syncFailure struct{ reason error }

// syncError returns the reason why the registration will never count as synced, or nil.
func (t *target) syncError() error {
	if failure := t.syncFailed.Load(); failure != nil {
		return failure.reason
	}
	return nil
}

// failSyncLocked records the reason why the registration will never count as synced. It reports
// false if there is one already. The caller must hold the feed's lock.
func (t *target) failSyncLocked(reason error) (first bool) {
	if first = t.syncFailed.CompareAndSwap(nil, &syncFailure{reason}); first && t.neverSyncs != nil {
		close(t.neverSyncs)
	}
	return first
}

// NeverSyncs returns a channel that is closed when the registration can no longer sync.
func (t *target) NeverSyncs() <-chan struct{} {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.neverSyncs == nil {
		t.neverSyncs = make(chan struct{})
		if t.syncFailed.Load() != nil {
			close(t.neverSyncs)
		}
	}
	return t.neverSyncs
}

// failSync is failSyncLocked with logging of the first reason.
func (t *target) failSync(reason error) {
	t.feed.mu.Lock()
	first := t.failSyncLocked(reason)
	t.feed.mu.Unlock()
	if first {
		t.logger().Error(reason, "An event handler will never count as synced", "handler", t.name)
	}
}

// registrationSynced is the DoneChecker of a registration. It keeps neither the handler nor the
// informer alive.
type registrationSynced struct {
	upstream clientgo.DoneChecker
	handler  string
	synced   <-chan struct{}
}

func (c registrationSynced) Name() string {
	return fmt.Sprintf("%s + event handler %s", c.upstream.Name(), c.handler)
}

func (c registrationSynced) Done() <-chan struct{} { return c.synced }

const (
	// lagWarning is the duration of a call, or the age of its change, from which it is logged.
	lagWarning = 10 * time.Second

	// deepBacklog is the number of outstanding calls above which a slow call is logged.
	deepBacklog = 1024

	// lagPace is the least time between two such log lines about one handler, and mostLags the
	// largest number of lines written together.
	lagPace  = 60 * time.Second
	mostLags = 8
)

// lag is how far a consumer is behind.
type lag struct {
	call    time.Duration // duration of its call so far, or in total
	oldest  time.Duration // age of the change that the call delivers
	backlog int64         // number of outstanding calls
}

// isStuck reports whether a call has not returned for long.
func (l lag) isStuck() bool { return l.call >= lagWarning }

// isFar reports whether the lag should be logged. slow is the duration from which a call counts as
// slow.
func (l lag) isFar(slow time.Duration) bool {
	return l.isStuck() || l.oldest >= lagWarning || l.call >= slow && l.backlog > deepBacklog
}

// laggards counts the consumers of a handler that lag. One line is logged when the first of them
// falls behind, and one when the last has caught up.
type laggards struct {
	count  atomic.Int32
	warned atomic.Int64 // time of the last warning, by the feed's clock; 0 if there was none
	logged atomic.Bool  // a warning was logged, and no line about catching up since
}

// fallBehind counts a lagging consumer that is not counted yet, unless it is too early for another
// line. It reports whether a line should be logged.
func (l *laggards) fallBehind(counted *bool, now int64) (worth bool) {
	if *counted {
		return false
	}
	if last := l.warned.Load(); last != 0 && now-last < int64(lagPace) && l.count.Load() == 0 {
		return false
	}
	*counted = true
	return l.count.Add(1) == 1
}

// catchUp removes a consumer that has read all from the count. It reports whether a line should be
// logged.
func (l *laggards) catchUp(counted *bool) (worth bool) {
	caughtUp := *counted
	*counted = false
	return caughtUp && l.count.Add(-1) == 0
}

// remark is an event of a listener, to be logged when no lock is held.
type remark struct {
	target   *target
	lost     *lostCall
	lag      lag  // zero if the listener does not lag, or that was logged
	caughtUp bool // it no longer lags
}

// with returns the remark combined with another one about the listener.
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

func (r remark) log() {
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

func logAll(remarks []remark) {
	for _, r := range remarks {
		r.log()
	}
}

// logLag logs that the handler lags. If all consumers have caught up in the meantime, it logs that
// too, because that line must come second.
func (t *target) logLag(l lag) {
	t.lags.warned.Store(t.feed.now())
	message := "An event handler is slow and falls behind; this is logged once until it has caught up"
	if l.isStuck() {
		message = "An event handler does not return from a call; this is logged once until it has caught up"
	}
	event.Warn(t.logger(), 0, message, "handler", t.name, "informer", t.feed.upstream.Name(), "call", l.call,
		"pendingNotifications", l.backlog, "oldest", l.oldest)
	t.lags.logged.Store(true)
	if t.lags.count.Load() == 0 {
		t.logCaughtUp()
	}
}

// logCaughtUp logs, once after logLag, that the handler no longer lags.
func (t *target) logCaughtUp() {
	if t.lags.logged.Swap(false) {
		t.logger().Info("The event handler has caught up", "handler", t.name, "informer", t.feed.upstream.Name(),
			"after", time.Duration(t.feed.now()-t.lags.warned.Load()))
	}
}
