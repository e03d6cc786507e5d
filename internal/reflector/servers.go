// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// returnSpread is the time over which reflectors return to a server, unless an option says
	// otherwise.
	returnSpread = time.Second
	// wakePace is the shortest time between two wakings of the reflectors that wait for a server.
	wakePace = 5 * time.Second
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

// server is the state that reflectors share while they have lost one API server: the first answer,
// which wakes all of them, and the log lines.
type server struct {
	host string       // "" if it is not known; then only one reflector has this server
	refs atomic.Int32 // the number of reflectors that have joined; changed under Servers.mu

	mu struct {
		sync.Mutex
		lost    map[*member]struct{} // the reflectors that are not up to date
		waiting map[*member]waiter   // the reflectors that an answer wakes
		heard   time.Time            // the time of the last answer
		wake    time.Time            // when waiting reflectors were last woken, or will be
		part    float64              // the last random part; 0 if there was none
		blind   []time.Duration      // the outages of returned reflectors that were not logged yet
	}
}

// member is a reflector that has lost a server.
type member struct {
	name    func() string
	spread  func() time.Duration // returns the random delay before it returns to the server
	jitters bool                 // whether an option has set that
	turns                        // guarded by server.mu
	logged  bool                 // whether a log line has named it as lost; guarded by server.mu
	asked   time.Time            // when its last request began, or its last watch ended
	woken   atomic.Bool          // whether an answer has cut its pause short
	listAt  time.Time            // when it lists then, if it has to; set before woken
}

// waiter is the pause of a reflector.
type waiter struct {
	timer clock.Timer
	due   time.Time
	lists bool // whether a list follows, rather than a watch
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
	s.refs.Add(1)
	return s
}

func (l *Servers) leave(s *server, o *member) {
	s.forget(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.refs.Add(-1) == 0 {
		delete(l.mu.byHost, s.host)
	}
}

// forget records that a reflector has changed to another server, or ends.
func (s *server) forget(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
}

// turn returns the delay before a reflector's next request. The first one of an outage is random;
// those of a process's reflectors are spread evenly.
func (s *server) turn(o *member) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.next(time.Now(), func() float64 {
		if s.mu.part == 0 {
			s.mu.part = rand.Float64()
		}
		s.mu.part = nextPart(s.mu.part)
		return s.mu.part
	})
}

// returns reports whether a reflector returns at once to the server, which has answered.
func (s *server) returns(o *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.turns.returns()
}

// waits records that a reflector waits by a timer that rings after length. An answer makes the
// timer ring sooner, including an answer since the reflector's failed request began.
func (s *server) waits(o *member, timer clock.Timer, length time.Duration, lists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting[o] = waiter{timer, time.Now().Add(length), lists}
	if o.asked.Before(s.mu.heard) {
		s.wakeLocked(o)
	}
}

// goesOn records that a reflector no longer waits.
func (s *server) goesOn(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.waiting, o)
}

// answered wakes all waiting reflectors, at once or wakePace after the last waking.
func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.heard = time.Now()
	if !s.mu.wake.After(s.mu.heard) {
		s.mu.wake = latest(s.mu.heard, s.mu.wake.Add(wakePace))
	}
	for o := range s.mu.waiting {
		s.wakeLocked(o)
	}
}

// wakeLocked wakes a reflector once: together with the others, or now if these were woken before.
// Its watch is opened soon. A list that has to follow waits longer, unless an option says how long.
func (s *server) wakeLocked(o *member) {
	w, waits := s.mu.waiting[o]
	if !waits || o.woken.Load() || !o.mayWake() {
		return
	}
	from := latest(time.Now(), s.mu.wake)
	at := from.Add(o.spread())
	if o.listAt = at; !o.jitters {
		o.listAt = from.Add(o.listsAfter(from, w.due.Sub(from), int(s.refs.Load())))
		if w.lists || o.listAt.Before(at) {
			at = o.listAt
		}
	}
	if at.Before(w.due) {
		w.timer.Reset(time.Until(at))
		o.tried = true
		o.woken.Store(true)
	}
}

// lose records that a reflector has lost the server.
func (s *server) lose(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost[o] = struct{}{}
}

// find records that a reflector is up to date again, after an outage of the given length. It
// returns how many reflectors have returned since the last log line, and how many are missing.
func (s *server) find(o *member, blind time.Duration) (returned, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
	o.caughtUp(time.Now())
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
		last  time.Time // when a line was written
		asked uint64    // the number of tickets
		told  uint64    // the last ticket whose line was written or counted
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
	if *ticket <= l.mu.told {
		return 0, 0, false
	}
	if since := now.Sub(l.mu.last); since >= 0 && since < hangPace {
		return hangPace - since, 0, false
	}
	others = l.mu.asked - l.mu.told - 1
	l.mu.last, l.mu.told = now, l.mu.asked
	return 0, others, true
}

// hangPace is the shortest time between two lines about hanging requests, for the whole process: a
// server that does not answer affects all reflectors.
const hangPace = time.Second
