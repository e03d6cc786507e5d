// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	"github.com/kinformer/cache/internal/table"
)

// stage is the whole state on its way into the store: from the pages of a list, or the events of a watch-list stream. Nobody
// sees it until it is published; to discard it, drop it. One goroutine uses it.
type stage interface {
	// put adds an object, in the state in which it counts.
	put(obj any) error
	// remove takes an object back.
	remove(obj any) error
	// publish makes what was put the content of the store, in the order in which it came. The stage is empty afterwards.
	publish(version string) error
}

// newListStage is a stage for a list; a store that is not ours gets each item as it is listed, twice if it is listed twice.
func (r *reflector) newListStage(size int) stage {
	switch {
	case r.queue != nil && r.target != nil:
		return newStateStage(r.queue, r.target, size, r.tuning.reuse)
	case r.queue != nil:
		return newQueueStage(r.queue, size)
	}
	return &listStage{store: r.store, items: make([]any, 0, size)}
}

// newStreamStage is a stage for a watch-list stream, raw if the objects are needed as received.
func (r *reflector) newStreamStage(raw bool) stage {
	switch {
	case r.queue == nil || raw:
		return newStaging(r.store)
	case r.target != nil:
		return newStateStage(r.queue, r.target, r.target.Len(), r.tuning.reuse)
	default:
		return newQueueStage(r.queue, 0)
	}
}

// listStage is for a list into any store. The store transforms, if anybody, in Replace.
type listStage struct {
	store ReflectorStore
	items []any
}

func (s *listStage) put(obj any) error {
	s.items = append(s.items, obj)
	return nil
}

func (s *listStage) remove(any) error { return nil } // lists have no deletions

func (s *listStage) publish(version string) error {
	items := s.items
	s.items = nil
	return s.store.Replace(items, version)
}

// stageChunk is how many objects a queueStage holds as received: so few that they do not count in memory next to what is
// transformed already, so many that the slices made for each chunk do not count in time.
const stageChunk = table.BlockLen

// queueStage is for the queue of our own informers. Objects are keyed and transformed as they come, once, so that of the
// state as received never more than a page and a chunk is there.
type queueStage struct {
	queue   stagingQueue
	list    *replacement
	pending []any // put, and not in list yet

	// at maps keys to places in list. It is nil until the first removal: before, an object that comes twice has two places,
	// of which the last one counts in the end.
	at    map[string]int
	holes bool // some places of list are empty
}

func newQueueStage(queue stagingQueue, size int) *queueStage {
	return &queueStage{
		queue:   queue,
		list:    &replacement{keys: make([]string, 0, size), versions: make([]string, 0, size), objects: make([]any, 0, size)},
		pending: make([]any, 0, stageChunk),
	}
}

func (s *queueStage) put(obj any) error {
	s.pending = append(s.pending, obj)
	if len(s.pending) == cap(s.pending) {
		return s.flush()
	}
	return nil
}

// flush brings what is pending into the list.
func (s *queueStage) flush() error {
	part, err := s.queue.stage(s.pending)
	clear(s.pending)
	s.pending = s.pending[:0]
	if err != nil {
		return err
	}
	for i, key := range part.keys {
		if place, known := s.at[key]; known {
			s.list.put(place, part, i)
			part.objects[i] = nil
		}
	}
	if s.at == nil {
		s.list.join(part)
		return nil
	}
	part.compact()
	first := len(s.list.keys)
	s.list.join(part)
	s.index(part.keys, first)
	return nil
}

// index notes the places of keys, which begin at first. A place that a key had before becomes empty.
func (s *queueStage) index(keys []string, first int) {
	for i, key := range keys {
		if place, twice := s.at[key]; twice {
			s.list.objects[place] = nil
			s.holes = true
		}
		s.at[key] = first + i
	}
}

func (s *queueStage) remove(obj any) error {
	if err := s.flush(); err != nil {
		return err
	}
	key, err := s.queue.keyOf(obj)
	if err != nil {
		return err
	}
	s.list.kept = slices.DeleteFunc(s.list.kept, func(kept string) bool { return kept == key })
	if s.at == nil {
		s.at = make(map[string]int, len(s.list.keys))
		s.index(s.list.keys, 0)
	}
	if place, known := s.at[key]; known {
		delete(s.at, key)
		s.list.objects[place] = nil
		s.holes = true
	}
	return nil
}

func (s *queueStage) publish(version string) error {
	if err := s.flush(); err != nil {
		return err
	}
	list := s.list
	s.list, s.at = nil, nil
	if s.holes {
		list.compact()
	}
	list.keepRest()
	return s.queue.replaceStaged(list, version)
}

// staging holds the state that a watch-list stream describes as received: for a store that is not ours.
type staging struct {
	store ReflectorStore
	at    map[string]int // key → place in items
	items []any          // nil where an object was deleted again
}

func newStaging(store ReflectorStore) *staging {
	return &staging{store: store, at: make(map[string]int)}
}

func (s *staging) put(obj any) error {
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

func (s *staging) remove(obj any) error {
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
func (s *staging) objects() []any {
	if len(s.at) == len(s.items) {
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

func (s *staging) publish(version string) error {
	items := s.objects()
	s.at, s.items = nil, nil
	return s.store.Replace(items, version)
}
