// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"math/rand/v2"

	"k8s.io/klog/v2"
)

// reflector keeps a sink equal, eventually, to a collection on the server: it takes the whole state by a list or a
// watch-list stream, then follows it by watches, and starts over when it loses the thread. A machine does the work, round by
// round.
//
// Guarantees:
//   - The sink is called by one goroutine at a time, in the order of the server's events.
//   - Every wait ends at once when the context does. A ListerWatcher that ignores its context is left behind: what it
//     returns later is dropped, a watch is stopped. None of its methods is called after run has returned.
//   - Nothing that the server or the ListerWatcher sends makes the reflector panic, except that a panic inside the
//     ListerWatcher is thrown again in the goroutine that runs the reflector.
//   - Objects never appear in logs or errors, only their types and keys.
//
// At most one run or listAndWatch at a time; version may be called by anyone at any time.
type reflector struct {
	*memory
}

// newReflector makes a reflector that is not running yet. Whether rounds begin with a watch-list stream is decided
// here, by the WatchListClient gate as it is now and by what o.listerWatcher says about itself.
func newReflector(o reflectorOptions) *reflector {
	return &reflector{newMemory(o.withDefaults())}
}

// run reflects until ctx ends, and returns then without delay, whatever the ListerWatcher does, or until a decision
// stops it. Rounds that end are followed by another one after a backoff; errors go to onError.
func (r *reflector) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.V(3).Info("Starting reflector", "reflector", r.name, "type", r.typeDescription, "resyncPeriod", r.resyncPeriod)
	m := newMachine(r.memory)
	m.roundOver = m.scheduleRound
	defer r.report.enter(stopped)
	if r.startJitter > 0 {
		m.phase = m.restAfterRound(rand.N(r.startJitter))
	}
	defer m.outage.end()
	defer m.close()
	for m.phase != stopped {
		m.stepOrCrash(ctx)
	}
	logger.V(3).Info("Stopping reflector", "reflector", r.name, "type", r.typeDescription, "resyncPeriod", r.resyncPeriod)
}

// listAndWatch runs one round: the whole state, then watches until one ends in a way that needs the whole state again.
// It returns nil when ctx ended or an established watch broke, and an error when a list failed or a watch could not be
// started. It does not call onError.
func (r *reflector) listAndWatch(ctx context.Context) error {
	var result error
	m := newMachine(r.memory)
	m.roundOver = func(_ context.Context, err error) reflectorPhase {
		result = err
		return stopped
	}
	defer m.outage.end()
	defer m.close()
	for m.phase != stopped {
		m.step(ctx)
	}
	return result
}

// streams reports whether rounds begin with a watch-list.
func (r *reflector) streams() bool { return r.opening == streaming }

// version returns the version that the reflector would watch from now; "" before the first list. The
// sink may still be busy with that version.
func (r *reflector) version() string {
	return r.position.version()
}
