// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// foreignSink is a store of the user's as a sink: one change at a time, and bookmarks and versions
// if the store wants them.
type foreignSink struct {
	store     clientgo.ReflectorStore
	bookmarks clientgo.ReflectorBookmarkStore // store, if it wants bookmarks, else nil
	versions  clientgo.ResourceVersionUpdater // store, if it wants each version, else nil
	// ordered says that the versions of the changes grow: not so for the synthetic Added events at
	// the beginning of a watch that was started without a version.
	ordered bool
}

// Foreign returns a sink that calls the store's methods.
func Foreign(store clientgo.ReflectorStore) Sink {
	s := &foreignSink{store: store}
	s.bookmarks, _ = store.(clientgo.ReflectorBookmarkStore)
	s.versions, _ = store.(clientgo.ResourceVersionUpdater)
	return s
}

func (s *foreignSink) Put(changes []event.Record) (refused []event.Refused) {
	defer clear(changes)
	for i := range changes {
		c := &changes[i]
		if err := s.write(c); err != nil {
			refused = append(refused, event.Refused{Type: c.Type, Object: c.Object, Err: err})
		}
		s.ordered = s.ordered || c.Type != clientgo.Added
		if s.ordered && s.versions != nil {
			s.versions.UpdateResourceVersion(c.Version)
		}
	}
	return refused
}

func (s *foreignSink) write(c *event.Record) error {
	switch {
	case c.Type == clientgo.Added:
		return s.store.Add(c.Object)
	case c.Type == clientgo.Updated:
		return s.store.Update(c.Object)
	case c.Type == clientgo.Deleted:
		return s.store.Delete(c.Object)
	case s.bookmarks != nil:
		return s.bookmarks.Bookmark(c.Version)
	default:
		return nil
	}
}

func (s *foreignSink) Stage(size int, streamed bool) Stage {
	return NewStage(size, streamed, func(items []any, version string) error {
		s.ordered = streamed || version != "" && version != "0"
		return s.store.Replace(items, version)
	})
}

func (s *foreignSink) Resync() error { return s.store.Resync() }

// Room is for one change at a time: after each of them the reflector's position is where the store
// has come, whatever becomes of the next one, and the reflector may be stopped.
func (s *foreignSink) Room() (int, <-chan struct{}) { return 1, nil }

// collectedStage holds a state as received, for a sink that takes it in one call.
type collectedStage struct {
	replace func(items []any, version string) error
	items   []any          // nil where an object was removed
	at      map[string]int // key → place in items; nil for a list, in which nothing comes again
}

// NewStage returns a stage that gives replace the state in one call.
func NewStage(size int, streamed bool, replace func(items []any, version string) error) *collectedStage {
	s := &collectedStage{replace: replace, items: make([]any, 0, size)}
	if streamed {
		s.at = make(map[string]int, size)
	}
	return s
}

func (s *collectedStage) Put(obj any) error {
	if s.at == nil {
		s.items = append(s.items, obj)
		return nil
	}
	key, err := clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	if place, known := s.at[key]; known {
		s.items[place] = obj
		return nil
	}
	s.at[key] = len(s.items)
	s.items = append(s.items, obj)
	return nil
}

func (s *collectedStage) Remove(obj any) error {
	key, err := clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	if place, known := s.at[key]; known {
		delete(s.at, key)
		s.items[place] = nil
	}
	return nil
}

// objects returns the state.
func (s *collectedStage) objects() []any {
	if s.at == nil || len(s.at) == len(s.items) {
		return slices.Clip(s.items)
	}
	objects := make([]any, 0, len(s.at))
	for _, obj := range s.items {
		if obj != nil {
			objects = append(objects, obj)
		}
	}
	return objects
}

func (s *collectedStage) Publish(version string) error {
	items := s.objects()
	s.at, s.items = nil, nil
	return s.replace(items, version)
}

// Sink is where a reflector brings what it learns. One goroutine calls it, in the order of the
// server's events.
type Sink interface {
	// Put takes changes of a watch, in their order. Given are typ (Added, Updated, Deleted or
	// Bookmark), object and version as received. What cannot be taken is among what is returned and
	// costs that change only. The slice is the caller's again when the call returns, and cleared.
	Put(changes []event.Record) (refused []event.Refused)
	// Stage returns an empty whole state, of about so many objects. Of a streamed one an object may
	// come again, in a later state, and may be removed; a list has neither.
	Stage(size int, streamed bool) Stage
	// Resync brings up again what the sink has.
	Resync() error
	// Room returns how many changes the sink would like to be given at once. If that is 0, freed is
	// closed when it is worth asking again. Only what comes by put needs room.
	Room() (changes int, freed <-chan struct{})
}

// Stage is a whole state on its way into a sink: from the pages of a list, or the events of a
// watch-list stream. Nobody sees it until it is published; to discard it, drop it. One goroutine
// uses it.
type Stage interface {
	// Put adds an object, in the state in which it counts.
	Put(obj any) error
	// Remove takes an object back.
	Remove(obj any) error
	// Publish makes what was put the content of the sink, in the order in which it came. The stage
	// is empty afterwards.
	Publish(version string) error
}
