// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "sync"

// cached estimates the size, in bytes on the wire, of the objects that an informer caches, from its
// lists and watches, without the fields that are not kept: see decoder.decoded. The tables of the process
// are sized for the sum of all informers: see table.fit.
type cached struct {
	mu struct {
		sync.Mutex
		runs  bool
		now   size
		lists bool // a full list is being received
		whole size // the size of that list so far
	}
}

// size is the number and the size, in bytes, of objects.
type size struct{ objects, bytes int64 }

// add adds an object of n bytes.
func (s *size) add(n int) { s.objects, s.bytes = s.objects+1, s.bytes+int64(n) }

// remove removes an object of average size. Its own size would be wrong: add counts an object when
// it is new, and most objects are larger when they are deleted.
func (s *size) remove() {
	if s.objects > 0 {
		s.objects, s.bytes = s.objects-1, s.bytes-s.bytes/s.objects
	}
}

// begin begins the count. The count of an informer is 0 before begin.
func (c *cached) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.runs, c.mu.lists = true, false
}

// end resets the count to 0.
func (c *cached) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(size{})
	c.mu.runs, c.mu.lists = false, false
}

// list begins a full list. The previous count applies until listed, unless the new one is larger.
func (c *cached) list() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lists, c.mu.whole = true, size{}
}

// listed ends a full list.
func (c *cached) listed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.lists {
		c.mu.lists = false
		c.setLocked(c.mu.whole)
	}
}

// unlisted ends a full list that failed, or that the client decodes. The previous count applies.
func (c *cached) unlisted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lists = false
}

// received adds an object of n bytes.
func (c *cached) received(n int) { c.change(func(s *size) { s.add(n) }) }

// deleted removes an object.
func (c *cached) deleted() { c.change((*size).remove) }

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
