// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
)

// consumer makes the calls of a handler for the changes in the feed, one at a time. A handler has
// one consumer, or several, each of which delivers the keys that hash to it and skips the others.
//
//	parked ── a change it wants is distributed ──▶ at work ──┐ 1. take a run of changes
//	   ▲                                            │  ▲     │ 2. make the calls
//	   └──────── everything is read ────────────────┘  └─────┘ 3. count them
//
// A parked consumer has no cursor in the log. One at work has, and is idle, ready, or served by a
// worker, which owns run meanwhile (pool.go). If the handler ends the worker's goroutine
// (runtime.Goexit), another one continues after that call.
type consumer struct {
	target   *target
	feed     *feed
	share    share // selects its changes
	parkedAt int   // index in pool.parked, guarded by the feed's lock
	run      run

	mu struct {
		sync.Mutex
		tally
		state   consumerState
		cursor  eventlog.Cursor[event.Change]
		first   *event.Change  // initial list of a late handler, delivered before the log; or nil
		resyncs *unreadResyncs // nil if there is none
		pending *coalescer     // changes read ahead; nil unless the handler coalesces
		folding bool           // fold is running
	}
}

// consumerState is the activity of a consumer.
type consumerState uint8

const (
	consumerParked consumerState = iota // nothing to do: no cursor in the log
	consumerAtWork                      // served by a worker, ready or idle
	consumerClosed                      // the handler is not called again
)

const (
	// bulkRun is the number of calls of a bulk record that are made and counted together: about a
	// millisecond of quick ones.
	bulkRun = 256

	// foldAfter is the number of outstanding calls from which the log is read ahead for a handler
	// that coalesces. It bounds the number of changes that are not merged yet, and is large enough
	// to be worth a goroutine.
	foldAfter = 2 * eventlog.SegmentSize
)

func newConsumer(t *target, number int) *consumer {
	c := &consumer{target: t, feed: t.feed}
	c.share.number, c.share.parallel = uint32(number), uint32(t.parallel)
	if t.coalesces {
		c.mu.pending = newCoalescer()
	}
	return c
}

// enter enters a parked consumer at the end of the log. first, if not nil, is delivered before the
// log. The caller must hold the feed's lock, and make the consumer ready.
func (c *consumer) enter(first *event.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cursor.Enter(&c.feed.mu.log)
	c.mu.state = consumerAtWork
	c.mu.passed, c.mu.counted = c.feed.end.Load(), c.feed.bounded.Load()
	if c.mu.first = first; first != nil {
		c.mu.passed -= int64(first.Size())
	}
}

// pause counts the delivered changes, and reports whether there are more. The caller must hold the
// feed's lock.
func (c *consumer) pause(now int64) (state consumerState, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked(now)
	if c.mu.state == consumerClosed {
		c.run = run{} // the registration may be kept, but undelivered changes must not
		return consumerClosed, false
	}
	return c.mu.state, !c.hasReadAllLocked()
}

// park parks the consumer if it has read all, and returns its state. The caller must hold the
// feed's lock.
func (c *consumer) park() consumerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.state == consumerAtWork && c.hasReadAllLocked() {
		c.mu.cursor.Leave(&c.feed.mu.log)
		c.mu.state, c.mu.last = consumerParked, 0
		c.checkSyncedLocked()
	}
	if c.mu.state != consumerAtWork {
		c.run = run{quick: c.run.quick}
	}
	return c.mu.state
}

// hasReadAllLocked reports whether no change is left. It must be called after work has returned,
// when run and first are empty.
func (c *consumer) hasReadAllLocked() bool {
	return len(c.mu.cursor.Peek()) == 0 && c.mu.pending.empty()
}

// abandon closes the consumer and drops its undelivered changes. It does not wait for a call. It
// reports whether a worker serves the consumer, or will, and must end it. The caller must hold the
// feed's lock.
func (c *consumer) abandon() (atWork bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	atWork = c.mu.state == consumerAtWork
	if atWork {
		c.mu.cursor.Abandon(&c.feed.mu.log)
	}
	c.mu.state = consumerClosed
	if c.mu.pending != nil {
		c.mu.pending = &coalescer{merged: c.mu.pending.merged}
	}
	if c.mu.first != nil && c.share.all() { // otherwise another consumer may be reading it
		c.mu.first.Many.Release()
	}
	c.mu.first, c.mu.resyncs = nil, nil
	return atWork
}

