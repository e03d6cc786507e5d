// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "sync/atomic"

// meta is what the table knows about itself at a generation.
type meta struct {
	rv string
	n  int
}

// version is what meta was from gen on. It is immutable once gen is published,
// except for prev, which the writer clears.
type version struct {
	gen  uint64
	prev atomic.Pointer[version]
	val  meta
}

// cell is the meta with what it was before the draft. The writer stores head;
// anybody loads it.
type cell struct {
	head atomic.Pointer[version]
}

// current returns the newest published version. It needs no pin, never loops
// and never waits: a head is at most one generation ahead of published, and its
// prev stays until that generation is published.
func (c *cell) current(published *atomic.Uint64) *version {
	v := c.head.Load()
	if v.gen <= published.Load() {
		return v
	}
	older := v.prev.Load()
	if v.gen <= published.Load() {
		return v
	}
	return older
}

// at returns the version at generation gen; nil if that is gone.
func (c *cell) at(gen uint64) *version {
	v := c.head.Load()
	for v != nil && v.gen > gen {
		v = v.prev.Load()
	}
	return v
}

// edit returns the version that the writer may change in place at generation
// gen, which is not published: the head if this batch wrote it, else a new one.
func (c *cell) edit(gen uint64) *version {
	head := c.head.Load()
	if head != nil && head.gen == gen {
		return head
	}
	v := &version{gen: gen}
	v.prev.Store(head)
	c.head.Store(v)
	return v
}
