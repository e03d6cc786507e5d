// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"iter"
	"slices"
)

// RV returns the resource version of the snapshot.
func (s *Snapshot) RV() string { return s.meta.rv }

// Len returns the number of objects.
func (s *Snapshot) Len() int { return s.meta.n }

// Get returns the object under a key.
func (s *Snapshot) Get(key string) (obj any, ok bool) {
	if !s.use() {
		return nil, false
	}
	defer s.unuse()
	return s.view.get(key)
}

// List returns all objects in a new slice, in the order of ListKeys and in no particular order
// otherwise.
func (s *Snapshot) List() []any {
	if !s.use() {
		return nil
	}
	defer s.unuse()
	return s.view.objects(slices.Grow([]any(nil), s.meta.n))
}

// ListKeys returns all keys, in the order of List and in no particular order otherwise.
func (s *Snapshot) ListKeys() []string {
	if !s.use() {
		return nil
	}
	defer s.unuse()
	return s.view.keys()
}

// ByIndex returns the objects with a value in an index, in no particular order.
func (s *Snapshot) ByIndex(index, value string) ([]any, error) {
	if !s.use() {
		return nil, ErrClosed
	}
	defer s.unuse()
	objs, _, err := s.view.byIndex(index, value)
	return objs, err
}

// IndexKeys returns the keys of the objects with a value in an index, sorted.
func (s *Snapshot) IndexKeys(index, value string) ([]string, error) {
	if !s.use() {
		return nil, ErrClosed
	}
	defer s.unuse()
	keys, _, err := s.view.indexKeys(index, value)
	return keys, err
}

// Count returns the number of objects with a value in an index.
func (s *Snapshot) Count(index, value string) (int, error) {
	if !s.use() {
		return 0, ErrClosed
	}
	defer s.unuse()
	n, _, err := s.view.indexCount(index, value)
	return n, err
}

// IndexValues returns the values in use in an index, in no particular order.
func (s *Snapshot) IndexValues(index string) ([]string, error) {
	if !s.use() {
		return nil, ErrClosed
	}
	defer s.unuse()
	return s.view.indexValues(index)
}

// Err returns ErrClosed after Close.
func (s *Snapshot) Err() error {
	if s.users.Load() < holdOpen {
		return ErrClosed
	}
	return nil
}

// Indexes returns the names of the snapshot's indexes, sorted.
func (s *Snapshot) Indexes() []string {
	var names []string
	for _, ix := range *s.view.core.indexes.Load() {
		if ix.born <= s.view.gen {
			names = append(names, ix.name)
		}
	}
	slices.Sort(names)
	return names
}

// Test returns a function that reports whether an object has a value in an index. It calls the
// index function, in the caller's goroutine; an object for which that fails or panics has no value.
func (s *Snapshot) Test(index, value string) (func(obj any) bool, error) {
	ix, err := s.view.index(index)
	if err != nil {
		return nil, err
	}
	return func(obj any) bool { return ix.has(obj, value) }, nil
}

// All yields every key and object, in no particular order and without copying. The body of the loop
// may even close the snapshot: the loop then continues.
func (s *Snapshot) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if !s.use() {
			return
		}
		defer s.unuse()
		s.view.records(yield)
	}
}

// ByIndexSeq yields the key and object of each object with a value in an index, as All does.
func (s *Snapshot) ByIndexSeq(index, value string) (iter.Seq2[string, any], error) {
	if !s.use() {
		return nil, ErrClosed
	}
	defer s.unuse()
	if _, err := s.view.index(index); err != nil {
		return nil, err
	}
	return func(yield func(string, any) bool) {
		if !s.use() {
			return
		}
		defer s.unuse()
		s.view.walk(index, value, yield)
	}, nil
}

// walk yields the members of a posting. Pinned views only.
func (v view) walk(index, value string, yield func(string, any) bool) {
	p, err := v.posting(index, value)
	if err != nil || p == nil {
		return
	}
	v.each(p, func(_ uint32, key string, obj any) bool { return yield(key, obj) })
}

// All yields every key and object of the state at the beginning of the loop, without copying. The
// loop counts as an open snapshot until it ends.
func (t *Table) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		s := t.open()
		defer s.Close()
		s.All()(yield)
	}
}

// ByIndexSeq yields the key and object of each object with a value in an index, as All does. It
// returns an error if the index does not exist now. Indexes are never removed, so the loop finds
// it.
func (t *Table) ByIndexSeq(index, value string) (iter.Seq2[string, any], error) {
	if _, err := t.glance().index(index); err != nil {
		return nil, err
	}
	return func(yield func(string, any) bool) {
		s := t.open()
		defer s.Close()
		if s.use() {
			defer s.unuse()
			s.view.walk(index, value, yield)
		}
	}, nil
}