// work delivers until the consumer has read all or the handler is closed.
func (c *consumer) work() {
	for c.take() {
		if !c.deliver() {
			c.lose("panicked")
			c.target.pauseAfterPanic()
		}
		switch {
		case !c.run.more():
			if c.feed.end.Load() == c.run.upTo {
				return
			}
		case c.target.closed.Load():
			return // the consumer may not be closed yet, but makes no more calls
		}
	}
}

// take counts the delivered changes, and fills run. It returns false if there is nothing to
// deliver.
func (c *consumer) take() bool {
	now := c.feed.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked(now)
	r := &c.run
	if c.mu.state == consumerClosed {
		r.next, r.end = 0, 0
		return false
	}
	if !r.more() {
		if c.target.coalesces {
			c.takePendingLocked()
		} else {
			c.takeRunLocked()
		}
	}
	if r.bulk != nil {
		r.end = min(r.next+int32(c.runLimitLocked()), int32(r.bulk.Many.Len()))
	}
	r.upTo = c.mu.passed + int64(r.end-r.next)
	if r.next == r.end {
		return false
	}
	c.mu.begin(r, now)
	return true
}

// takeRunLocked takes changes from the log that may be delivered together.
func (c *consumer) takeRunLocked() {
	if first := c.mu.first; first != nil {
		c.mu.first = nil
		c.setRun(run{bulk: first, plain: c.share.all()})
		return
	}
	ahead := c.mu.cursor.Peek()
	for len(ahead) > 0 && ahead[0].Many != nil && !c.share.wants(&ahead[0]) {
		c.mu.passed += int64(ahead[0].Size())
		c.mu.cursor.Skip(1)
		ahead = c.mu.cursor.Peek()
	}
	n, plain := 0, c.share.all()
	for limit := min(len(ahead), c.runLimitLocked()); n < limit && ahead[n].Many == nil; n++ {
		plain = plain && isBounded(&ahead[n])
	}
	switch {
	case len(ahead) == 0:
		c.setRun(run{})
	case n == 0:
		c.setRun(run{bulk: c.takeBulkLocked(&ahead[0]), plain: plain})
		c.mu.cursor.Skip(1)
	default:
		c.setRun(run{changes: ahead[:n:n], end: int32(n), plain: plain})
		c.mu.cursor.Skip(n)
	}
}

// takePendingLocked is takeRunLocked for a consumer that coalesces: it reads the whole log into
// pending, and takes the oldest record.
func (c *consumer) takePendingLocked() {
	c.foldLocked()
	if oldest, ok := c.mu.pending.pop(); ok {
		c.setRun(run{changes: []event.Change{oldest}, end: 1})
	} else {
		c.setRun(run{})
	}
}

// takeBulkLocked returns a bulk record of the log that is for the consumer, with its objects. It
// must be called once for each.
func (c *consumer) takeBulkLocked(record *event.Change) *event.Change {
	bulk := *record
	if bulk.Everything() {
		bulk.Many = c.mu.resyncs.pop()
		if c.mu.resyncs.empty() {
			c.mu.resyncs = nil
		}
	}
	return &bulk
}

// foldLocked reads the whole log into pending. It reads nothing if the consumer is closed.
func (c *consumer) foldLocked() {
	if first := c.mu.first; first != nil {
		c.mu.first = nil
		c.foldOneLocked(first)
	}
	for ahead := c.mu.cursor.Peek(); len(ahead) > 0; ahead = c.mu.cursor.Peek() {
		for i := range ahead {
			c.foldOneLocked(&ahead[i])
		}
		c.mu.cursor.Skip(len(ahead))
	}
	c.checkSyncedLocked()
}

func (c *consumer) foldOneLocked(record *event.Change) {
	c.mu.passed += int64(record.Size())
	switch {
	case !c.share.wants(record):
	case record.Many == nil:
		c.mu.pending.add(*record)
	default:
		bulk := c.takeBulkLocked(record)
		for i := range bulk.Many.Len() {
			if one := bulk.Single(i); c.share.wants(&one) {
				c.mu.pending.add(one)
			}
		}
	}
}

// startFold reports whether the consumer is so far behind that the log must be read into pending,
// because it would keep objects alive for a handler that is stuck. If so, the caller must call
// fold.
func (c *consumer) startFold() (start bool) {
	if !c.mu.TryLock() {
		return false // busy; the next change tries again
	}
	defer c.mu.Unlock()
	start = c.mu.state == consumerAtWork && !c.mu.folding && c.feed.end.Load()-c.mu.passed >= foldAfter
	c.mu.folding = c.mu.folding || start
	return start
}

