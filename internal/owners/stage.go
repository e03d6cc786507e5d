// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// stage is the reflector.Stage of one of several sources. It reads and transforms the objects as they
// arrive, in the goroutine of the source's reflector.
type stage struct {
	reader  *event.Reader
	state   *partState
	applier *store.Applier // its table may be read by any goroutine
	reuses  bool           // identical cached objects are reused
	done    func(event.Record)
}

// NewStage returns an empty stage for the objects of a source. The reader belongs to the
// source. done receives the published list: a ReplacedAll record, for an applier with several
// sources.
func NewStage(r *event.Reader, session *Session, of *store.Applier, o event.Staging, done func(event.Record)) *stage {
	return &stage{r, &partState{
		session: session, items: make([]partItem, 0, o.Size), at: make(map[string]int, o.Size),
		untransformed: map[string]event.Origin{}, staging: o,
	}, of, session.Len() > 0 && store.MemoryIsScarce(), done}
}

// Put adds an object, and replaces an earlier state of it. If the object cannot be transformed Put
// returns an error or, if the reader says so or the object cannot be decoded, the object keeps its cached
// version.
func (s *stage) Put(obj any) error {
	rec := event.Record{Type: clientgo.Replaced, Object: obj}
	rec.Version, _ = event.VersionOf(obj)
	if err := s.reader.ReadKey(&rec); err != nil {
		return err
	}
	switch kept, err := s.reader.PassListed(&rec); {
	case err == nil:
		delete(s.state.untransformed, rec.Key)
		s.put(partItem{rec.Key, rec.Version, s.reused(&rec), rec.Altered})
		return nil
	case !kept:
		return err
	default:
		s.state.untransformed[rec.Key] = event.OriginOf(obj)
		return nil
	}
}

// reused returns the object of a record, or the cached one that is identical to it.
func (s *stage) reused(rec *event.Record) any {
	if s.reuses {
		if cached, is := s.applier.Contents.Table.Get(rec.Key); is {
			return store.CachedOr(cached, rec.Object)
		}
	}
	return rec.Object
}

func (s *stage) put(item partItem) {
	if place, exists := s.state.at[item.key]; exists {
		s.state.items[place] = item
		return
	}
	s.state.at[item.key] = len(s.state.items)
	s.state.items = append(s.state.items, item)
}

// Keeps returns the number of the source's objects in the store, and of those at most that the published
// list will not remove: an object that another source has counts, too.
func (s *stage) Keeps() (kept, stored int, err error) {
	for key := range s.state.at {
		if s.isStored(key) {
			kept++
		}
	}
	for key := range s.state.untransformed {
		if _, again := s.state.at[key]; !again && s.isStored(key) {
			kept++
		}
	}
	return kept, s.state.session.Len(), nil
}

func (s *stage) isStored(key string) bool {
	_, is := s.applier.Contents.Table.Get(key)
	return is
}

func (s *stage) Remove(obj any) error {
	key, err := s.reader.Keys.KeyOf(obj, false)
	if err != nil {
		return err
	}
	delete(s.state.untransformed, key)
	if place, exists := s.state.at[key]; exists {
		delete(s.state.at, key)
		s.state.items[place] = partItem{}
	}
	return nil
}

func (s *stage) Publish(version string) error {
	state := s.state
	s.state = nil
	except := make([]string, 0, len(state.untransformed))
	for key := range state.untransformed {
		except = append(except, key)
	}
	s.reader.Transform.Replaced(except)
	s.done(event.Record{Type: clientgo.ReplacedAll, Version: version, State: state})
	return nil
}
