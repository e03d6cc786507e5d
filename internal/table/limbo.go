// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"slices"
)

// unpinned reports whether the last look found no pin.
func (l *limbo) unpinned() bool { return len(l.holders) == 0 && l.arriving == whileArriving }

// needs returns the newest holder that needs a version valid from one generation up to another, or
// nil.
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

// search returns the index of a generation among the holders.
func (l *limbo) search(gen uint64) (i int, found bool) {
	return slices.BinarySearchFunc(l.holders, gen, func(h *holder, gen uint64) int { return cmp.Compare(h.gen, gen) })
}

// hold lists a version under a holder that needs it.
func (l *limbo) hold(h *holder, k oldVersion) {
	h.items = append(h.items, k)
	l.n++
}

// settled counts a pin at a generation.
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

// left discounts a pin. With the last pin of its generation the holder is removed, and its versions
// are queued.
func (l *limbo) left(gen uint64) {
	i, _ := l.search(gen)
	h := l.holders[i]
	if h.pins--; h.pins > 0 {
		return
	}
	l.release(h)
	l.spare = h
	if i == 0 && len(l.holders) > manyPins { // Delete would move all the others
		l.holders[0] = nil
		l.holders = l.holders[1:]
		return
	}
	l.holders = slices.Delete(l.holders, i, i+1)
}

// release queues the versions of a holder.
func (l *limbo) release(h *holder) {
	if len(h.items) > 0 {
		l.queue = append(l.queue, h.items)
		h.items = nil
	}
}

// look counts the pins that have settled: all of them, or those that may need a version superseded
// earlier. It discounts up to limit released pins. The versions of landing are queued when the
// oldest arriving pin has settled.
func (l *limbo) look(pins *pins, all bool, limit int) {
	arriving, looked := pins.look(all, l.settled)
	l.steps += looked
	if arriving != l.arriving { // otherwise landing would be examined for ever while one pin arrives
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

// pop removes one version from the queue.
func (l *limbo) pop() (oldVersion, bool) {
	n := len(l.queue) - 1
	if n < 0 {
		return oldVersion{}, false
	}
	items := l.queue[n]
	k := items[len(items)-1]
	l.n--
	items[len(items)-1] = oldVersion{}
	if l.queue[n] = items[:len(items)-1]; len(items) == 1 {
		l.queue[n] = nil
		l.queue = l.queue[:n]
	}
	return k, true
}
