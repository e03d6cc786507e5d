// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/eventlog"
)

// courier is one line of calls of a handler: it reads the log of the processor and makes the calls, one at a time. A handler
// has one courier, or with Delivery.Parallel several, each of which takes the keys that hash to it and skips the others.
//
//	parked ──── a change it wants is distributed ───▶ at work ──┐ take a run of changes, make the calls, count them
//	   ▲                                              │  ▲──────┘
//	   └───────── everything is read ─────────────────┘
//
// A parked courier has no place in the log. One at work has, and is either ready, or a worker's, which owns step meanwhile, or
// stands by (workers.go). If the handler ends the worker's goroutine (runtime.Goexit), another one goes on after the call
// that did.
type courier struct {
	listener *processorListener
	number   uint64 // among those of the listener
	id       uint64 // among all of the processor so far; set before anybody sees it
	parkedAt int    // index in sharedProcessor.mu.parked, guarded by its lock
	step     step

	mu struct {
		sync.Mutex
		state     courierState
		cursor    eventlog.Cursor[change]
		first     *change        // what a late handler hears before anything from the log
		resyncs   *unreadResyncs // nil if there are none
		pending   *coalescer     // what was read ahead from the log; only with Coalesce, and until closed
		folding   bool           // a goroutine reads ahead
		passed    int64          // how far it has come, on the scale of sharedProcessor.end
		counted   int64          // the same on the scale of sharedProcessor.bounded
		sync      syncState      // of its part of the initial list
		times     callTimes      // of the calls that have returned
		current   currentWork    // what it is at now
		coalesced uint64         // what pending had merged, when closed
	}
}

// courierState is what a courier is doing.
type courierState uint8

const (
	courierParked courierState = iota // nothing to do: no place in the log
	courierAtWork                     // a worker's, or will be
	courierClosed                     // the handler is called no more
)

// syncState is where a courier is with its initial list.
type syncState uint8

const (
	syncPending syncState = iota // some of the list is not delivered, or may still come
	syncDone                     // all calls have returned
	syncFailed                   // a call did not return: the handler never counts as synced
)

// currentWork says what a courier at work is delivering.
type currentWork struct {
	calling bool
	initial bool  // the call belongs to the initial list
	since   int64 // when the calls began
	at      int64 // when the oldest of them was distributed
}

const (
	// quickCall is up to where calls are timed by the run, at a cost of one reading of the clock (25-40 ns) for up to
	// eventlog.SegmentSize or bulkRun calls. Slower ones can afford one each.
	quickCall = 5 * time.Microsecond

	// bulkRun is how many calls of a bulk record are made and counted at a time: about a millisecond of quick ones.
	bulkRun = 256

	// foldAfter is how many calls a handler with Coalesce may be behind before the log is read for it. It bounds what is
	// not coalesced yet, and makes the goroutine that reads worth its start.
	foldAfter = 2 * eventlog.SegmentSize
)

// enter puts a courier that is parked at the end of the log, and has it hear first before what comes. The caller holds the
// processor's lock, and starts work.
func (l *courier) enter(first *change) {
	p := l.listener.processor
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cursor.Enter(&p.mu.log)
	l.mu.state = courierAtWork
	l.mu.passed, l.mu.counted = p.end.Load(), p.bounded.Load()
	if l.mu.first = first; first != nil {
		l.mu.passed -= int64(first.size())
	}
}

// pause counts what was delivered, and tells whether there is more to deliver. The caller holds the processor's lock.
func (l *courier) pause(now int64) (state courierState, said remark, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said = l.settleLocked(now)
	switch {
	case l.mu.state == courierClosed:
		l.step = step{} // the registration may be kept, what was not delivered need not
	case !l.hasReadAllLocked():
		more = true
	case l.listener.slow.Load():
		l.listener.slow.Store(false) // it has caught up: the next slow call is worth a line again
	}
	return l.mu.state, said, more
}

