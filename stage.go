// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/table"
)

// stateStage is the stage of an informer: it makes the store's next state of the objects as they
// come, while they are in the processor's caches.
//
// Nearly all of the time goes into waiting for the memory that objects are scattered over. So they
// are handled in blocks, and each pass over a block does one short thing with all of its objects, so
// that their waits overlap.
type stateStage struct {
	reader *reader
	reuses bool // cached objects take the place of identical ones
	next   *nextState
	done   func(record) // takes the state that is published

	chunk    int // how many objects fill the block
	block    table.Block
	versions [table.BlockLen]string // as received
	names    [table.BlockLen]struct{ namespace, name string }
	text     []byte
}

// newStateStage returns an empty stage of about size objects for a store. done takes what is
// published: a ReplacedAll, for the applier of that store.
func newStateStage(r *reader, c *contents, size int, reuse bool, done func(record)) *stateStage {
	s := &stateStage{reader: r, reuses: reuse, next: newNextState(c, size), done: done, chunk: table.BlockLen}
	if !c.pace.allowsReader(1) {
		s.chunk = 1 // one call of each index function shows whether it is slow
	}
	return s
}

func (s *stateStage) put(obj any) error {
	s.block.Objects[s.block.N] = obj
	if s.block.N++; s.block.N == s.chunk {
		s.chunk = table.BlockLen
		return s.flush()
	}
	return nil
}

// flush brings the block into the next state.
func (s *stateStage) flush() error {
	defer s.block.Reset()
	if err := s.readKeys(); err != nil {
		return err
	}
	s.next.draft.Look(&s.block)
	transforms := s.reader.transform.function != nil
	if transforms {
		if err := s.transform(); err != nil {
			return err
		}
	}
	if s.reuses {
		s.reuse()
	}
	s.next.file(&s.block, s.versions[:], transforms)
	return nil
}

// readKeys reads keys and versions of the block.
func (s *stateStage) readKeys() error {
	if !s.reader.keys.usual {
		return s.computeKeys()
	}
	n, size := s.block.N, 0
	warmBlock(s.block.Objects[:n])
	for i, obj := range s.block.Objects[:n] {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return s.computeKeys()
		}
		s.versions[i] = accessor.GetResourceVersion()
		s.names[i].namespace, s.names[i].name = accessor.GetNamespace(), accessor.GetName()
		size += len(s.names[i].namespace) + 1 + len(s.names[i].name)
	}
	s.text = slices.Grow(s.text[:0], size)
	for i := range s.names[:n] {
		if s.names[i].namespace == "" {
			s.block.Keys[i] = s.names[i].name
			continue
		}
		first := len(s.text)
		s.text = append(append(append(s.text, s.names[i].namespace...), '/'), s.names[i].name...)
		s.block.Text[i] = s.text[first:]
	}
	clear(s.names[:n])
	return nil
}

// computeKeys is readKeys by the reader's key function.
func (s *stateStage) computeKeys() (err error) {
	for i := range s.block.N {
		s.versions[i], _ = objectVersion(s.block.Objects[i])
		if s.block.Keys[i], err = s.reader.keys.keyOf(s.block.Objects[i], false); err != nil {
			return err
		}
	}
	return nil
}

// transform transforms the objects of the block, and leaves out those that cannot be, if the cached
// ones are to stay.
func (s *stateStage) transform() error {
	b, n := &s.block, 0
	for i := range b.N {
		rec := record{typ: Replaced, key: b.Keys[i], version: s.versions[i], object: b.Objects[i]}
		err := s.reader.transform.pass(&rec)
		switch {
		case err == nil:
			b.Keys[n], b.Objects[n], b.Former[n], s.versions[n] = rec.key, rec.object, b.Former[i], rec.version
			n++
		case s.reader.transform.keepCached:
			utilruntime.HandleErrorWithLogger(s.reader.logger, discreet(err),
				"Object of a list keeps its cached version: transform failed", "key", rec.key)
			s.next.kept = append(s.next.kept, rec.key)
		default:
			return err
		}
	}
	b.Cut(n)
	return nil
}

// reuse puts cached objects in the place of identical ones.
func (s *stateStage) reuse() {
	b := &s.block
	for i, former := range b.Former[:b.N] {
		if cached, ok := reusable(former, b.Objects[i]); ok {
			b.Objects[i] = cached
		}
	}
}

func (s *stateStage) remove(obj any) error {
	if err := s.flush(); err != nil {
		return err
	}
	key, err := s.reader.keys.keyOf(obj, false)
	if err != nil {
		return err
	}
	s.next.kept = slices.DeleteFunc(s.next.kept, func(kept string) bool { return kept == key })
	s.next.remove(key)
	return nil
}

func (s *stateStage) publish(version string) error {
	if err := s.flush(); err != nil {
		return err
	}
	next := s.next
	s.next = nil
	next.kept = slices.DeleteFunc(next.kept, next.draft.Has) // another state of theirs could be transformed
	s.reader.transform.replaced(next.kept)
	s.done(record{typ: ReplacedAll, version: version, state: next})
	return nil
}
