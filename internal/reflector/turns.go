// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// A reflector that has lost its server asks again after a random time, firstTurn to 1.9 times as
	// long, and from then on after turnShare of the time since the loss, up to longestTurn. Uniformly
	// random times remain so when they are multiplied: whenever the server returns, the reflectors of
	// all processes ask at uniformly random times within the next delay. Each lists, if it has to,
	// when it would have asked by itself, even if it was woken before; so the lists are spread, too.
	// Random delays of the same average would have a third more lists in the worst second, a longestTurn
	// of 10 s twice the requests, one of 30 s more lists in the worst second of 30 processes of 60.
	firstTurn   = 880 * time.Millisecond
	turnShare   = 0.9
	longestTurn = 20 * time.Second

	// Many reflectors of a process list sooner than that: in the same order, over fleetWindow divided
	// by their number, because a fleet has fewer processes of them, plus listPace for each. That holds
	// for some two thousand informers in all, from 2000 processes of one to 10 of 200, after outages of
	// 2 s to 5 min: see TestHerd and TestHerdOfOtherLengths. A larger fleet comes back more densely.
	fleetWindow = 120 * time.Second
	listPace    = 27 * time.Millisecond

	// maxInVain is how many wakings may be in vain before a reflector is not woken any more, until a new
	// series of delays. A server that answers some requests and refuses others would wake it again and
	// again.
	maxInVain = 3
)

// turns are the delays of a reflector between its requests to a server that is out of reach. A series of
// delays ends backoffReset after the last one began. The outages of a series count as one, without the time
// between them.
type turns struct {
	began  time.Time // when the series began
	last   time.Time // when its last delay began
	waited bool      // whether a delay has begun since the reflector was up to date
	fresh  time.Time // when the reflector was up to date again after the last outage of the series
	tried  bool      // whether the reflector was woken, or has returned, since the last delay began
	inVain int       // how often in the series that was in vain
}

// next begins a delay and returns its length. part returns a random part of the first delay of an outage.
func (t *turns) next(now time.Time, part func() float64) time.Duration {
	if now.Sub(t.last) > backoffReset {
		t.began, t.inVain = now, 0
	} else {
		if !t.waited {
			t.began = t.began.Add(now.Sub(t.fresh))
		}
		if t.tried {
			t.inVain++
		}
	}
	t.last, t.tried = now, false
	length := t.length(now)
	if t.waited {
		return length
	}
	t.waited = true
	return firstTurn + time.Duration(part()*float64(length))
}

// caughtUp records that the reflector is up to date.
func (t *turns) caughtUp(now time.Time) {
	if t.waited {
		t.fresh = now
	}
	t.waited, t.tried = false, false
}

// length returns the length of a delay that begins now.
func (t *turns) length(now time.Time) time.Duration {
	return min(time.Duration(turnShare*float64(max(firstTurn, now.Sub(t.began)))), longestTurn)
}

// mayWake reports whether an answer to another reflector cuts the delay short.
func (t *turns) mayWake() bool { return t.inVain < maxInVain }

// returns reports whether the request after an answer is sent without a backoff: unless that was in vain.
func (t *turns) returns() bool {
	t.tried = true
	return t.inVain == 0
}

// listsAfter returns the delay of a list after a waking, of one of n reflectors of a process whose turn would
// have come after left.
func (t *turns) listsAfter(woken time.Time, left time.Duration, n int) time.Duration {
	length := t.length(woken)
	window := min(fleetWindow/time.Duration(n)+listPace*time.Duration(n), length)
	share := min(float64(left)/float64(length), 1) // left is longer than a delay only if that is the user's
	return time.Duration(share * float64(window))
}

// nextPart returns a part of 1 that is far from those before it.
func nextPart(last float64) float64 {
	_, part := math.Modf(last + math.Phi)
	return part
}

const (
	// The delays grow from 0.8 s to a cap of 30 s, at most doubled by the jitter. A new series begins
	// every 2 minutes, so that a server with faults gets a request in some 20 s from each reflector;
	// while no server answers, see turns.
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
