// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/kinformer/cache"
)

// Replica is a handler that keeps its own copy from what it is told, and reports everything that no
// handler must be told:
//
//   - an Add of what it has, an Update or Delete of what it has not
//   - a state that is older than the last one of that object
//   - an Update whose old state is not the last one
//   - an object that comes back at or before the resourceVersion of its deletion
//   - an object of the initial list after anything else
//   - a call after Close
//
// Its methods may be called concurrently.
type Replica struct {
	// Unordered says that notifications about different objects may come in any order. It is set
	// before the first.
	Unordered bool

	report  func(fault string)
	changed chan struct{} // holds an element after each change

	mu struct {
		sync.Mutex
		objects    Contents
		graves     map[string]uint64 // the last resourceVersion of what was deleted
		told       int
		tombstones int  // deletions of which the last state is not known
		beyond     bool // something that was not of the initial list was told
		closed     bool
	}
}

// NewReplica returns a replica that knows nothing. report is called with each fault, with the
// replica's lock held.
func NewReplica(report func(fault string)) *Replica {
	r := &Replica{report: report, changed: make(chan struct{}, 1)}
	r.mu.objects, r.mu.graves = Contents{}, map[string]uint64{}
	return r
}

var _ cache.ResourceEventHandler = (*Replica)(nil)

// OnAdd implements ResourceEventHandler.
func (r *Replica) OnAdd(obj any, isInInitialList bool) {
	r.hear(obj, func(key string, now, last State, known bool) {
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
	r.hear(obj, func(key string, now, last State, known bool) {
		switch {
		case !known:
			r.fault("Update of unknown %s at %v", key, now)
		case last != before:
			r.fault("Update of %s from %v, last told %v", key, before, last)
		case now.RV < last.RV:
			r.fault("Update of %s goes back from %v to %v", key, last, now)
		}
		r.mu.beyond = true
		r.mu.objects[key] = now
	})
}

// OnDelete implements ResourceEventHandler.
func (r *Replica) OnDelete(obj any) {
	tombstone, unknown := obj.(cache.DeletedFinalStateUnknown)
	if unknown {
		obj = tombstone.Obj
	}
	r.hear(obj, func(key string, now, last State, known bool) {
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

func (r *Replica) hear(obj any, apply func(key string, now, last State, known bool)) {
	key, now := StateOf(obj)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		r.fault("told of %s at %v after the end", key, now)
	}
	last, known := r.mu.objects[key]
	apply(key, now, last, known)
	r.mu.told++
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *Replica) fault(format string, args ...any) { r.report(fmt.Sprintf(format, args...)) }

// Close makes every later call a fault.
func (r *Replica) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
}

// Contents returns a copy of what the replica holds.
func (r *Replica) Contents() Contents {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.objects)
}

// Told returns how many notifications there were, and how many of them were deletions with an
// unknown last state.
func (r *Replica) Told() (all, tombstones int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.told, r.mu.tombstones
}

// AwaitEqual returns nil as soon as the replica holds want, or what is different when ctx ends. One
// call at a time.
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
