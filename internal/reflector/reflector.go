// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reflector keeps a sink equal, eventually, to a collection on the server: it takes the whole state
// by a list or a watch-list stream, then follows it by watches, and starts over when it loses the
// thread. A machine does the work, round by round.
//
// Guarantees:
//   - The sink is called by one goroutine at a time, in the order of the server's events.
//   - Every wait ends at once when the context does. A ListerWatcher that ignores its context is
//     left behind: what it returns later is dropped, a watch is stopped. None of its methods is
//     called after Run has returned.
//   - Nothing that the server or the ListerWatcher sends makes the reflector panic, except that a
//     panic inside the ListerWatcher is thrown again in the goroutine that runs the reflector.
//   - Objects never appear in logs or errors, only their types and keys.
//
// At most one Run or ListAndWatch at a time; Version may be called by anyone at any time.
type Reflector struct {
	state *memory
}

// New makes a reflector that is not running yet. Whether rounds begin with a watch-list stream is
// decided here, by the WatchListClient gate as it is now and by what o.ListerWatcher says about
// itself.
func New(o Options) *Reflector { return &Reflector{newMemory(o.withDefaults())} }

// Run reflects until ctx ends, and returns then without delay, whatever the ListerWatcher does, or
// until a decision stops it. Rounds that end are followed by another one after a backoff; errors go
// to OnError.
func (r *Reflector) Run(ctx context.Context) {
	m := newMachine(r.state)
	options := m.round.options
	options.tell(ctx, stateStarted, "resyncPeriod", options.ResyncPeriod)
	m.roundOver = m.scheduleRound
	defer options.Journal.enter(Stopped)
	defer m.begin()()
	if options.Spread > 0 {
		m.phase = m.restAfterRound(rand.N(options.Spread), false)
	}
	for m.phase != Stopped {
		m.stepOrCrash(ctx)
	}
	if ctx.Err() != nil { // else a decision has stopped it, and said so
		options.tell(ctx, stateStopped, "synced", r.state.synced)
	}
}

// ListAndWatch runs one round: the whole state, then watches until one ends in a way that needs the
// whole state again. It returns nil when ctx ended or an established watch broke, and an error when
// a list failed or a watch could not be started. It does not call OnError.
func (r *Reflector) ListAndWatch(ctx context.Context) error {
	var result error
	m := newMachine(r.state)
	m.roundOver = func(_ context.Context, err error) Phase {
		result = err
		return Stopped
	}
	defer m.begin()()
	for m.phase != Stopped {
		m.step(ctx)
	}
	return result
}

// Version returns the version that the reflector would watch from now; "" before the first list.
// The sink may still be busy with that version.
func (r *Reflector) Version() string { return r.state.Version() }

// Name returns the name of the reflector in logs.
func (r *Reflector) Name() string { return r.state.reader.options.Name }

// Streams reports whether rounds begin with a watch-list.
func (r *Reflector) Streams() bool { return r.state.opening == Streaming }

// Admits returns a function that says why a reflector of these options leaves an item of a list
// out, nil for one that it admits. The function also trims such an item, as the reflector does.
func (o Options) Admits() func(item runtime.Object) error { return o.expectation().admitItem }

// Call calls send as a reflector of these options does, beside it, and waits until ctx ends, even
// if send does not heed that. Its status says nothing of it.
func (o Options) Call(ctx context.Context, send func(context.Context) (runtime.Object, error)) (runtime.Object, error) {
	o.Journal = nil
	o = o.withDefaults()
	silent := newTimers(&o)
	got, err := request(ctx, &silent, send, func(runtime.Object) {})
	if errors.Is(err, errStopped) {
		return nil, context.Cause(ctx)
	}
	return got, err
}
