// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"sync"
	"sync/atomic"
)

// cachedBytes is what the objects that all informers cache have on the wire.
var cachedBytes atomic.Int64

// cached estimates how many bytes on the wire the objects have that an informer caches, by what lists and
// watches bring. The tables of the process are as large as all informers need: see table.fit.
type cached struct {
	mu struct {
		sync.Mutex
		runs  bool
		bytes int64
		lists bool  // a whole state is being received,
		whole int64 // of which so many bytes have come
	}
}

// begin begins the count. An informer that has not begun caches nothing.
func (c *cached) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.runs = true
}

// end has the informer cache nothing.
func (c *cached) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(0)
	c.mu.runs = false
}

// list begins a whole state. The state before it counts until listed, unless the new one is larger.
func (c *cached) list() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lists, c.mu.whole = true, 0
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

// came adds an object of n bytes, and removes one if n is negative.
func (c *cached) came(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.lists {
		c.mu.whole += int64(n)
		c.setLocked(max(c.mu.bytes, c.mu.whole))
	} else {
		c.setLocked(c.mu.bytes + int64(n))
	}
}

func (c *cached) setLocked(bytes int64) {
	if !c.mu.runs {
		return
	}
	bytes = max(bytes, 0)
	all := cachedBytes.Add(bytes - c.mu.bytes)
	c.mu.bytes = bytes
	texts.fit(all)
	parts.fit(all)
}
