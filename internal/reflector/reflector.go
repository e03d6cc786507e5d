// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reflector keeps a sink equal, eventually, to a collection on the server. It fetches the
// collection by a list or a watch-list, follows it by watches, and starts over when a watch cannot
// be continued.
//
// Guarantees:
//   - The sink is called by one goroutine at a time, in the order of the server's events.
//   - Every wait ends at once when the context does. If a ListerWatcher ignores its context, its
//     results are dropped when they arrive, and a watch is stopped. None of its methods is called
//     after Run has returned.
//   - Nothing that the server or the ListerWatcher sends makes the reflector panic. A panic inside
//     the ListerWatcher is repeated in the goroutine that runs the reflector.
//   - Logs and errors have types and keys of objects, never their content.
//
// At most one Run or ListAndWatch may run at a time. Version may be called at any time.
type Reflector struct {
	state *persistentState
}

// New returns a reflector that is not running. It decides whether rounds begin with a watch-list,
// by the current value of the WatchListClient gate and by the capabilities of o.ListerWatcher.
func New(o Options) *Reflector { return &Reflector{newPersistentState(o.withDefaults())} }

// Run runs rounds until ctx ends or a Decision stops the reflector. When ctx ends it returns
// without delay, even if the ListerWatcher ignores ctx. A round that ends is followed by another
// one after a backoff; errors are passed to OnError.
func (r *Reflector) Run(ctx context.Context) {
	m := newMachine(r.state)
	options := m.round.options
	options.logState(ctx, stateStarted, "resyncPeriod", options.ResyncPeriod)
	m.roundOver = m.scheduleRound
	defer options.Journal.enter(Stopped)
	defer m.begin()()
	if options.Spread > 0 {
		m.phase = m.restAfterRound(rand.N(options.Spread), false)
	}
	for m.phase != Stopped {
		m.stepOrCrash(ctx)
	}
	if ctx.Err() != nil { // else the Decision that stopped it was logged
		options.logState(ctx, stateStopped, "synced", r.state.is(published))
	}
}

// ListAndWatch runs one round: it lists the collection and watches it until a new list is needed.
// It returns nil if ctx ended or an established watch broke, and an error if a list failed or a
// watch could not be started. It does not call OnError.
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

// Version returns the resource version from which the reflector would watch now, or "" before the
// first list. The sink may not have processed that version yet.
func (r *Reflector) Version() string { return r.state.Version() }

// Name returns the name of the reflector in logs.
func (r *Reflector) Name() string { return r.state.reader.options.Name }

// Streams reports whether rounds begin with a watch-list.
func (r *Reflector) Streams() bool { return r.state.opening == Streaming }

// Admits returns a function that returns nil for a list item that a reflector of these options
// admits, and otherwise the reason for leaving it out. The function also trims an admitted item, as
// the reflector does.
func (o Options) Admits() func(item runtime.Object) error {
	expects := o.expectation()
	return func(item runtime.Object) error { return expects.admitItem(item, false) }
}

// Call calls send as a reflector of these options does, and returns when ctx ends even if send
// ignores ctx. The call does not appear in the reflector's status.
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
