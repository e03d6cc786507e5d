// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
)

// handlerKind is a way to be told. Every informer has a handler of each. Client-go's informers call
// all of them like any other.
type handlerKind struct {
	name     string
	delivery kinformer.Delivery
	lossless bool // every state is told, not only the last one
}

var handlerKinds = []handlerKind{
	{"lossless", kinformer.Delivery{}, true},
	{"coalesce", kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}, false},
	{"block", kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 64}, true},
	{"parallel", kinformer.Delivery{Parallel: 4}, true},
}

// hearPatience is how long what was acknowledged may be on its way to a handler whose replica is as
// it should be: what was made and deleted at once does not show there.
const hearPatience = time.Minute

// behaviour is what a handler does beside noting what it was told. The zero value is nothing.
type behaviour struct {
	delay      time.Duration   // each call takes that long
	until      <-chan struct{} // each call waits for it
	panicEvery int64           // each call of that number panics after it has noted
}

// handler is a handler of an informer: a replica, and a behaviour that faults change.
type handler struct {
	kind         handlerKind
	name         string
	replica      *checker.Replica
	report       *report
	registration cache.ResourceEventHandlerRegistration
	behaviour    atomic.Pointer[behaviour]
	calls        atomic.Int64
	panics       atomic.Int64
	lost         chan struct{} // closed when a call of the initial list is about to panic
	lose         sync.Once
}

func newHandler(kind handlerKind, name string, ledger *checker.Ledger, r *report) *handler {
	h := &handler{kind: kind, name: name + " " + kind.name, report: r, lost: make(chan struct{})}
	h.behaviour.Store(&behaviour{})
	h.replica = checker.NewReplica(r.of(h.name))
	h.replica.Unordered, h.replica.Ledger = kind.delivery.Parallel > 1, ledger
	return h
}

// OnAdd implements ResourceEventHandler.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	h.call(isInInitialList, func() { h.replica.OnAdd(obj, isInInitialList) })
}

// OnUpdate implements ResourceEventHandler.
func (h *handler) OnUpdate(old, obj any) { h.call(false, func() { h.replica.OnUpdate(old, obj) }) }

// OnDelete implements ResourceEventHandler.
func (h *handler) OnDelete(obj any) { h.call(false, func() { h.replica.OnDelete(obj) }) }

func (h *handler) call(initial bool, note func()) {
	b := h.behaviour.Load()
	if b.until != nil {
		<-b.until
	}
	if b.delay > 0 {
		<-time.After(b.delay)
	}
	note()
	if n := h.calls.Add(1); b.panicEvery > 0 && n%b.panicEvery == 0 {
		h.panics.Add(1)
		if initial {
			h.lose.Do(func() { close(h.lost); h.report.count("registrations that never sync", 1) })
		}
		panic("soak: a handler panics, as it was told to")
	}
}

func (h *handler) count() {
	told, tombstones := h.replica.Told()
	h.report.count("notifications", int64(told))
	h.report.count("notifications: tombstones", int64(tombstones))
	h.report.count("notifications: panics", h.panics.Load())
}

// compare waits until the handler was told want, and all that came before, while nobody writes.
func (h *handler) compare(ctx context.Context, want checker.Contents) {
	defer h.replica.StartAnew()
	if err := h.replica.AwaitEqual(ctx, want); err != nil {
		h.report.violation("differs", h.name, "%v", err)
		return
	}
	h.awaitSynced(ctx)
	if !h.kind.lossless {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hearPatience)
	defer cancel()
	lost := h.replica.Lost()
	for len(lost) > 0 && wait(ctx, 10*time.Millisecond) {
		lost = h.replica.Lost()
	}
	if len(lost) > 0 {
		h.report.violation("lost", h.name, "acknowledged, skipped by no list: %v", lost[:min(len(lost), 20)])
	}
}

// awaitSynced waits until the registration counts as synced. If a call of its initial list has
// panicked it never may.
func (h *handler) awaitSynced(ctx context.Context) {
	synced := h.registration.HasSyncedChecker()
	select {
	case <-synced.Done():
	case <-h.lost:
	case <-ctx.Done():
	}
	select {
	case <-h.lost:
		if cache.IsDone(synced) {
			h.report.violation("synced", h.name, "the registration has synced, although a call of its initial list panicked")
		}
	default:
		if !cache.IsDone(synced) {
			h.report.violation("synced", h.name, "the registration has not synced: %v", context.Cause(ctx))
		}
	}
}
