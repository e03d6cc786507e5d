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
	parallel int          // number of consumers
	live     int          // number of consumers that have not ended; guarded by the feed's lock
	joinedAt int64        // end of the feed when the handler was added; set before its consumers see it

	overflow  Overflow
	coalesces bool        // overflow is Coalesce
	bounded   bool        // overflow is Block or Disconnect
	warned    bool        // a warning that the handler lags was logged, and no line about catching up since; guarded by the feed's lock
	caughtUp  bool        // no calls were outstanding once since that warning; guarded by the feed's lock
	closed    atomic.Bool // the handler is not called again
	dropped   atomic.Bool // the handler was removed because it was too slow
	warnedAt  int64       // time of the last warning, by the feed's clock; 0 if there was none; guarded by the feed's lock

	unsynced   atomic.Int64          // number of consumers that have not delivered their part of the initial list
	synced     chan struct{}         // closed when unsynced is 0
	syncFailed atomic.Pointer[error] // why the registration will never count as synced
	neverSyncs chan struct{}         // closed with syncFailed

	closing  chan struct{} // closed with closed
	finished chan struct{} // closed when the handler is closed and its last call has returned
}

func (t *target) init(f *feed, handler clientgo.ResourceEventHandler, o *Options) {
	t.feed, t.handler, t.own, t.name, t.overflow = f, handler, o.Logger, o.Name, o.Overflow
	t.parallel = max(1, o.Parallel)
	t.live = t.parallel
	t.coalesces, t.bounded = o.Overflow == Coalesce, o.Overflow == Block || o.Overflow == Disconnect
	t.unsynced.Store(int64(t.parallel))
	t.synced, t.neverSyncs = make(chan struct{}), make(chan struct{})
	t.closing, t.finished = make(chan struct{}), make(chan struct{})
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

// syncError returns the reason why the registration will never count as synced, or nil.
func (t *target) syncError() error {
	if reason := t.syncFailed.Load(); reason != nil {
		return *reason
	}
	return nil
}

// failSync records the reason why the registration will never count as synced. It reports false if
// there is one already.
func (t *target) failSync(reason error) (first bool) {
	if first = t.syncFailed.CompareAndSwap(nil, &reason); first {
		close(t.neverSyncs)
	}
	return first
}

// NeverSyncs returns a channel that is closed when the registration can no longer sync.
func (t *target) NeverSyncs() <-chan struct{} { return t.neverSyncs }

// loseCall fails and logs the registration because of a call that did not return, for the Add of an
// object of the initial list. how is the end of the call.
func (t *target) loseCall(obj any, how string) {
	what := "an object"
	if key, err := clientgo.MetaNamespaceKeyFunc(obj); err == nil {
		what = key
	}
	reason := fmt.Errorf("the call for the Add of %s, which belongs to its initial list, %s", what, how)
	if t.failSync(reason) {
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
