// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// Report is called for each fault, with its rule. Calls may be concurrent, and locks may be held.
type Report func(rule, fault string)

// Replica is a handler that keeps its own copy of the objects, and reports each call that violates
// the contract of handlers:
//
//   - an Add of a known object, an Update or Delete of an unknown one
//   - a state older than the last one of that object
//   - an Update whose old state is not the last one
//   - an Add at or before the resourceVersion of the object's deletion
//   - an object of the initial list after any other notification
//   - an object that contradicts the Ledger
//   - a call after Close
//
// Its methods are safe for concurrent use. The fields must be set before the first call.
type Replica struct {
	// Unordered means that notifications about different objects may arrive in any order.
	Unordered bool
	// Ledger may be nil.
	Ledger *Ledger

	report  Report
	changed chan struct{} // has an element after each change

	mu struct {
		sync.Mutex
		objects    Contents
		graves     map[string]uint64 // the last resourceVersion of each deleted object
		heard      map[uint64]struct{}
		gaps       []gap
		calls      int
		tombstones int  // number of deletions with an unknown last state
		beyond     bool // there was a notification that is not of the initial list
		closed     bool
	}
}

// gap is a range of resourceVersions that a list has skipped: those after from, up to and including
// to.
type gap struct{ from, to uint64 }

// NewReplica returns an empty replica.
func NewReplica(report Report) *Replica {
	r := &Replica{report: report, changed: make(chan struct{}, 1)}
	r.mu.objects, r.mu.graves, r.mu.heard = Contents{}, map[string]uint64{}, map[uint64]struct{}{}
	return r
}

var _ clientgo.ResourceEventHandler = (*Replica)(nil)

// OnAdd implements ResourceEventHandler.
func (r *Replica) OnAdd(obj any, isInInitialList bool) {
	r.hear(obj, true, func(key string, now, last State, known bool) {
		switch grave, dead := r.mu.graves[key]; {
		case known:
			r.fault("Add of %s at %v, known at %v", key, now, last)
		case dead && now.RV <= grave:
			r.fault("Add of %s at %v, deleted at %d", key, now, grave)
		case isInInitialList && r.mu.beyond && !r.Unordered:
			r.fault("Add of %s at %v as of the initial list, after other notifications", key, now)
		}
		r.mu.beyond = r.mu.beyond || !isInInitialList
		delete(r.mu.graves, key)
		r.mu.objects[key] = now
	})
}

// OnUpdate implements ResourceEventHandler.
func (r *Replica) OnUpdate(old, obj any) {
	_, before := StateOf(old)
	r.hear(obj, true, func(key string, now, last State, known bool) {
		switch {
		case !known:
			r.fault("Update of unknown %s at %v", key, now)
		case last != before:
			r.fault("Update of %s from %v, last received %v", key, before, last)
		case now.RV < last.RV:
			r.fault("Update of %s goes back from %v to %v", key, last, now)
		}
		r.mu.beyond = true
		r.mu.objects[key] = now
	})
}

// OnDelete implements ResourceEventHandler.
func (r *Replica) OnDelete(obj any) {
	tombstone, unknown := obj.(clientgo.DeletedFinalStateUnknown)
	if unknown {
		obj = tombstone.Obj
	}
	r.hear(obj, false, func(key string, now, last State, known bool) {
		switch {
		case !known:
			r.fault("Delete of unknown %s at %v", key, now)
		case now.RV < last.RV:
			r.fault("Delete of %s at %v, known at %v", key, now, last)
		}
		if unknown {
			r.mu.tombstones++
		}
		r.mu.beyond = true
		r.mu.graves[key] = now.RV
		delete(r.mu.objects, key)
	})
}

func (r *Replica) hear(obj any, lives bool, apply func(key string, now, last State, known bool)) {
	key, now := StateOf(obj)
	if text := r.Ledger.wrong(key, now); text != "" {
		r.report("content", text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		r.fault("call for %s at %v after the end", key, now)
	}
	last, known := r.mu.objects[key]
	apply(key, now, last, known)
	if r.mu.calls++; lives && r.Ledger != nil {
		r.mu.heard[now.RV] = struct{}{}
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *Replica) fault(format string, args ...any) { r.report("order", fmt.Sprintf(format, args...)) }

// Skipped records that an informer at from has listed at to. An empty or invalid from is the
// beginning.
func (r *Replica) Skipped(from, to string) {
	start, _ := strconv.ParseUint(from, 10, 64) // an error leaves 0, the beginning
	end, _ := strconv.ParseUint(to, 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.gaps = append(r.mu.gaps, gap{start, end})
}

// Lost returns the resourceVersions that were acknowledged since the last Compare of the ledger,
// and neither received nor skipped by a list. If there is no concurrent write, they are lost or
// still on their way.
func (r *Replica) Lost() (lost []uint64) {
	since := r.Ledger.since()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rv := range since {
		_, heard := r.mu.heard[rv]
		if !heard && !slices.ContainsFunc(r.mu.gaps, func(g gap) bool { return g.from < rv && rv <= g.to }) {
			lost = append(lost, rv)
		}
	}
	return lost
}

// StartAnew forgets the received and skipped versions. It must accompany a Compare of the ledger.
func (r *Replica) StartAnew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.mu.heard)
	r.mu.gaps = nil
}

// Close makes each later call a fault.
func (r *Replica) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
}

