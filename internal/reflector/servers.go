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
	// returnSpread is the time over which reflectors return to a server, unless an option says
	// otherwise.
	returnSpread = time.Second
	// wakePace is the shortest time between two wakings of the reflectors that wait for a server. A
	// server that answers some and refuses others gets at most one request per wakePace from each
	// of them.
	wakePace = 5 * time.Second

	// laneSize is the number of reflectors of a process that send requests to a lost server in turn,
	// together as often as one of them would. With smaller lanes a process of few reflectors would
	// send as often as without lanes; with larger ones a process of sixty would not notice within a
	// second or two that the server is back.
	laneSize = 4
	// A delay of a lane is 1 to laneStretch times as long as client-go's, up to longestTurn, once
	// the reflector has a state. Where client-go waits once more, kinformer lists as soon as the
	// server has answered: without longer delays the lists of thousands of processes would arrive
	// in half the time. For 2000 processes of one informer, the table has the most lists in any
	// second relative to client-go (first line), and the seconds after which half of the processes
	// were up to date (second line). TestHerd logs the lists of the worst second for some of these times.
	//
	//	away for         2 s    5 s    8 s    12 s   20 s   30 s   38 s   60 s   300 s
	//	up to 4 times    0.89   0.84   1.22   0.97   1.87   0.93   1.71   0.70   0.82
	//	                 1.7    3.8    4.1    7.2    8.7    14.9   15.6   28.9   34.1
	//	up to 6 times    0.59   0.95   0.90   1.03   1.45   1.08   1.59   0.76   0.85
	//	                 2.8    3.7    5.6    6.2    11.1   13.3   19.4   23.5   33.5
	//	up to 8 times    0.45   0.86   0.99   0.84   1.55   0.87   1.70   0.69   0.83
	//	                 3.9    4.0    6.4    7.8    11.3   15.6   20.0   27.6   34.0
	//
	// After 20 s and 38 s client-go has 4 % and 2.6 % of its lists in its worst second. At that
	// rate half of the processes would wait for 12 s and 19 s, at best.
	laneStretch = 6
	longestTurn = 90 * time.Second

	// The delays of lanes grow: after a minute without a server, those of fifteen lanes leave gaps
	// of ten seconds. Therefore the reflectors of manyLanes or more form one queue, of which one
	// sends a request each pace or sooner. That is a third of the requests that client-go sends in
	// a minute.
	manyLanes = 8
	pace      = time.Second
)

// Servers are the API servers, by host and port, that reflectors of a process have lost. It also
// paces the log lines of these reflectors about requests that hang, of any server. The zero value
// is ready for use.
type Servers struct {
	hangs hangLines

	mu struct {
		sync.Mutex
		byHost map[string]*server
	}
}

var processServers Servers

// server is the state that reflectors share while they have lost one API server: the order of their
// requests, the first answer, which wakes all of them, and the log lines.
type server struct {
	host string // "" if it is not known; then only one reflector has this server
	refs int    // the number of reflectors that have joined; guarded by Servers.mu

	mu struct {
		sync.Mutex
		lanes   []*lane
		queued  time.Time            // when the last reflector in the queue of many lanes sends its request
		lost    map[*member]struct{} // the reflectors that are not up to date
		waiting map[*member]waiter   // the reflectors that an answer wakes
		heard   time.Time            // the time of the last answer
		wake    time.Time            // when waiting reflectors were last woken, or will be
		blind   []time.Duration      // the outages of returned reflectors that were not logged yet
	}
}

// lane is a group of up to laneSize reflectors that request from a lost server in turn, together as
// often as one of them would. It is guarded by server.mu.
type lane struct {
	members int
	turns   map[*member]time.Time // when the waiting reflectors send their requests
	backoff wait.Backoff
	last    time.Time // when the last wait ended
}

// member is a reflector that has lost a server.
type member struct {
	name   func() string
	spread func() time.Duration // returns the random delay before it returns to the server
	lane   *lane                // nil before its first turn; guarded by server.mu
	logged bool                 // whether a log line has named it as lost; guarded by server.mu
	asked  time.Time            // when its last request began, or its last watch ended
	woken  atomic.Bool          // whether an answer has cut its pause short
}

// waiter is the pause of a reflector.
type waiter struct {
	timer clock.Timer
	due   time.Time
}

// join returns the server of a host. The caller must call leave.
func (l *Servers) join(host string) *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.byHost[host]
	if s == nil {
		s = &server{host: host}
		s.mu.lost, s.mu.waiting = map[*member]struct{}{}, map[*member]waiter{}
	}
	if host != "" {
		if l.mu.byHost == nil {
			l.mu.byHost = map[string]*server{}
		}
		l.mu.byHost[host] = s
	}
	s.refs++
	return s
}

