// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// foreignSink is the sink for a store of the user's. It passes one change at a time, and bookmarks
// and versions if the store implements the interfaces for these.
type foreignSink struct {
	store     clientgo.ReflectorStore
	bookmarks clientgo.ReflectorBookmarkStore // store, or nil if it does not take bookmarks
	versions  clientgo.ResourceVersionUpdater // store, or nil if it does not take versions
	// ordered is set if the versions of the changes increase. The synthetic Added events at the
	// beginning of a watch without a version are not ordered.
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
		if s.ordered && s.versions != nil && c.Version != "" {
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

func (s *foreignSink) Stage(o event.Staging) Stage {
	return NewStage(o, func(items []any, version string) error {
		s.ordered = o.Streamed || version != "" && version != "0"
		return s.store.Replace(items, version)
	})
}

// Settle does nothing: what the sink has is not looked at.
func (s *foreignSink) Settle(context.Context) {}

func (s *foreignSink) Resync() error { return s.store.Resync() }

// Room returns 1. After each change the reflector's position is then the version of that change,
// whatever happens to the next one, and the reflector may be stopped.
func (s *foreignSink) Room() (int, <-chan struct{}) { return 1, nil }

// collectedStage collects received objects for a sink that takes them in one call.
type collectedStage struct {
	replace func(items []any, version string) error
	items   []any          // nil for an object that was removed
	at      map[string]int // key → index in items; nil for a list, in which no object comes twice
}

// NewStage returns a stage whose Publish calls replace once with all objects.
func NewStage(o event.Staging, replace func(items []any, version string) error) *collectedStage {
	s := &collectedStage{replace: replace, items: make([]any, 0, o.Size)}
	if o.Streamed {
		s.at = make(map[string]int, o.Size)
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
	if place, found := s.at[key]; found {
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
	if place, found := s.at[key]; found {
		delete(s.at, key)
		s.items[place] = nil
	}
	return nil
}

// objects returns the staged objects without the removed ones.
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

// Keeps returns zeros: what the sink has is not known.
func (s *collectedStage) Keeps() (kept, stored int, err error) { return 0, 0, nil }

func (s *collectedStage) Publish(version string) error {
	items := s.objects()
	s.at, s.items = nil, nil
	return s.replace(items, version)
}

// Sink receives what a reflector reads. One goroutine calls it, in the order of the server's
// events.
type Sink interface {
	// Put takes changes of a watch, in their order. Of a record it reads Type (Added, Updated,
	// Deleted or Bookmark), Object and Version. Records that the sink cannot take are returned; the
	// others are kept. When Put returns, the slice is cleared and belongs to the caller again.
	Put(changes []event.Record) (refused []event.Refused)
	// Stage returns an empty stage.
	Stage(event.Staging) Stage
	// Settle blocks until the changes and states so far are what Stage.Keeps compares with, or ctx ends.
	Settle(ctx context.Context)
	// Resync delivers the sink's content again.
	Resync() error
	// Room returns how many changes the sink would like to receive in one call. If that is 0, freed
	// is closed when Room should be called again. Only Put needs room.
	Room() (changes int, freed <-chan struct{})
}

// Stage is a collection on its way into a sink, from the pages of a list or the events of a
// watch-list. It is invisible until it is published; an unpublished Stage is discarded by dropping
// it. One goroutine uses it.
type Stage interface {
	// Put adds an object, or replaces an earlier state of it.
	Put(obj any) error
	// Remove removes an object.
	Remove(obj any) error
	// Keeps returns the number of objects in the sink, if that is known, and the number of those that
	// would remain if the stage was published.
	Keeps() (kept, stored int, err error)
	// Publish makes the staged objects the content of the sink, in the order of their arrival. The
	// stage is empty afterwards.
	Publish(version string) error
}
