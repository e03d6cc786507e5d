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
)

// Overflow is what is done about a handler that is slower than the changes come.
type Overflow uint8

const (
	Lossless   Overflow = iota // what it has still to hear waits in memory
	Block                      // room asks for no more than it may be behind
	Coalesce                   // what waits is merged by object
	Disconnect                 // it is removed when it is behind more than it may be
)

// Options say how a handler is served. The zero value is everything, in order, one call at
// a time.
type Options struct {
	Name         string // what logs call the handler
	Overflow     Overflow
	Max          int // with block and disconnect: how many notifications may wait, with the current one
	Parallel     int // how many goroutines call the handler; 0 is one
	OnDisconnect func(error)
	Resync       time.Duration // how often the handler wants to hear of everything; 0 is never
	Check        time.Duration // how often ShouldResync is called; 0 is never
	Logger       klog.Logger
}

// target is a handler, and what the consumers that call it share.
type target struct {
	feed     *feed
	handler  clientgo.ResourceEventHandler
	logger   klog.Logger
	name     string // what logs call the handler
	overflow Overflow
	parallel int   // how many consumers there are
	live     int   // those that have not ended; guarded by the feed's lock
	joinedAt int64 // the end of the feed when it was added; set before its consumers see it

	coalesces bool // what waits is merged by object
	bounded   bool // there is a bound of how far the handler may be behind

	unsynced   atomic.Int64  // consumers whose part of the initial list is not through
	synced     chan struct{} // closed when that is none
	syncFailed atomic.Pointer[syncFailure]
	hopeless   chan struct{} // closed with syncFailed; nil until NeverSyncs is called; guarded like live

	closed   atomic.Bool   // the handler is not called again
	closing  chan struct{} // closed with closed
	finished chan struct{} // closed when the last call has returned, too
	lags     laggards
	dropped  atomic.Bool // it was removed because it was too slow
}

func (t *target) init(f *feed, handler clientgo.ResourceEventHandler, o *Options) {
	t.feed, t.handler, t.logger, t.name, t.overflow = f, handler, o.Logger, o.Name, o.Overflow
	t.parallel = max(1, o.Parallel)
	t.live = t.parallel
	t.coalesces, t.bounded = o.Overflow == Coalesce, o.Overflow == Block || o.Overflow == Disconnect
	t.unsynced.Store(int64(t.parallel))
	t.synced, t.closing, t.finished = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

// needsKeys reports whether calls are merged or handed out by object, or tell its key.
func (t *target) needsKeys() bool { return t.coalesces || t.parallel > 1 || isWhole(t.handler) }

// consumerSynced is called once by each consumer whose part of the initial list is through.
func (t *target) consumerSynced() {
	if t.unsynced.Add(-1) == 0 {
		close(t.synced)
	}
}

// consumerEndedLocked is called once for each consumer of a removed handler. The caller holds the
// feed's lock.
func (t *target) consumerEndedLocked() {
	if t.live--; t.live == 0 {
		close(t.finished)
	}
}

// panicPause keeps a handler that panics all the time from filling the log, as in client-go.
const panicPause = time.Second

func (t *target) pauseAfterPanic() {
	timer := time.NewTimer(panicPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.closing:
	}
}

// SyncedChecker returns what says whether the informer has synced and the handler has returned from
// the Adds of its initial list.
func (t *target) SyncedChecker() clientgo.DoneChecker {
	return registrationSynced{t.feed.upstream, t.name, t.synced}
}

var ErrRemovedUnsynced = errors.New("it was removed, or its informer stopped, before it had heard all of its initial list")

// syncFailure is why a registration will never count as synced.
type syncFailure struct{ reason error }

// SyncError returns why the registration will never count as synced, nil if it may yet or does.
func (t *target) syncError() error {
	if failure := t.syncFailed.Load(); failure != nil {
		return failure.reason
	}
	return nil
}

// failSyncLocked notes why the registration will never count as synced. The first reason counts.
// The caller holds the feed's lock.
func (t *target) failSyncLocked(reason error) (first bool) {
	if first = t.syncFailed.CompareAndSwap(nil, &syncFailure{reason}); first && t.hopeless != nil {
		close(t.hopeless)
	}
	return first
}

// NeverSyncs returns a channel that is closed when there is a SyncError.
func (t *target) NeverSyncs() <-chan struct{} {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.hopeless == nil {
		t.hopeless = make(chan struct{})
		if t.syncFailed.Load() != nil {
			close(t.hopeless)
		}
	}
	return t.hopeless
}

// failSync notes, and logs once, why the registration will never count as synced.
func (t *target) failSync(reason error) {
	t.feed.mu.Lock()
	first := t.failSyncLocked(reason)
	t.feed.mu.Unlock()
	if first {
		t.logger.Error(reason, "An event handler will never count as synced", "handler", t.name)
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

// fallBehind counts a consumer that lags and was not counted, unless it is too early for another line.
// It reports whether that is worth one.
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

// catchUp is fallBehind for a consumer that has read all.
func (l *laggards) catchUp(counted *bool) (worth bool) {
	caughtUp := *counted
	*counted = false
	return caughtUp && l.count.Add(-1) == 0
}

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

func sayAll(remarks []remark) {
	for _, r := range remarks {
		r.say()
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