func (c *consumer) fold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.foldLocked()
	c.mu.folding = false
}

func (c *consumer) setRun(next run) {
	next.quick = c.run.quick
	c.run = next
}

// runLimitLocked returns the number of changes that may be taken together: one if each call must be
// counted as soon as it returns.
func (c *consumer) runLimitLocked() int {
	bulk := c.run.bulk != nil && c.run.more()
	switch {
	case !c.run.quick, c.target.bounded && !bulk, c.mu.sync == syncPending && !bulk:
		return 1
	case bulk:
		return bulkRun
	default:
		return eventlog.SegmentSize
	}
}

// deliver makes the calls of run and reports whether all have returned. After a panic the rest of
// run remains.
func (c *consumer) deliver() (returned bool) {
	defer utilruntime.HandleCrashWithLogger(c.target.logger())
	own := &c.share
	if c.target.coalesces {
		own = nil // pending has only changes for this consumer
	}
	c.run.deliver(c.target.handler, &c.target.closed, own)
	return true
}

// addResync gives the consumer a resync to deliver. It returns false if the resync is redundant.
func (c *consumer) addResync(all *event.Snapshot) (needed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.resyncs == nil {
		c.mu.resyncs = &unreadResyncs{}
	}
	return c.mu.resyncs.add(all)
}

// missResync records that an update that counts as a resync is not for the consumer.
func (c *consumer) missResync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.resyncs != nil {
		c.mu.resyncs.complete = false
	}
}

// lose counts a call that did not return. how is its end. If it belongs to the initial list, the
// handler never counts as synced.
func (c *consumer) lose(how string) {
	c.mu.Lock()
	lost := c.mu.current.initial && c.mu.sync == syncPending
	if lost {
		c.mu.sync = syncFailed
	}
	c.settleLocked(c.feed.now())
	c.mu.Unlock()
	if lost {
		c.target.loseCall(c.run.former(), how)
	}
}

// settleLocked counts the changes delivered since the last time.
func (c *consumer) settleLocked(now int64) {
	c.mu.count(&c.run, now)
	c.passLocked()
	c.checkSyncedLocked()
}

// passLocked advances the consumer's position. For a handler that coalesces the position advances
// when changes are read, so there is nothing to do but to mark them as counted.
func (c *consumer) passLocked() {
	r := &c.run
	if !c.target.coalesces && r.next > r.settled {
		c.mu.pass(r)
		if c.target.overflow == Block {
			c.feed.madeRoom()
		}
	}
	r.settled = r.next
}

// backlogLocked returns the number of outstanding calls, including the current one.
func (c *consumer) backlogLocked() int64 {
	if c.mu.state != consumerAtWork {
		return 0
	}
	behind := max(0, c.feed.end.Load()-c.mu.passed)
	if c.target.coalesces {
		behind += int64(c.mu.pending.len())
		if c.mu.current.running {
			behind++
		}
	}
	return behind
}

// behind returns the number of outstanding bounded notifications, including the current one.
func (c *consumer) behind() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.state != consumerAtWork {
		return 0
	}
	return c.feed.bounded.Load() - c.mu.counted
}

// addFigures adds the consumer's calls to the figures of its handler.
func (c *consumer) addFigures(all *Figures, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current := &c.mu.current; current.running {
		all.Calling = max(all.Calling, time.Duration(now-current.since))
		all.Oldest = max(all.Oldest, time.Duration(now-current.at))
	}
	all.Last = max(all.Last, c.mu.last)
	all.Times.merge(&c.mu.times)
	all.Working = all.Working || c.mu.state == consumerAtWork
	if c.mu.pending != nil {
		all.Coalesced += c.mu.pending.merged
	}
	if backlog := int(c.backlogLocked()); c.target.coalesces {
		all.Pending += backlog
	} else { // each consumer of the handler counts every notification
		all.Pending = max(all.Pending, backlog)
	}
}

// checkSynced updates the state of the initial list.
func (c *consumer) checkSynced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkSyncedLocked()
}

func (c *consumer) checkSyncedLocked() {
	if c.mu.sync != syncPending || c.mu.state == consumerClosed {
		return
	}
	until := c.feed.syncedAt.Load()
	if until == unknownPosition {
		return
	}
	if c.mu.state == consumerAtWork && c.mu.passed < max(until, c.target.joinedAt) {
		return
	}
	if c.target.coalesces && (c.mu.current.initial || c.mu.pending.initialLeft()) {
		return
	}
	c.mu.sync = syncDone
	c.target.consumerSynced()
}
