// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// returnSpread is the time over which reflectors come back to a server, unless an option says
	// otherwise.
	returnSpread = time.Second
	// wakePace is the time between two wakings of those who wait for a server. One that answers
	// some and refuses others costs each of them a request in so long, at most.
	wakePace = 5 * time.Second

	// laneSize is how many reflectors of a process ask for a lost server in turn. A process of few
	// must not bring all of them down on a server as often as each alone would; one of sixty
	// notices within a second or two that the server is back.
	laneSize = 4
	// A delay of a lane is 1 to laneStretch times as long as client-go's, up to longestTurn, once
	// the reflector has a state. Where client-go waits once more, we list as soon as the server has
	// answered: without longer delays, the lists of thousands of processes would come in half the
	// time. With 2000 processes of one informer, the most lists of any second are so many times
	// client-go's, and half of the processes wait so many seconds for the server that is back:
	//
	//	away for         2 s    5 s    8 s    12 s   20 s   30 s   38 s   60 s   300 s
	//	up to 4 times    0.89   0.84   1.22   0.97   1.87   0.93   1.71   0.70   0.82
	//	                 1.7    3.8    4.1    7.2    8.7    14.9   15.6   28.9   34.1
	//	up to 6 times    0.59   0.95   0.90   1.03   1.45   1.08   1.59   0.76   0.85
	//	                 2.8    3.7    5.6    6.2    11.1   13.3   19.4   23.5   33.5
	//	up to 8 times    0.45   0.86   0.99   0.84   1.55   0.87   1.70   0.69   0.83
	//	                 3.9    4.0    6.4    7.8    11.3   15.6   20.0   27.6   34.0
	//
	// After 20 and 38 s client-go has 4 % and 2.6 % of its lists in its worst second. At that rate
	// half of the processes would wait for 12 s and 19 s, at best.
	laneStretch = 6
	longestTurn = 90 * time.Second

	// The delays of lanes grow: after a minute without a server, those of fifteen lanes leave gaps of
	// ten seconds. The reflectors of manyLanes or more therefore form one queue, of which one asks
	// each pace or sooner. That is still a third of the requests that client-go sends in a minute.
	manyLanes = 8
	pace      = time.Second
)

// Servers are the API servers that the reflectors of a process know to be lost, or to have been, by
// host and port. The lines that these reflectors write about requests that hang, of whichever
// server, take turns here, too. The zero value is ready.
type Servers struct {
	hangs hangLines

	mu struct {
		sync.Mutex
		known map[string]*server
	}
}

var processServers Servers

// server is what those have in common that have lost one API server: how often they ask for it,
// that all hear of the first answer, and the lines in the log.
type server struct {
	host string // "": it is not known, and only one reflector has this server
	refs int    // reflectors that have joined. Guarded by Servers.mu

	mu struct {
		sync.Mutex
		lanes   []*lane
		queued  time.Time            // when the last one in the queue of many lanes asks
		lost    map[*member]struct{} // those that are not fresh
		waiting map[*member]waiter   // those that an answer wakes
		heard   time.Time            // the last answer
		wake    time.Time            // when those that waited for it were woken, or are to be
		blind   []time.Duration      // how long those were that a line has to tell to be fresh again
	}
}

// lane is a few reflectors that ask for a lost server in turn, as often as one would. Guarded by
// server.mu.
type lane struct {
	members int
	turns   map[*member]time.Time // of those that wait for theirs
	backoff wait.Backoff
	last    time.Time // when such a wait has ended
}

// member is a reflector as its server knows it.
type member struct {
	name   string
	spread func() time.Duration // before it comes back
	lane   *lane                // nil: it has had no turn. Guarded by server.mu
	told   bool                 // a line has told that it has lost its server. Guarded by server.mu
	asked  time.Time            // when its last request began, or its last watch has ended
	woken  atomic.Bool          // its pause was cut short by an answer
}

// waiter is a pause of a reflector.
type waiter struct {
	timer clock.Timer
	due   time.Time
}

// join returns the server of a host, which the caller has to leave.
func (l *Servers) join(host string) *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.known[host]
	if s == nil {
		s = &server{host: host}
		s.mu.lost, s.mu.waiting = map[*member]struct{}{}, map[*member]waiter{}
	}
	if host != "" {
		if l.mu.known == nil {
			l.mu.known = map[string]*server{}
		}
		l.mu.known[host] = s
	}
	s.refs++
	return s
}

