// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// foreignSink is a store of the user's as a sink: one change at a time, and bookmarks and versions if the store wants them.
type foreignSink struct {
	store     ReflectorStore
	bookmarks ReflectorBookmarkStore // store, if it wants bookmarks, else nil
	versions  ResourceVersionUpdater // store, if it wants each version, else nil
	// ordered tells that the versions of the changes grow: not so for the synthetic Added events at the beginning of a watch
	// that was started without a version.
	ordered bool
}

// newForeignSink returns a sink that calls the store's methods.
func newForeignSink(store ReflectorStore) sink {
	s := &foreignSink{store: store}
	s.bookmarks, _ = store.(ReflectorBookmarkStore)
	s.versions, _ = store.(ResourceVersionUpdater)
	return s
}

func (s *foreignSink) put(changes []record) (refused []refusedRecord) {
	defer clear(changes)
	for i := range changes {
		c := &changes[i]
		if err := s.write(c); err != nil {
			refused = append(refused, refusedRecord{typ: c.typ, object: c.object, err: err})
		}
		s.ordered = s.ordered || c.typ != Added
		if s.ordered && s.versions != nil {
			s.versions.UpdateResourceVersion(c.version)
		}
	}
	return refused
}

func (s *foreignSink) write(c *record) error {
	switch {
	case c.typ == Added:
		return s.store.Add(c.object)
	case c.typ == Updated:
		return s.store.Update(c.object)
	case c.typ == Deleted:
		return s.store.Delete(c.object)
	case s.bookmarks != nil:
		return s.bookmarks.Bookmark(c.version)
	default:
		return nil
	}
}

func (s *foreignSink) stage(size int, streamed bool) stage {
	return newCollectedStage(size, streamed, func(items []any, version string) error {
		s.ordered = streamed || version != "" && version != "0"
		return s.store.Replace(items, version)
	})
}

func (s *foreignSink) resync() error { return s.store.Resync() }

// room is for one change at a time: after each of them the reflector's position is where the store has come, whatever
// becomes of the next one, and the reflector may be stopped.
func (s *foreignSink) room() (int, <-chan struct{}) { return 1, nil }

// newStage returns a stage that gives replace the state in one call.
func newStage(size int, streamed bool, replace func(items []any, version string) error) stage {
	return newCollectedStage(size, streamed, replace)
}

// collectedStage holds a state as received, for a sink that takes it in one call.
type collectedStage struct {
	replace func(items []any, version string) error
	items   []any          // nil where an object was removed
	at      map[string]int // key → place in items; nil for a list, in which nothing comes again
}

func newCollectedStage(size int, streamed bool, replace func(items []any, version string) error) *collectedStage {
	s := &collectedStage{replace: replace, items: make([]any, 0, size)}
	if streamed {
		s.at = make(map[string]int, size)
	}
	return s
}

func (s *collectedStage) put(obj any) error {
	if s.at == nil {
		s.items = append(s.items, obj)
		return nil
	}
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
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

func (s *collectedStage) remove(obj any) error {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
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

func (s *collectedStage) publish(version string) error {
	items := s.objects()
	s.at, s.items = nil, nil
	return s.replace(items, version)
}