// rest parks the courier if it has read all, and says in which state it is then. The caller holds the processor's lock.
func (l *courier) rest() courierState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.state == courierAtWork && l.hasReadAllLocked() {
		l.mu.cursor.Leave(&l.listener.processor.mu.log)
		l.mu.state = courierParked
		l.checkSyncedLocked()
	}
	if l.mu.state != courierAtWork {
		l.step = step{quick: l.step.quick}
	}
	return l.mu.state
}

func (l *courier) hasReadAllLocked() bool {
	return !l.step.more() && l.mu.first == nil && len(l.mu.cursor.Peek()) == 0 && l.mu.pending.empty()
}

// abandon drops everything that the courier has still to deliver, for ever. It does not wait for a running call. It tells
// whether a worker will come to put it down. The caller holds the processor's lock.
func (l *courier) abandon() (atWork bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	atWork = l.mu.state == courierAtWork
	if atWork {
		l.mu.cursor.Abandon(&l.listener.processor.mu.log)
	}
	l.mu.state = courierClosed
	if l.mu.pending != nil {
		l.mu.coalesced = l.mu.pending.merged
	}
	if l.mu.first != nil && len(l.listener.couriers) == 1 { // else another courier may be reading it
		l.mu.first.many.release()
	}
	l.mu.first, l.mu.pending, l.mu.resyncs = nil, nil, nil
	return atWork
}

// work delivers until it has read all, as far as it knows.
func (l *courier) work() {
	p := l.listener.processor
	for l.take() {
		if !l.deliver() {
			l.step.panicked = true
			l.settle()
			l.listener.pauseAfterPanic()
		}
		if !l.step.more() && p.end.Load() == l.step.upTo {
			return
		}
	}
}

// take counts what was delivered, and moves what is next to step. It returns false when there is nothing.
func (l *courier) take() bool {
	l.takeAt(l.listener.processor.now()).say()
	return l.step.next < l.step.end
}

func (l *courier) takeAt(now int64) (said remark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said = l.settleLocked(now)
	s := &l.step
	s.began = now
	if l.mu.state == courierClosed {
		s.next, s.end = 0, 0
		return said
	}
	if !s.more() {
		if l.listener.coalesces() {
			l.takePendingLocked()
		} else {
			l.takeRunLocked()
		}
	}
	if s.bulk != nil {
		s.end = min(s.next+int32(l.runLimitLocked()), int32(s.bulk.many.len()))
	}
	s.upTo = l.mu.passed + int64(s.end-s.next)
	if s.next < s.end {
		l.mu.current = currentWork{calling: true, initial: s.oldest().initial, since: now, at: s.oldest().at}
	}
	return said
}

// takeRunLocked takes from the log what may be delivered together.
func (l *courier) takeRunLocked() {
	if first := l.mu.first; first != nil {
		l.mu.first = nil
		l.setStep(step{bulk: first, plain: len(l.listener.couriers) == 1})
		return
	}
	ahead := l.mu.cursor.Peek()
	for len(ahead) > 0 && ahead[0].many != nil && !l.wants(&ahead[0]) {
		l.mu.passed += int64(ahead[0].size())
		l.mu.cursor.Skip(1)
		ahead = l.mu.cursor.Peek()
	}
	n, plain := 0, len(l.listener.couriers) == 1
	for limit := min(len(ahead), l.runLimitLocked()); n < limit && ahead[n].many == nil; n++ {
		plain = plain && ahead[n].bounded()
	}
	switch {
	case len(ahead) == 0:
		l.setStep(step{})
	case n == 0:
		l.setStep(step{bulk: l.takeBulkLocked(&ahead[0]), plain: plain})
		l.mu.cursor.Skip(1)
	default:
		l.setStep(step{changes: ahead[:n:n], end: int32(n), plain: plain})
		l.mu.cursor.Skip(n)
	}
}

