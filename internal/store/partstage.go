// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// partStage is the stage of one of several sources: it reads and transforms the objects as they
// come, in the goroutine of the source's reflector.
type partStage struct {
	reader *event.Reader
	state  *partState
	done   func(event.Record)
}

// NewPartStage returns an empty stage of about size objects for a source. The reader is the
// source's own. done takes what is published: a ReplacedAll, for an applier that is shared.
func NewPartStage(r *event.Reader, session *Session, size int, done func(event.Record)) *partStage {
	return &partStage{r, &partState{
		session: session, items: make([]partItem, 0, size), at: make(map[string]int, size),
		kept: map[string]struct{}{}, stored: func() {},
	}, done}
}

// Distrust is as of stage.
func (s *partStage) Distrust() { s.state.distrust = true }

// WhenStored is as of stage.
func (s *partStage) WhenStored(stored func()) { s.state.stored = stored }

// Put adds an object in the place of an earlier state of it. One that cannot be transformed fails,
// or keeps its cached version if the reader says so.
func (s *partStage) Put(obj any) error {
	rec := event.Record{Type: clientgo.Replaced, Object: obj}
	rec.Version, _ = event.VersionOf(obj)
	if err := s.reader.ReadKey(&rec); err != nil {
		return err
	}
	switch err := s.reader.PassListed(&rec); {
	case err == nil:
		delete(s.state.kept, rec.Key)
		s.put(partItem{rec.Key, rec.Version, rec.Object, rec.Altered})
		return nil
	case !s.reader.Transform.KeepCached:
		return err
	default:
		event.ReportTo(s.reader.Logger, event.Discreet(err), "Object of a list keeps its cached version: transform failed", "key", rec.Key)
		s.state.kept[rec.Key] = struct{}{}
		return nil
	}
}

func (s *partStage) put(item partItem) {
	if place, known := s.state.at[item.key]; known {
		s.state.items[place] = item
		return
	}
	s.state.at[item.key] = len(s.state.items)
	s.state.items = append(s.state.items, item)
}

func (s *partStage) Remove(obj any) error {
	key, err := s.reader.Keys.KeyOf(obj, false)
	if err != nil {
		return err
	}
	delete(s.state.kept, key)
	if place, known := s.state.at[key]; known {
		delete(s.state.at, key)
		s.state.items[place] = partItem{}
	}
	return nil
}

func (s *partStage) Publish(version string) error {
	state := s.state
	s.state = nil
	except := make([]string, 0, len(state.kept))
	for key := range state.kept {
		except = append(except, key)
	}
	s.reader.Transform.Replaced(except)
	s.done(event.Record{Type: clientgo.ReplacedAll, Version: version, State: state})
	return nil
}
