// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/kinformer/cache/e2e/follow"
)

// entry is what the ledger knows of one object. Each belongs to one writer.
type entry struct {
	follow.State
	exists bool
	// certain is false after a write of which no answer came: it may or may not have happened.
	certain bool
	values  int // how many values were tried
}

// valueOf is the n-th value of an object.
func valueOf(name string, n int) string { return name + "." + strconv.Itoa(n) }

// step returns the n of a value of the object of that name.
func step(name, value string) (n int, err error) {
	number, ok := strings.CutPrefix(value, name+".")
	if !ok {
		return 0, fmt.Errorf("%q is no value of %s", value, name)
	}
	return strconv.Atoi(number)
}

// ledger keeps what the server has acknowledged for one kind.
//
// An entry changes under the gate's read lock, by its writer; under its write lock nobody writes
// and all may be read.
type ledger struct {
	gate    sync.RWMutex
	history *history

	mu struct {
		sync.Mutex
		entries   map[string]*entry
		listeners map[*coverage]struct{}
	}
}

func newLedger() *ledger {
	l := &ledger{history: newHistory()}
	l.mu.entries, l.mu.listeners = map[string]*entry{}, map[*coverage]struct{}{}
	return l
}

// entry returns the entry of an object that starts as certain not to exist.
func (l *ledger) entry(name string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.mu.entries[name]
	if e == nil {
		e = &entry{certain: true}
		l.mu.entries[name] = e
	}
	return e
}

// acknowledged tells the history and the listeners of a state that the server has confirmed.
func (l *ledger) acknowledged(name string, state follow.State) {
	l.history.acknowledged(keyOf(name), state.RV)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.mu.listeners {
		c.acknowledged(state.RV)
	}
}

func (l *ledger) listen(c *coverage, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on {
		l.mu.listeners[c] = struct{}{}
	} else {
		delete(l.mu.listeners, c)
	}
}

// compare reports where a quorum LIST contradicts the ledger, and settles what was uncertain. The
// gate is locked.
func (l *ledger) compare(listed follow.Contents, report func(format string, args ...any)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, e := range l.mu.entries {
		got, exists := listed[keyOf(name)]
		switch {
		case e.certain && e.exists != exists:
			report("%s: acknowledged %v (exists: %t), listed %v (exists: %t)", name, e.State, e.exists, got, exists)
		case e.certain && exists && got != e.State:
			report("%s: acknowledged %v, listed %v", name, e.State, got)
		case exists && got.RV < e.RV:
			report("%s: acknowledged %v, listed the older %v", name, e.State, got)
		}
		if e.exists, e.certain = exists, true; exists {
			e.State = got
		}
	}
	l.history.settle()
	for key := range listed {
		if name := strings.TrimPrefix(key, follow.Namespace+"/"); l.mu.entries[name] == nil {
			report("%s was never written", name)
		}
	}
}