// takePendingLocked is takeRunLocked for a courier that coalesces: everything is read, and the oldest record taken.
func (l *courier) takePendingLocked() {
	l.foldLocked()
	if c, ok := l.mu.pending.pop(); ok {
		l.setStep(step{changes: []change{c}, end: 1})
	} else {
		l.setStep(step{})
	}
}

// foldLocked reads everything that is there into pending.
func (l *courier) foldLocked() {
	if l.mu.state == courierClosed {
		return
	}
	if first := l.mu.first; first != nil {
		l.mu.first = nil
		l.foldOneLocked(first)
	}
	for ahead := l.mu.cursor.Peek(); len(ahead) > 0; ahead = l.mu.cursor.Peek() {
		for i := range ahead {
			l.foldOneLocked(&ahead[i])
		}
		l.mu.cursor.Skip(len(ahead))
	}
	l.checkSyncedLocked()
}

func (l *courier) foldOneLocked(c *change) {
	l.mu.passed += int64(c.size())
	switch {
	case !l.wants(c):
	case c.many == nil:
		l.mu.pending.add(*c)
	default:
		bulk := l.takeBulkLocked(c)
		for i := range bulk.many.len() {
			if one := bulk.single(i); l.wants(&one) {
				l.mu.pending.add(one)
			}
		}
	}
}

// foldBehind has the log read into pending if the courier has fallen behind, so that the log keeps nothing alive for a handler
// that is stuck. The caller holds the processor's lock.
func (l *courier) foldBehind() {
	if !l.mu.TryLock() {
		return // somebody reads the log right now, or counts: the next change looks again
	}
	defer l.mu.Unlock()
	p := l.listener.processor
	if l.mu.state != courierAtWork || l.mu.folding || p.end.Load()-l.mu.passed < foldAfter {
		return
	}
	l.mu.folding = true
	p.running.Go(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.foldLocked()
		l.mu.folding = false
	})
}

func (l *courier) setStep(next step) {
	next.began, next.quick = l.step.began, l.step.quick
	l.step = next
}

// runLimitLocked is how many changes may be taken at a time. It is one where it matters at once that a call has returned.
func (l *courier) runLimitLocked() int {
	bulk := l.step.bulk != nil
	switch {
	case !l.step.quick, l.listener.boundsLog() && !bulk, l.mu.sync == syncPending && !bulk:
		return 1
	case bulk:
		return bulkRun
	default:
		return eventlog.SegmentSize
	}
}

// deliver makes the calls of step and tells whether all have returned. After a panic the rest of step remains.
func (l *courier) deliver() (returned bool) {
	defer utilruntime.HandleCrashWithLogger(l.listener.logger)
	s, closed, handler := &l.step, &l.listener.closed, l.listener.handler
	if s.plain && s.bulk == nil { // nearly always
		for s.next < s.end && !closed.Load() {
			c := &s.changes[s.next]
			s.next++
			s.calls++
			c.deliver(handler)
		}
		return true
	}
	for s.next < s.end && !closed.Load() {
		i := s.next
		s.next++
		switch {
		case s.plain:
			s.calls++
			s.initial = s.bulk.initial
			s.bulk.deliverAt(int(i), handler)
			s.initial = false
		case s.bulk == nil:
			l.tell(&s.changes[i])
		default:
			one := s.bulk.single(int(i))
			l.tell(&one)
		}
	}
	return true
}

// tell calls the handler, if the change is for this courier.
func (l *courier) tell(c *change) {
	if !l.listener.coalesces() && !l.wants(c) {
		return
	}
	l.step.calls++
	l.step.initial = c.initial
	c.deliver(l.listener.handler)
	l.step.initial = false
}

// wantsAny tells whether any of the changes is for this courier. It may be wrong to say yes.
func (l *courier) wantsAny(changes []change) bool {
	for i := range changes {
		if changes[i].many != nil && !changes[i].resync || l.wants(&changes[i]) {
			return true
		}
	}
	return false
}

