// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"strconv"
)

// Reads checks what one reader is shown by a store.
type Reads struct {
	ledger  *Ledger // may be nil
	report  Report
	floor   map[string]uint64 // no object may be seen below its floor
	present map[string]bool   // as of the last answer that says so
	at      uint64            // the highest position of the store
}

// NewReads returns what checks the reads of one goroutine.
func NewReads(ledger *Ledger, report Report) *Reads {
	return &Reads{ledger: ledger, report: report, floor: map[string]uint64{}, present: map[string]bool{}}
}

// Position takes a resourceVersion of the store, which only grows, and returns it; "" is that
// before the first list.
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

// some takes objects of an answer.
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

// Whole takes an answer that has all objects of a store that was at that position or later. It is
// of one moment: an object of some version is there only with all that was acknowledged up to then.
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

// absent takes an answer that lacks objects: the state of each that was seen last has ended.
func (r *Reads) absent(has func(key string) bool) {
	for key := range r.present {
		if !has(key) {
			r.floor[key]++
			delete(r.present, key)
		}
	}
}

// Snapshot is what both stores and tests have of one moment.
type Snapshot interface {
	ResourceVersion() string
	Get(key string) (any, bool)
	List() []any
	Len() int
}

// Exactly checks that a snapshot is the state at its resourceVersion: nothing older, nothing newer.
func (r *Reads) Exactly(s Snapshot) {
	at := r.Position(s.ResourceVersion())
	objects := s.List()
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
