// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "sync"

// cached estimates how many bytes on the wire the objects have that an informer caches, by what lists and
// watches bring. The tables of the process are as large as all informers need: see table.fit.
type cached struct {
	mu struct {
		sync.Mutex
		runs  bool
		now   size
		lists bool // a whole state is being received,
		whole size // of which so much has come
	}
}

// size is that of objects.
type size struct{ objects, bytes int64 }

// add adds an object of n bytes.
func (s *size) add(n int) { s.objects, s.bytes = s.objects+1, s.bytes+int64(n) }

// remove removes an object of the mean size. Its own size would be wrong: additions count an object as it is at
// first, and most objects are larger when they are deleted.
func (s *size) remove() {
	if s.objects > 0 {
		s.objects, s.bytes = s.objects-1, s.bytes-s.bytes/s.objects
	}
}

// begin begins the count. An informer that has not begun caches nothing.
func (c *cached) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.runs, c.mu.lists = true, false
}

// end has the informer cache nothing.
func (c *cached) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(size{})
	c.mu.runs, c.mu.lists = false, false
}

// list begins a whole state. The state before it counts until listed, unless the new one is larger.
func (c *cached) list() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lists, c.mu.whole = true, size{}
}

// listed ends a whole state.
func (c *cached) listed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.lists {
		c.mu.lists = false
		c.setLocked(c.mu.whole)
	}
}

// unlisted ends a whole state that did not come, or that the client decodes: the state before it counts.
func (c *cached) unlisted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lists = false
}

// came adds an object of n bytes.
func (c *cached) came(n int) { c.change(func(s *size) { s.add(n) }) }

// gone removes an object.
func (c *cached) gone() { c.change((*size).remove) }

func (c *cached) change(by func(*size)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.mu.now
	if !c.mu.lists {
		by(&now)
	} else if by(&c.mu.whole); c.mu.whole.bytes > now.bytes {
		now = c.mu.whole
	}
	c.setLocked(now)
}

func (c *cached) setLocked(now size) {
	if !c.mu.runs {
		return
	}
	cachedBytes.Add(now.bytes - c.mu.now.bytes)
	c.mu.now = now
	texts.fit()
	parts.fit()
}
