// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Ledger keeps what a server has acknowledged of the objects of one kind, so that a state can be
// held against the resourceVersion that it claims to be of: what was acknowledged up to there is in
// it, or something newer, or a deletion was asked for. Its methods may be called concurrently; a
// nil Ledger knows of nothing, and finds nothing wrong.
//
// A write is told of by Begin, and by Acknowledged, Deleted or Found when its end is known.
type Ledger struct {
	mu      sync.RWMutex
	objects map[string]*account
	settled uint64 // the last resourceVersion acknowledged before Settle
	last    uint64
}

// account is what is known of one object.
type account struct {
	acknowledged []acknowledgement // growing
	now          State             // the zero State: it does not exist
	certain      bool
}

type acknowledgement struct {
	State
	ending bool // a deletion of it was asked for
}

// NewLedger returns a Ledger of a server that has nothing.
func NewLedger() *Ledger { return &Ledger{objects: map[string]*account{}} }

// Begin notes that a write is asked for: until its end is known, the object is uncertain.
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

// Acknowledged notes a state that the server has confirmed.
func (l *Ledger) Acknowledged(key string, state State) {
	l.Found(key, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.objects[key]
	a.acknowledged = append(a.acknowledged, acknowledgement{State: state})
	l.last = max(l.last, state.RV)
}

// Found notes what the object is: after a write without an answer, or, as the zero State, after a
// deletion.
func (l *Ledger) Found(key string, state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects[key].now, l.objects[key].certain = state, true
}

// Compare says where a quorum LIST contradicts the ledger, while nobody writes, and forgets all but
// the last state of each object.
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

// since returns the resourceVersions that were acknowledged after the last Compare.
func (l *Ledger) since() (versions []uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, a := range l.objects {
		for _, known := range a.acknowledged {
			if known.RV > l.settled {
				versions = append(versions, known.RV)
			}
		}
	}
	slices.Sort(versions)
	return versions
}

// wrong says what is wrong with a state that is shown; "" is nothing.
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
	for _, known := range slices.Backward(a.acknowledged) {
		if known.RV == state.RV && known.State != state {
			return fmt.Sprintf("%s is %v, acknowledged as %v", key, state, known.State)
		}
	}
	return ""
}

// contradicts says what is wrong with an object, or its absence, in the state of the server at a
// resourceVersion. If the state may be later, it has at least all changes up to there.
func (l *Ledger) contradicts(key string, at uint64, later bool, state State) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	a := l.objects[key]
	if a == nil {
		return ""
	}
	var last acknowledgement
	ended := false // whether it may be gone
	for _, known := range a.acknowledged {
		if known.RV <= at {
			last, ended = known, known.ending
		} else if later {
			ended = ended || known.ending
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

// keys returns the keys that were written.
func (l *Ledger) keys() []string {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Collect(maps.Keys(l.objects))
}
