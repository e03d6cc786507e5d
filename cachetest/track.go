// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"
)

// Tracked is a handler that records the state it has received, so that Settle can wait for it. Register
// it with the informer instead of the handler that it wraps, only once, and with one informer.
type Tracked struct {
	src     *Source
	handler clientgo.ResourceEventHandler

	// The following fields are guarded by the source's lock.

	name string
	// seen is the handler's replica: the last state received, by key.
	seen map[string]sighting
	// differs has the keys whose version in seen is not that of the state.
	differs map[string]struct{}
	// forgotten is set by Forget: Settle no longer waits for this handler.
	forgotten bool
}

var _ clientgo.ResourceEventHandler = (*Tracked)(nil)

// Track wraps a handler of an informer on this source. handler may be nil: then the Tracked only
// records.
func (s *Source) Track(handler clientgo.ResourceEventHandler) *Tracked {
	if handler == nil {
		handler = clientgo.ResourceEventHandlerFuncs{}
	}
	t := &Tracked{src: s, handler: handler, seen: map[string]sighting{}, differs: map[string]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.name = fmt.Sprintf("handler %d", len(s.mu.tracked)+1)
	s.mu.tracked = append(s.mu.tracked, t)
	for key := range s.mu.state {
		t.compareLocked(key)
	}
	return t
}

// Named sets the name of the handler in Settle's error, and returns the handler.
func (t *Tracked) Named(name string) *Tracked {
	t.src.mu.Lock()
	defer t.src.mu.Unlock()
	t.name = name
	return t
}

// Forget makes Settle ignore this handler, for instance because it was removed from its informer.
// Events are still passed on.
func (t *Tracked) Forget() {
	s := t.src
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.forgotten {
		return
	}
	t.forgotten = true
	s.mu.unsettled -= len(t.differs)
	s.mu.tracked = slices.DeleteFunc(s.mu.tracked, func(other *Tracked) bool { return other == t })
	s.mu.changed.notify()
}

// OnAdd passes the call on, then records it, even if the handler panics. So do OnUpdate and
// OnDelete.
func (t *Tracked) OnAdd(obj any, isInInitialList bool) {
	defer t.record(obj)
	t.handler.OnAdd(obj, isInInitialList)
}

// OnUpdate passes the call on, then records it.
func (t *Tracked) OnUpdate(oldObj, newObj any) {
	defer t.record(newObj)
	t.handler.OnUpdate(oldObj, newObj)
}

// OnDelete passes the call on, then records it.
func (t *Tracked) OnDelete(obj any) {
	defer t.recordDelete(obj)
	t.handler.OnDelete(obj)
}

func (t *Tracked) record(obj any) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	key, version := keyOf(m), t.src.opts.Version(m)
	t.src.mu.Lock()
	defer t.src.mu.Unlock()
	t.seen[key] = sighting{version: version, undone: t.src.undoneLocked(key, version, obj)}
	t.recordedLocked(key)
}

func (t *Tracked) recordDelete(obj any) {
	key, err := clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return
	}
	t.src.mu.Lock()
	defer t.src.mu.Unlock()
	delete(t.seen, key)
	t.recordedLocked(key)
}

func (t *Tracked) recordedLocked(key string) {
	if t.forgotten {
		return
	}
	t.compareLocked(key)
	if t.src.mu.unsettled == 0 {
		t.src.mu.changed.notify()
	}
}

// compareLocked updates differs for key. The handler must not be forgotten.
func (t *Tracked) compareLocked(key string) {
	want, exists := t.src.mu.state[key]
	have, seen := t.seen[key]
	_, differed := t.differs[key]
	switch differs := exists != seen || seen && !have.shows(want); {
	case differs && !differed:
		t.differs[key] = struct{}{}
		t.src.mu.unsettled++
	case !differs && differed:
		delete(t.differs, key)
		t.src.mu.unsettled--
	}
}

// Settle waits until every tracked handler has received the state: its replica has the keys of the
// source, each at the same version. If ctx ends first, the error wraps the context's cause and names
// the handlers and the keys in which they differ. It is an error if no handler is tracked.
//
// Events without a lasting effect on a replica (for an object that is created and deleted at once, a
// duplicate, a bookmark) may still be pending afterwards; inside a bubble, synctest.Wait after Settle
// waits for these as well. An empty source is settled for handlers that have received nothing: to wait
// for their sync, use the registration's HasSynced.
//
// After a Rewind a version may have been used twice. A handler that received the first, with other
// content, does not have the state. Objects that a transform has changed cannot be compared: they count
// from the first event after the Rewind, unless Options.Version distinguishes the two writes.
func (s *Source) Settle(ctx context.Context) error {
	untracked := false
	err := s.await(ctx, func() bool {
		untracked = len(s.mu.tracked) == 0
		return s.mu.unsettled == 0
	})
	switch {
	case err != nil:
		return fmt.Errorf("cachetest: not settled: %s: %w", s.missing(), err)
	case untracked:
		return errors.New("cachetest: no handler is tracked")
	}
	return nil
}

// missing describes the differences of tracked handlers from the state.
func (s *Source) missing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var behind []*Tracked
	for _, t := range s.mu.tracked {
		if len(t.differs) > 0 {
			behind = append(behind, t)
		}
	}
	return bounded(behind, func(t *Tracked) string {
		keys := slices.Sorted(maps.Keys(t.differs))
		return t.name + " [" + bounded(keys, t.differenceLocked) + "]"
	})
}

func (t *Tracked) differenceLocked(key string) string {
	want, exists := t.src.mu.state[key]
	have, seen := t.seen[key]
	switch {
	case !exists:
		return fmt.Sprintf("%s: was not told of the deletion, has %q", key, have.version)
	case !seen:
		return fmt.Sprintf("%s: was not told of %q", key, want.version)
	case have.version == want.version:
		return fmt.Sprintf("%s: has %q as it was before a Rewind", key, have.version)
	default:
		return fmt.Sprintf("%s: has %q, not %q", key, have.version, want.version)
	}
}
