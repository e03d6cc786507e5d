// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "sync/atomic"

// version is one state of one cell, written at generation gen. It is
// immutable once gen is published, except for prev, which the writer shortens.
type version[T any] struct {
	gen uint64
	// prev is the next older version that somebody may still read.
	prev atomic.Pointer[version[T]]
	val  T
}

// cell is a value with a history: the newest version first, generations
// strictly falling along prev. The writer stores head; anybody loads it.
type cell[T any] struct {
	head atomic.Pointer[version[T]]
}

// current returns, for the head v of a cell, the version of the newest
// published state, or nil. It needs no pin, never loops and never waits: a head
// is at most one generation ahead of published, and its prev stays whole until
// that generation is published.
func (v *version[T]) current(published *atomic.Uint64) *version[T] {
	if v == nil || v.gen <= published.Load() {
		return v
	}
	older := v.prev.Load()
	if v.gen <= published.Load() {
		return v
	}
	return older
}

// at returns, for the head v of a cell, the version that is valid at generation
// gen, or nil. The caller holds a pin at gen; without one the version may have
// been cut out.
func (v *version[T]) at(gen uint64) *version[T] {
	for v != nil && v.gen > gen {
		v = v.prev.Load()
	}
	return v
}

// at is version.at for the head that the cell has now.
func (c *cell[T]) at(gen uint64) *version[T] { return c.head.Load().at(gen) }

// edit returns the version that the writer may change in place at generation
// gen, which is not published: the head if this batch wrote it, else a new one
// that starts as a copy of the head. fresh tells which.
func (c *cell[T]) edit(gen uint64) (v *version[T], fresh bool) {
	head := c.head.Load()
	if head != nil && head.gen == gen {
		return head, false
	}
	v = &version[T]{gen: gen}
	if head != nil {
		v.val = head.val
		v.prev.Store(head)
	}
	c.head.Store(v)
	return v, true
}

// cut removes the superseded version of generation gen from the chain, unless
// one of the pinned generations needs it: then holder is such a generation.
// A version is valid from its own generation up to that of the next newer one.
func (c *cell[T]) cut(gen uint64, pinned pinnedGens) (holder uint64, kept bool) {
	newer := c.head.Load()
	v := newer.prev.Load()
	for v != nil && v.gen != gen {
		newer, v = v, v.prev.Load()
	}
	if v == nil {
		return 0, false
	}
	if holder, kept = pinned.within(v.gen, newer.gen); kept {
		return holder, true
	}
	newer.prev.Store(v.prev.Load())
	return 0, false
}