func (l *Servers) leave(s *server, o *member) {
	s.forget(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.refs--; s.refs == 0 {
		delete(l.mu.byHost, s.host)
	}
}

// forget records that a reflector has changed to another server, or ends.
func (s *server) forget(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
	if o.lane != nil {
		o.lane.members--
		o.lane = nil
	}
}

// laneLocked returns a lane with room, counting the caller in.
func (s *server) laneLocked() *lane {
	i := slices.IndexFunc(s.mu.lanes, func(l *lane) bool { return l.members < laneSize })
	if i < 0 {
		i = len(s.mu.lanes)
		s.mu.lanes = append(s.mu.lanes, &lane{turns: map[*member]time.Time{}})
	}
	s.mu.lanes[i].members++
	return s.mu.lanes[i]
}

// turn returns the delay before a reflector's next request: after the last request of its lane or,
// if there are many lanes, a pace after the last one of all. stretch selects the longer delays of a
// reflector that has a state.
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

// stretched returns a random delay of a lane for a delay of client-go.
func stretched(delay time.Duration) time.Duration {
	longest := min(time.Duration(laneStretch*float64(delay)), longestTurn)
	return delay + rand.N(max(longest-delay, 1))
}

// waits records that a reflector waits by a timer that rings after length. An answer makes the
// timer ring sooner, including an answer since the reflector's failed request began.
func (s *server) waits(o *member, timer clock.Timer, length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting[o] = waiter{timer, time.Now().Add(length)}
	if o.asked.Before(s.mu.heard) {
		s.wakeLocked(o)
	}
}

// goesOn records that a reflector no longer waits. If it has given up before its turn, the last
// reflector of its lane gets the turn.
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

// answered wakes all waiting reflectors, at once or wakePace after the last waking.
func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.heard = time.Now()
	if !s.mu.wake.After(s.mu.heard) {
		s.mu.wake = latest(s.mu.heard, s.mu.wake.Add(wakePace))
		s.mu.queued = time.Time{} // every waiting reflector is woken
	}
	for o := range s.mu.waiting {
		s.wakeLocked(o)
	}
}

// wakeLocked wakes a reflector once: together with the others, or now if these were woken before.
func (s *server) wakeLocked(o *member) {
	if !o.woken.Load() {
		at := latest(time.Now(), s.mu.wake).Add(o.spread())
		o.woken.Store(s.hastenLocked(o, at))
	}
}

// hastenLocked makes a pause end at a given time, and reports whether that is sooner.
func (s *server) hastenLocked(o *member, at time.Time) bool {
	w, waits := s.mu.waiting[o]
	if !waits || !at.Before(w.due) {
		return false
	}
	w.timer.Reset(time.Until(at))
	s.mu.waiting[o] = waiter{w.timer, at}
	return true
}

// lose records that a reflector has lost the server.
func (s *server) lose(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost[o] = struct{}{}
}

// find records that a reflector is up to date again, after an outage of the given length. It
// returns how many reflectors have returned since the last log line, and how many are missing.
func (s *server) find(o *member, blind time.Duration) (back, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
	if o.logged {
		o.logged = false
		s.mu.blind = append(s.mu.blind, blind)
	}
	return len(s.mu.blind), s.missingLocked()
}

// missingLocked returns how many of the reflectors that a log line has named are not up to date.
func (s *server) missingLocked() (n int) {
	for o := range s.mu.lost {
		if o.logged {
			n++
		}
	}
	return n
}

// isLogged reports whether a log line has named a reflector as lost.
func (s *server) isLogged(o *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.logged
}

// warn returns the names of the lost reflectors that were not logged yet, and counts them as
// logged.
func (s *server) warn() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.mu.lost {
		if !o.logged {
			o.logged = true
			names = append(names, o.name())
		}
	}
	slices.Sort(names)
	return names
}

// returned returns the outages, sorted, of the reflectors that have returned since the last log
// line, and how many logged reflectors are still missing.
func (s *server) returned() (blind []time.Duration, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blind, s.mu.blind = s.mu.blind, nil
	slices.Sort(blind)
	return blind, s.missingLocked()
}

// hangLines paces the log lines of a process's reflectors about hanging requests. A line that is
// not written is counted by a later one.
type hangLines struct {
	mu struct {
		sync.Mutex
		last    time.Time // when a line was written
		asked   uint64    // the number of tickets
		settled uint64    // the last ticket whose line was written or counted
	}
}

// turn decides about a reflector's line. It assigns *ticket if that is 0. It returns the time after
// which to call turn again, or 0; the number of other lines that this line counts; and whether the
// line is to be written now.
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

// hangPace is the shortest time between two lines about hanging requests, for the whole process: a
// server that does not answer affects all reflectors.
const hangPace = time.Second

const (
	// The delays grow from 0.8 s to a cap of 30 s, at most doubled by the jitter. A server with
	// faults gets one request in 30-60 s from each reflector, a fiftieth of the requests without
	// backoff. A new series begins every 2 minutes; for a lane, 2 minutes after the last wait.
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
		Steps:    int(math.Ceil(float64(backoffCap) / float64(backoffFirst))), // more than needed to reach the cap
		Factor:   backoffFactor,
		Jitter:   backoffJitter,
	}
}
