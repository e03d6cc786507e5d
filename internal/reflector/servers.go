// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
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
	// notices within a second that the server is back.
	laneSize = 4
	// A delay of a lane is 1 to laneStretch times as long as client-go's, up to longestTurn, once
	// the reflector has a state. Where client-go waits once more, we list as soon as the server has
	// answered: without longer delays, the lists of thousands of processes would come in half the
	// time. With 2000 processes, which have lost a server for 2, 5, 12, 30 or 60 s, the most lists
	// of any second are 0.7 to 1.05 times client-go's.
	laneStretch = 4
	longestTurn = 90 * time.Second
)

// Servers are the API servers that the reflectors of a process know to be lost, or to have been, by
// host and port. The zero value is ready.
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
		lost    map[*member]bool   // those that are not fresh, and whether a line has told so
		waiting map[*member]waiter // those that an answer wakes
		woken   time.Time          // when it last did
		blind   []time.Duration    // how long those were that a line has to tell to be fresh again
	}
}

// lane is a few reflectors that ask for a lost server in turn, as often as one would. Guarded by
// server.mu.
type lane struct {
	members int
	delay   wait.DelayFunc
}

// member is a reflector as its server knows it.
type member struct {
	name   string
	spread func() time.Duration // before it comes back
	lane   *lane
	asked  time.Time   // when the last pause of this outage ended; zero: there was none
	woken  atomic.Bool // it was cut short
}

// waiter is a pause of a reflector.
type waiter struct {
	timer clock.Timer
	due   time.Time
}

// join returns the server of a host, which the caller has to leave, and a lane of it.
func (l *Servers) join(host string) (*server, *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.known[host]
	if s == nil {
		s = &server{host: host}
		s.mu.lost, s.mu.waiting = map[*member]bool{}, map[*member]waiter{}
	}
	if host != "" {
		if l.mu.known == nil {
			l.mu.known = map[string]*server{}
		}
		l.mu.known[host] = s
	}
	s.refs++
	return s, s.lane()
}

func (l *Servers) leave(s *server, from *lane) {
	s.leave(from)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.refs--; s.refs == 0 {
		delete(l.mu.known, s.host)
	}
}

// lane returns one that has room.
func (s *server) lane() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.mu.lanes, func(l *lane) bool { return l.members < laneSize })
	if i < 0 {
		i = len(s.mu.lanes)
		s.mu.lanes = append(s.mu.lanes, &lane{delay: defaultBackoff().DelayWithReset(clock.RealClock{}, backoffReset)})
	}
	s.mu.lanes[i].members++
	return s.mu.lanes[i]
}

func (s *server) leave(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.members--
}

// turn returns how long to wait until it is a reflector's turn to ask: a delay after the last one
// of its lane.
func (s *server) turn(l *lane, now time.Time, stretch bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := now
	for o, w := range s.mu.waiting {
		if o.lane == l && w.due.After(last) {
			last = w.due
		}
	}
	delay := l.delay()
	if stretch {
		delay = stretched(delay)
	}
	return last.Sub(now) + delay
}

// stretched returns a random delay of a lane for one of client-go's.
func stretched(delay time.Duration) time.Duration {
	longest := min(time.Duration(laneStretch*float64(delay)), longestTurn)
	return delay + rand.N(max(longest-delay, 1))
}

// waits notes that a reflector waits, by a timer that rings after length. An answer makes it ring
// sooner, also one that has come since the request that has failed.
func (s *server) waits(o *member, timer clock.Timer, length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.mu.waiting[o] = waiter{timer, now.Add(length)}
	if !o.asked.IsZero() && o.asked.Before(s.mu.woken) {
		s.wakeLocked(o, s.mu.woken.Add(wakePace+o.spread()))
	}
}

// goesOn notes that a reflector does not wait any more.
func (s *server) goesOn(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.waiting, o)
}

// answered wakes all that wait, unless that was just done.
func (s *server) answered(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.woken.IsZero() && now.Sub(s.mu.woken) < wakePace {
		return
	}
	s.mu.woken = now
	for o := range s.mu.waiting {
		s.wakeLocked(o, now.Add(o.spread()))
	}
}

// wakeLocked makes a pause end at a time, if that is sooner.
func (s *server) wakeLocked(o *member, at time.Time) {
	if w := s.mu.waiting[o]; at.Before(w.due) {
		w.timer.Reset(time.Until(at))
		s.mu.waiting[o] = waiter{w.timer, at}
		o.woken.Store(true)
	}
}

// lose notes that a reflector has lost the server.
func (s *server) lose(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost[o] = false
}

// forget notes that a reflector that has lost the server ends.
func (s *server) forget(o *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.lost, o)
}

// find notes that a reflector is fresh again, after it was blind for so long. It reports whether
// that is to be told: at once, if it was the last one, or later.
func (s *server) find(o *member, blind time.Duration) (now, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.mu.lost[o]
	if delete(s.mu.lost, o); !told {
		return false, false
	}
	s.mu.blind = append(s.mu.blind, blind)
	now = s.missingLocked() == 0
	return now, !now && len(s.mu.blind) == 1
}

// missingLocked returns how many are not fresh of those that a line has told of.
func (s *server) missingLocked() (n int) {
	for _, told := range s.mu.lost {
		if told {
			n++
		}
	}
	return n
}

// warn returns those of which no line has told that they have lost the server. This one does.
func (s *server) warn() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o, told := range s.mu.lost {
		if !told {
			s.mu.lost[o] = true
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
