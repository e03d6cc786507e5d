// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"slices"
)

// kept names a superseded version that a pinned generation needs, by the
// generation that wrote it: of leaf i of a posting or, where post is nil, of
// record i of a body.
type kept struct {
	core *core
	post *posting
	i    uint32
	gen  uint64
}

// holder is a generation that pins are at, with what is kept for it.
type holder struct {
	gen   uint64
	pins  int
	items []kept
}

// limbo holds what is superseded and still kept. Each such version is named
// exactly once: by the newest holder that needs it, or in the queue after that
// was left. So a version is looked at once for each generation that needed it,
// whatever the number of writes meanwhile, and not at all by a write that comes
// after. Snapshots that are closed in the order in which they were taken have
// each version looked at once.
type limbo struct {
	// holders are in the rising order of their generations. spare is one to be
	// used again.
	holders []*holder
	spare   *holder
	// arriving is the lowest generation at which a pin that arrived at the last
	// look may settle. landing holds what is kept for such pins, whose generation
	// is not known yet.
	arriving uint64
	landing  holder
	queue    [][]kept
	// n counts all versions.
	n int
	// steps counts the pins and versions that were looked at.
	steps int
}

// nobody tells that the last look found no pin.
func (l *limbo) nobody() bool { return len(l.holders) == 0 && l.arriving == whileArriving }

// needs returns the newest holder that needs what was valid from one generation
// up to another; nil if nobody does.
func (l *limbo) needs(from, upTo uint64) *holder {
	i := len(l.holders)
	if i > 0 && l.holders[i-1].gen >= upTo {
		i, _ = l.search(upTo)
	}
	switch {
	case i > 0 && l.holders[i-1].gen >= from:
		return l.holders[i-1]
	case l.arriving < upTo:
		return &l.landing
	}
	return nil
}

// search returns the place of a generation among the holders.
func (l *limbo) search(gen uint64) (i int, found bool) {
	return slices.BinarySearchFunc(l.holders, gen, func(h *holder, gen uint64) int { return cmp.Compare(h.gen, gen) })
}

// hold names a version that a holder needs.
func (l *limbo) hold(h *holder, k kept) {
	h.items = append(h.items, k)
	l.n++
}

// settled adds a pin at a generation.
func (l *limbo) settled(gen uint64) {
	i, found := l.search(gen)
	if !found {
		h := l.spare
		if l.spare = nil; h == nil {
			h = new(holder)
		}
		h.gen = gen
		l.holders = slices.Insert(l.holders, i, h)
	}
	l.holders[i].pins++
}

// left takes a pin away. With the last one the holder goes, and what it held is
// queued.
func (l *limbo) left(gen uint64) {
	i, _ := l.search(gen)
	h := l.holders[i]
	if h.pins--; h.pins > 0 {
		return
	}
	l.release(h)
	l.spare = h
	if i == 0 && len(l.holders) > manyPins { // that moves the others
		l.holders[0] = nil
		l.holders = l.holders[1:]
		return
	}
	l.holders = slices.Delete(l.holders, i, i+1)
}

// release queues what a holder holds.
func (l *limbo) release(h *holder) {
	if len(h.items) > 0 {
		l.queue = append(l.queue, h.items)
		h.items = nil
	}
}

// look learns which pins there are now: all of them, or those that may need what
// was superseded before. It takes away up to limit of those that were left. What
// landing holds is queued when the oldest of the pins that arrived has settled.
func (l *limbo) look(pins *pins, all bool, limit int) {
	arriving, looked := pins.look(all, l.settled)
	l.steps += looked
	if arriving != l.arriving { // else there would be no end of looking while one pin arrives
		l.arriving = arriving
		l.release(&l.landing)
	}
	for ; limit > 0; limit-- {
		gen, ok := pins.discount()
		if !ok {
			break
		}
		l.left(gen)
		l.steps++
	}
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

// tidy looks again at up to limit of the versions whose holder has gone.
func (l *limbo) tidy(limit int) {
	for ; limit > 0; limit-- {
		k, ok := l.pop()
		if !ok {
			break
		}
		if h := k.cut(l); h != nil {
			l.hold(h, k)
		}
		l.steps++
	}
}

// cut removes the version unless somebody needs it, who then is returned.
func (k *kept) cut(l *limbo) *holder {
	if k.post != nil {
		h := k.post.leaf(k.i).cut(k.gen, l)
		if h == nil {
			k.post.index.settle(k.post)
		}
		return h
	}
	h := k.core.records.at(k.i).cut(k.gen, l)
	if h == nil {
		k.core.release(k.i)
	}
	return h
}

// retire lets go of what the batch that was just published has superseded, but
// for what somebody needs.
func (c *core) retire(l *limbo) {
	alone := l.nobody()
	for _, id := range c.log.records {
		p, h := c.records.at(id).retire(l)
		switch {
		case h != nil:
			l.hold(h, kept{core: c, i: id, gen: p.gen})
		case p != nil && alone:
			c.log.reuse(p)
		}
		c.release(id)
	}
	gen := c.published.Load()
	for _, at := range c.log.leaves {
		if from, h := at.post.leaf(at.i).retire(gen, l); h != nil {
			l.hold(h, kept{core: c, post: at.post, i: at.i, gen: from})
		}
	}
	for _, at := range c.log.leaves {
		at.post.index.settle(at.post)
	}
	c.log.reset(alone)
}
