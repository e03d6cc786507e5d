// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

// handlerKind is a way to be told. Every informer that stays has a handler of each.
type handlerKind struct {
	name string
	// wrap makes what is given to the informer.
	wrap func(cache.ResourceEventHandler) cache.ResourceEventHandler
	// lossless says that every state is told, not only the last one.
	lossless bool
	// unordered says that only notifications about the same object are in order.
	unordered bool
	// misled says that the informer is lied to: it may tell of the end of what it has never heard
	// of.
	misled bool
}

var handlerKinds = []handlerKind{
	{name: "lossless", wrap: delivered(cache.Delivery{}), lossless: true},
	{name: "coalesce", wrap: delivered(cache.Delivery{Overflow: cache.OverflowCoalesce})},
	{name: "block", wrap: delivered(cache.Delivery{Overflow: cache.OverflowBlock, Max: 64}), lossless: true},
	{name: "parallel", wrap: delivered(cache.Delivery{Parallel: 4}), lossless: true, unordered: true},
}

// delivered wraps a handler for our informers; client-go's call it like any other.
func delivered(d cache.Delivery) func(cache.ResourceEventHandler) cache.ResourceEventHandler {
	return func(h cache.ResourceEventHandler) cache.ResourceEventHandler { return cache.Deliver(h, d) }
}

// behaviour is what a handler does beside noting what it was told. Nil and the zero value: nothing.
type behaviour struct {
	delay      time.Duration   // each call takes that long
	until      <-chan struct{} // each call waits for it
	panicEvery int64           // each call of that number panics after it has noted
}

// handler is a handler of an informer: a replica, the coverage, and a behaviour that faults change.
type handler struct {
	kind         handlerKind
	name         string
	replica      *follow.Replica
	coverage     *coverage
	report       *report
	registration cache.ResourceEventHandlerRegistration
	behaviour    atomic.Pointer[behaviour]
	calls        atomic.Int64
	panics       atomic.Int64
	lost         chan struct{} // closed when a call of the initial list is about to panic
	lose         sync.Once
}

func newHandler(kind handlerKind, name string, r *report) *handler {
	h := &handler{kind: kind, name: name + " " + kind.name, coverage: newCoverage(), report: r, lost: make(chan struct{})}
	h.replica = follow.NewReplica(func(fault string) {
		if !kind.misled || !strings.HasPrefix(fault, "Delete of unknown ") {
			r.violation("handler", h.name, "%s", fault)
		}
	})
	h.replica.Unordered = kind.unordered
	return h
}

// OnAdd implements ResourceEventHandler.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	h.call(obj, isInInitialList, func() { h.replica.OnAdd(obj, isInInitialList) })
}

// OnUpdate implements ResourceEventHandler.
func (h *handler) OnUpdate(old, obj any) {
	h.call(obj, false, func() { h.replica.OnUpdate(old, obj) })
}

// OnDelete implements ResourceEventHandler.
func (h *handler) OnDelete(obj any) {
	h.call(nil, false, func() { h.replica.OnDelete(obj) })
}

// call notes what is told; obj is the new state, nil for a deletion.
func (h *handler) call(obj any, initial bool, note func()) {
	b := h.behaviour.Load()
	if b == nil {
		b = &behaviour{}
	}
	if b.until != nil {
		<-b.until
	}
	if b.delay > 0 {
		<-time.After(b.delay)
	}
	if obj != nil {
		key, state := follow.StateOf(obj)
		h.coverage.heard(state.RV)
		checkContent(h.report, h.name, key, state)
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

// unheard returns what was acknowledged and should have been heard, while nobody writes.
func (h *handler) unheard(ctx context.Context) []uint64 {
	if h.kind.lossless {
		return h.coverage.settle(ctx)
	}
	h.coverage.startAnew()
	return nil
}

// awaitSynced waits until the registration counts as synced. If a call of its initial list has
// panicked it never may, and what a registration of ours says of itself gives the reason.
func (h *handler) awaitSynced(ctx context.Context) {
	checker := h.registration.HasSyncedChecker()
	select {
	case <-checker.Done():
	case <-h.lost:
	case <-ctx.Done():
	}
	synced := cache.IsDone(checker)
	select {
	case <-h.lost:
		measured, ours := h.registration.(interface{ Stats() cache.HandlerStats })
		if synced {
			h.report.violation("synced", h.name, "the registration has synced, although a call of its initial list panicked")
		} else if ours && (cache.WaitForSync(ctx, h.registration) == nil || measured.Stats().SyncError == nil) {
			h.report.violation("synced", h.name, "the registration will never sync, and does not say so")
		}
	default:
		if !synced {
			h.report.violation("synced", h.name, "the registration has not synced: %v", context.Cause(ctx))
		}
	}
}

func checkContent(r *report, where, key string, state follow.State) {
	if _, err := step(strings.TrimPrefix(key, follow.Namespace+"/"), state.Value); err != nil {
		r.violation("content", where, "%s at %v: %v", key, state, err)
	}
}