func (l *Servers) leave(s *server, o *member) {
	s.forget(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.refs--; s.refs == 0 {
		delete(l.mu.known, s.host)
	}
}

// forget notes that a reflector has another server now, or ends.
func (s *server) forget(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
	if o.lane != nil {
		o.lane.members--
		o.lane = nil
	}
}

// laneLocked returns one that has room.
func (s *server) laneLocked() *lane {
	i := slices.IndexFunc(s.mu.lanes, func(l *lane) bool { return l.members < laneSize })
	if i < 0 {
		i = len(s.mu.lanes)
		s.mu.lanes = append(s.mu.lanes, &lane{turns: map[*member]time.Time{}})
	}
	s.mu.lanes[i].members++
	return s.mu.lanes[i]
}

// turn returns how long to wait until it is a reflector's turn to ask: a delay after the last one
// of its lane or, where there are many lanes, a pace after the last one of all.
func (s *server) turn(o *member, stretch bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.lane == nil {
		o.lane = s.laneLocked()
	}
	l, now := o.lane, time.Now()
	if stretch && len(s.mu.lanes) >= manyLanes {
		s.mu.queued = latest(now, s.mu.queued).Add(pace/2 + rand.N(pace/2))
		l.turns[o] = s.mu.queued
		return s.mu.queued.Sub(now)
	}
	last := now
	for _, due := range l.turns {
		last = latest(last, due)
	}
	if len(l.turns) == 0 && now.Sub(l.last) > backoffReset {
		l.backoff = *defaultBackoff()
	}
	delay := l.backoff.Step()
	if stretch {
		delay = stretched(delay)
	}
	l.turns[o] = last.Add(delay)
	return l.turns[o].Sub(now)
}

// stretched returns a random delay of a lane for one of client-go's.
func stretched(delay time.Duration) time.Duration {
	longest := min(time.Duration(laneStretch*float64(delay)), longestTurn)
	return delay + rand.N(max(longest-delay, 1))
}

// waits notes that a reflector waits, by a timer that rings after length. An answer makes it ring
// sooner, also one that has come since the request began that has failed.
func (s *server) waits(o *member, timer clock.Timer, length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting[o] = waiter{timer, time.Now().Add(length)}
	if o.asked.Before(s.mu.heard) {
		s.wakeLocked(o)
	}
}

// goesOn notes that a reflector does not wait any more. If it has given up before its turn came,
// the last one of its lane has that.
func (s *server) goesOn(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.waiting, o)
	if o.lane == nil {
		return
	}
	l, now := o.lane, time.Now()
	due, had := l.turns[o]
	if !had {
		return
	}
	delete(l.turns, o)
	if l.last = now; !now.Before(due) || o.woken.Load() {
		return
	}
	last := o
	for other, at := range l.turns {
		if at.After(latest(due, l.turns[last])) {
			last = other
		}
	}
	if last != o {
		l.turns[last] = due
		s.hastenLocked(last, due)
	}
}

// answered wakes all that wait, at once or wakePace after the last time.
func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.heard = time.Now()
	if !s.mu.wake.After(s.mu.heard) {
		s.mu.wake = latest(s.mu.heard, s.mu.wake.Add(wakePace))
		s.mu.queued = time.Time{} // those that wait are woken
	}
	for o := range s.mu.waiting {
		s.wakeLocked(o)
	}
}

// wakeLocked wakes a reflector with the others, or now if these were woken before, once.
func (s *server) wakeLocked(o *member) {
	if !o.woken.Load() {
		at := latest(time.Now(), s.mu.wake).Add(o.spread())
		o.woken.Store(s.hastenLocked(o, at))
	}
}

// hastenLocked makes a pause end at a time, if that is sooner.
func (s *server) hastenLocked(o *member, at time.Time) bool {
	w, waits := s.mu.waiting[o]
	if !waits || !at.Before(w.due) {
		return false
	}
	w.timer.Reset(time.Until(at))
	s.mu.waiting[o] = waiter{w.timer, at}
	return true
}

// lose notes that a reflector has lost the server.
func (s *server) lose(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost[o] = struct{}{}
}

// find notes that a reflector is fresh again, after it was blind for so long. It returns of how
// many a line has to tell that, and how many are still missing.
func (s *server) find(o *member, blind time.Duration) (back, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
	if o.told {
		o.told = false
		s.mu.blind = append(s.mu.blind, blind)
	}
	return len(s.mu.blind), s.missingLocked()
}

// missingLocked returns how many are not fresh of those that a line has told of.
func (s *server) missingLocked() (n int) {
	for o := range s.mu.lost {
		if o.told {
			n++
		}
	}
	return n
}

// hasTold reports whether a line has told that a reflector has lost its server.
func (s *server) hasTold(o *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.told
}

// warn returns those of which no line has told that they have lost the server. This one does.
func (s *server) warn() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.mu.lost {
		if !o.told {
			o.told = true
			names = append(names, o.name)
		}
	}
	slices.Sort(names)
	return names
}

// returned returns how long those were blind of whom no line has told that they are fresh again, in
// order, and how many still are of those it should tell of.
func (s *server) returned() (blind []time.Duration, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blind, s.mu.blind = s.mu.blind, nil
	slices.Sort(blind)
	return blind, s.missingLocked()
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

// hangPace is the time between two lines about what hangs, for the whole process: a server that
// does not answer does so for all reflectors.
const hangPace = time.Second

const (
	// The delays grow from 0.8 s to a cap of 30 s, doubled by the jitter at most, so that a sick
	// server sees one request in 30-60 s from each reflector, a fiftieth of what it gets without
	// backoff. Every 2 minutes a new series begins; that of a lane, 2 minutes after the last wait.
	backoffFirst  = 800 * time.Millisecond
	backoffCap    = 30 * time.Second
	backoffFactor = 2.0
	backoffJitter = 1.0
	backoffReset  = 2 * time.Minute
)

func defaultBackoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: backoffFirst,
		Cap:      backoffCap,
		Steps:    int(math.Ceil(float64(backoffCap) / float64(backoffFirst))), // more than it takes to reach the cap
		Factor:   backoffFactor,
		Jitter:   backoffJitter,
	}
}
