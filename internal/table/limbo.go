// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "slices"

// kept names a superseded version that a pinned generation needs, by the
// generation that wrote it: of leaf i of a posting or, where post is nil, of
// record i.
type kept struct {
	post *posting
	i    uint32
	gen  uint64
}

// limbo holds what is superseded and still kept. Each such version is named
// exactly once: under one generation that needs it, or in the queue after that
// generation was left. So a version is looked at once for each pinned
// generation that needs it, whatever the number of writes meanwhile.
type limbo struct {
	// buckets are in the rising order of their generations.
	buckets []bucket
	queue   [][]kept
	// n counts them all.
	n int
}

type bucket struct {
	gen   uint64
	items []kept
}

func (l *limbo) bucket(gen uint64) (int, bool) {
	return slices.BinarySearchFunc(l.buckets, gen, func(b bucket, g uint64) int {
		switch {
		case b.gen < g:
			return -1
		case b.gen > g:
			return 1
		}
		return 0
	})
}

// has tells whether something is kept for a generation.
func (l *limbo) has(gen uint64) bool {
	_, ok := l.bucket(gen)
	return ok
}

// hold files a version under a generation.
func (l *limbo) hold(gen uint64, k kept) {
	i, ok := l.bucket(gen)
	if !ok {
		l.buckets = slices.Insert(l.buckets, i, bucket{gen: gen})
	}
	l.buckets[i].items = append(l.buckets[i].items, k)
	l.n++
}

// unpin queues what was kept for generations that nobody needs any longer.
func (l *limbo) unpin(pinned pinnedGens) {
	l.buckets = slices.DeleteFunc(l.buckets, func(b bucket) bool {
		if pinned.has(b.gen) {
			return false
		}
		l.queue = append(l.queue, b.items)
		return true
	})
}

// pop takes one version off the queue.
func (l *limbo) pop() (kept, bool) {
	n := len(l.queue) - 1
	if n < 0 {
		return kept{}, false
	}
	items := l.queue[n]
	k := items[len(items)-1]
	l.n--
	items[len(items)-1] = kept{}
	if l.queue[n] = items[:len(items)-1]; len(items) == 1 {
		l.queue[n] = nil
		l.queue = l.queue[:n]
	}
	return k, true
}

// retire lets go of what the batch that was just published has superseded, but
// for what the pinned generations need.
func (c *core) retire(pinned pinnedGens) {
	alone := pinned.nobody()
	for _, id := range c.log.records {
		p, holder, needed := c.records.at(id).retire(pinned)
		switch {
		case needed:
			c.limbo.hold(holder, kept{i: id, gen: p.gen})
		case p != nil && alone:
			c.log.reuse(p)
		}
		c.release(id)
	}
	gen := c.published.Load()
	for _, l := range c.log.leaves {
		if from, holder, needed := l.post.leaf(l.i).retire(gen, pinned); needed {
			c.limbo.hold(holder, kept{post: l.post, i: l.i, gen: from})
		}
	}
	for _, l := range c.log.leaves {
		l.post.index.settle(l.post)
	}
	c.log.reset(alone)
}

// cut removes one superseded version or files it under who needs it.
func (c *core) cut(k kept, pinned pinnedGens) (cut bool) {
	var holder uint64
	var needed bool
	if k.post == nil {
		holder, needed = c.records.at(k.i).cut(k.gen, pinned)
	} else {
		holder, needed = k.post.leaf(k.i).cut(k.gen, pinned)
	}
	if needed {
		c.limbo.hold(holder, k)
	}
	return !needed
}

// tidy looks again at up to limit of the versions whose reason to be kept has
// gone, and returns how many are kept.
func (c *core) tidy(pinned pinnedGens, limit int) (kept int) {
	if len(c.limbo.buckets) > 0 {
		c.limbo.unpin(pinned)
	}
	for ; limit > 0; limit-- {
		k, ok := c.limbo.pop()
		if !ok {
			break
		}
		if !c.cut(k, pinned) {
			continue
		}
		if k.post == nil {
			c.release(k.i)
		} else {
			k.post.index.settle(k.post)
		}
	}
	return c.limbo.n
}