// Contents returns a copy of the replica's objects.
func (r *Replica) Contents() Contents {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.objects)
}

// Notifications returns the number of notifications, and of deletions with an unknown last state among them.
func (r *Replica) Notifications() (all, tombstones int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.calls, r.mu.tombstones
}

// AwaitEqual blocks until the replica equals want, or returns the difference when ctx is done. It
// must be called by one goroutine at a time.
func (r *Replica) AwaitEqual(ctx context.Context, want Contents) error {
	for {
		have := r.Contents()
		if maps.Equal(have, want) {
			return nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), Difference(have, want))
		}
	}
}

// Reads checks the answers of a store to one reader.
type Reads struct {
	ledger  *Ledger // may be nil
	report  Report
	floor   map[string]uint64 // no object may be seen below its floor
	present map[string]bool   // the keys seen, according to the last answer about each
	at      uint64            // the highest position of the store
}

// NewReads returns a checker of the reads of one goroutine.
func NewReads(ledger *Ledger, report Report) *Reads {
	return &Reads{ledger: ledger, report: report, floor: map[string]uint64{}, present: map[string]bool{}}
}

// Position checks a resourceVersion of the store, which must not decrease, and returns it. "" is
// the version before the first list.
func (r *Reads) Position(text string) uint64 {
	if text == "" {
		return 0
	}
	at, err := strconv.ParseUint(text, 10, 64)
	if err != nil || at < r.at {
		r.fault("back", "the position went from %d to %q", r.at, text)
	}
	r.at = max(r.at, at)
	return at
}

// some checks objects of an answer, and returns their highest version.
func (r *Reads) some(objects []any) (highest uint64) {
	for _, obj := range objects {
		key, state := StateOf(obj)
		if state.RV < r.floor[key] {
			r.fault("back", "%s at %v, seen or deleted at %d before", key, state, r.floor[key])
		}
		if text := r.ledger.wrong(key, state); text != "" {
			r.fault("content", "%s", text)
		}
		r.floor[key], r.present[key] = state.RV, true
		highest = max(highest, state.RV)
	}
	return highest
}

// Whole checks an answer with all objects of a store that was at this position or a later one. The
// answer must be of one moment: with an object of some version, it must have all objects
// acknowledged up to that version.
func (r *Reads) Whole(objects []any, at uint64) {
	at = max(at, r.some(objects))
	all := ContentsOf(objects)
	if len(all) != len(objects) {
		r.fault("mixed", "%d objects of %d keys in one answer", len(objects), len(all))
	}
	r.absent(func(key string) bool { return all[key] != State{} })
	for _, key := range r.ledger.keys() {
		if text := r.ledger.contradicts(key, at, true, all[key]); text != "" {
			r.fault("mixed", "all of at least %d: %s", at, text)
		}
	}
}

// absent records which known objects an answer lacks: the state seen last must not be seen again.
func (r *Reads) absent(has func(key string) bool) {
	for key := range r.present {
		if !has(key) {
			r.floor[key]++
			delete(r.present, key)
		}
	}
}

// Snapshot is the part of a store's snapshot that Reads checks.
type Snapshot interface {
	ResourceVersion() string
	Get(key string) (any, bool)
	All() iter.Seq2[string, any]
	Len() int
}

// Exactly checks that a snapshot is exactly the state at its resourceVersion.
func (r *Reads) Exactly(s Snapshot) {
	at := r.Position(s.ResourceVersion())
	var objects []any
	for _, obj := range s.All() {
		objects = append(objects, obj)
	}
	if highest := r.some(objects); highest > at && at > 0 {
		r.fault("mixed", "a snapshot of %d has %d", at, highest)
	}
	if len(objects) != s.Len() {
		r.fault("mixed", "a snapshot of %d objects lists %d", s.Len(), len(objects))
	}
	for _, key := range r.ledger.keys() {
		state := State{}
		if obj, exists := s.Get(key); exists {
			_, state = StateOf(obj)
		}
		if text := r.ledger.contradicts(key, at, false, state); text != "" {
			r.fault("mixed", "a snapshot of %d: %s", at, text)
		}
	}
}

func (r *Reads) fault(rule, format string, args ...any) { r.report(rule, fmt.Sprintf(format, args...)) }