// wants tells whether a change, or for a bulk record some of it, is for this courier.
func (l *courier) wants(c *change) bool {
	if c.resync && c.round.excludes(l.id) {
		return false
	}
	couriers := uint64(len(l.listener.couriers))
	return couriers == 1 || c.many != nil || maphash.String(courierSeed, c.key)%couriers == l.number
}

var courierSeed = maphash.MakeSeed()

// settle counts what was delivered.
func (l *courier) settle() {
	l.mu.Lock()
	said := l.settleLocked(l.listener.processor.now())
	l.mu.Unlock()
	said.say()
}

// settleLocked counts what was delivered since the last time, and returns what is worth a word about it.
func (l *courier) settleLocked(now int64) (said remark) {
	s := &l.step
	said.listener = l.listener
	l.mu.current = currentWork{}
	if s.initial { // the call did not return
		if l.mu.sync == syncPending {
			l.mu.sync = syncFailed
			said.lost = &lostCall{s.former(), s.panicked}
		}
		s.initial = false
	}
	s.panicked = false
	l.countPassedLocked()
	if s.calls > 0 {
		took := time.Duration(now - s.began)
		l.mu.times.add(int(s.calls), took)
		s.quick = took/time.Duration(s.calls) < quickCall
		if took >= slowCall {
			said.call, said.backlog = took, l.backlogLocked()
		}
		s.calls = 0
	}
	l.checkSyncedLocked()
	return said
}

// countPassedLocked moves the courier's place on. With Coalesce that happened when the changes were read.
func (l *courier) countPassedLocked() {
	s := &l.step
	if !l.listener.coalesces() && s.next > s.settled {
		l.mu.passed += int64(s.next - s.settled)
		l.mu.counted += int64(s.boundedSince(s.settled))
		if l.listener.overflow == block {
			l.listener.processor.madeRoom()
		}
	}
	s.settled = s.next
}

// backlogLocked is how many calls are outstanding, the running one included.
func (l *courier) backlogLocked() int64 {
	if l.mu.state != courierAtWork {
		return 0
	}
	behind := max(0, l.listener.processor.end.Load()-l.mu.passed)
	if l.listener.coalesces() {
		behind += int64(l.mu.pending.len())
		if l.mu.current.calling {
			behind++
		}
	}
	return behind
}

// call returns how long the running call has lasted, 0 without one, and how many calls are outstanding.
func (l *courier) call(now int64) (lasts time.Duration, backlog int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.current.calling {
		lasts = time.Duration(now - l.mu.current.since)
	}
	return lasts, l.backlogLocked()
}

// addFigures adds what is known of the courier's calls. Those of several couriers do not add up but for what coalesces: each
// of them looks at every notification.
func (l *courier) addFigures(all *figures, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all.working = all.working || l.mu.state == courierAtWork
	if work := l.mu.current; work.calling {
		all.calling = max(all.calling, time.Duration(now-work.since))
		all.oldest = max(all.oldest, time.Duration(now-work.at))
	}
	if l.listener.coalesces() {
		all.pending += int(l.backlogLocked())
	} else {
		all.pending = max(all.pending, int(l.backlogLocked()))
	}
	all.coalesced += l.mu.coalesced
	if l.mu.pending != nil {
		all.coalesced += l.mu.pending.merged
	}
	all.times.merge(&l.mu.times)
}

// checkSynced finds out whether the initial list is through.
func (l *courier) checkSynced() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkSyncedLocked()
}

func (l *courier) checkSyncedLocked() {
	if l.mu.sync != syncPending || l.mu.state == courierClosed {
		return
	}
	until := l.listener.processor.syncedAt.Load()
	if until == unknownPosition {
		return
	}
	if l.mu.state == courierAtWork && l.mu.passed < max(until, l.listener.joinedAt) {
		return
	}
	if l.listener.coalesces() && (l.mu.current.initial || l.mu.pending.initialLeft()) {
		return
	}
	l.mu.sync = syncDone
	l.listener.courierSynced()
}
