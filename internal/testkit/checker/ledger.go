// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Ledger records the writes acknowledged by a server for objects of one kind, so that a state can
// be checked against its resourceVersion: it must have each write acknowledged up to that version,
// or a newer one, unless a deletion was requested. Its methods are safe for concurrent use. A nil
// Ledger is empty and finds no fault.
//
// A write is recorded by Begin, and by Acknowledged or Found when its result is known.
type Ledger struct {
	mu      sync.RWMutex
	objects map[string]*account
	settled uint64 // the last resourceVersion acknowledged before Settle
	last    uint64
}

// account is the record of one object.
type account struct {
	acknowledged []acknowledgement // by rising resourceVersion
	now          State             // the zero State if it does not exist
	certain      bool
}

type acknowledgement struct {
	State
	ending bool // a deletion was requested after it
}

// NewLedger returns the Ledger of a server without objects.
func NewLedger() *Ledger { return &Ledger{objects: map[string]*account{}} }

// Begin records that a write is requested. Until its result is known, the object is uncertain.
func (l *Ledger) Begin(key string, deletes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.objects[key]
	if a == nil {
		a = &account{}
		l.objects[key] = a
	}
	a.certain = false
	if n := len(a.acknowledged); deletes && n > 0 {
		a.acknowledged[n-1].ending = true
	}
}

// Acknowledged records a state that the server has confirmed.
func (l *Ledger) Acknowledged(key string, state State) {
	l.Found(key, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.objects[key]
	a.acknowledged = append(a.acknowledged, acknowledgement{State: state})
	l.last = max(l.last, state.RV)
}

// Found records the current state of an object: after a write without an answer or, with the zero
// State, after a deletion.
func (l *Ledger) Found(key string, state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects[key].now, l.objects[key].certain = state, true
}

// Compare returns the contradictions between a quorum LIST and the ledger, and drops all but the
// last state of each object. There must be no concurrent write.
func (l *Ledger) Compare(listed Contents) (faults []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, a := range l.objects {
		got := listed[key]
		if a.certain && got != a.now || got != (State{}) && got.RV < a.now.RV {
			faults = append(faults, fmt.Sprintf("%s: acknowledged %v, listed %v", key, a.now, got))
		}
		a.now, a.certain = got, true
		a.acknowledged = a.acknowledged[max(0, len(a.acknowledged)-1):]
	}
	for key := range listed {
		if l.objects[key] == nil {
			faults = append(faults, key+" was never written")
		}
	}
	l.settled = l.last
	return faults
}

// since returns the resourceVersions acknowledged after the last Compare.
func (l *Ledger) since() (versions []uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, a := range l.objects {
		for _, ack := range a.acknowledged {
			if ack.RV > l.settled {
				versions = append(versions, ack.RV)
			}
		}
	}
	slices.Sort(versions)
	return versions
}

// wrong describes the fault of a state that was seen, or returns "".
func (l *Ledger) wrong(key string, state State) string {
	if l == nil {
		return ""
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	a := l.objects[key]
	if a == nil {
		return fmt.Sprintf("%s at %v was never written", key, state)
	}
	for _, ack := range slices.Backward(a.acknowledged) {
		if ack.RV == state.RV && ack.State != state {
			return fmt.Sprintf("%s is %v, acknowledged as %v", key, state, ack.State)
		}
	}
	return ""
}

// contradicts describes the fault of an object, or its absence, in the server's state at a
// resourceVersion, or returns "". If later is true, the state may be a later one with at least all
// changes up to the resourceVersion.
func (l *Ledger) contradicts(key string, at uint64, later bool, state State) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	a := l.objects[key]
	if a == nil {
		return ""
	}
	var last acknowledgement
	ended := false // the object may be gone
	for _, ack := range a.acknowledged {
		if ack.RV <= at {
			last, ended = ack, ack.ending
		} else if later {
			ended = ended || ack.ending
		}
	}
	switch exists := state != (State{}); {
	case exists && state.RV < last.RV:
		return fmt.Sprintf("%s at %v, though %d was acknowledged", key, state, last.RV)
	case !exists && last.RV > 0 && !ended:
		return fmt.Sprintf("%s is missing, though %d was acknowledged", key, last.RV)
	default:
		return ""
	}
}

// keys returns the keys of all writes.
func (l *Ledger) keys() []string {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Collect(maps.Keys(l.objects))
}
