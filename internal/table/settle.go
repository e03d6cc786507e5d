// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime"

// afterWrite is called after each write, with the writers' lock held, in builds with invariants.
// The tests of this package set it to check the whole structure.
var afterWrite = func(*Table) {}

// settle drops the versions that the batch has superseded, unless a pin needs them. It is called
// after the publication, with the writers' lock held. Each reader for which a version is kept is
// counted or marked by then, and calls the janitor when it leaves.
func (t *Table) settle(ops int) {
	c, l, limit := t.core.Load(), &t.w.limbo, tidyStep+tidyPerOp*ops
	l.look(&t.pins, c.log.any() || t.pins.crowded(), limit)
	c.retire(l)
	l.tidy(limit)
	if t.kept.Load() != int64(l.n) {
		t.kept.Store(int64(l.n))
	}
	if invariants {
		afterWrite(t)
	}
}

// retire drops the versions that the last published batch has superseded, and files those that are
// needed in limbo.
func (c *core) retire(l *limbo) {
	alone := l.unpinned()
	for _, r := range c.log.records {
		p, h := r.retire(l)
		switch {
		case h != nil:
			l.hold(h, oldVersion{core: c, i: r.id, gen: p.gen})
		case p != nil && alone:
			c.log.reuse(p)
		}
		c.release(r)
	}
	gen := c.published.Load().gen
	for _, at := range c.log.leaves {
		if from, h := at.post.leaf(at.i).retire(gen, l); h != nil {
			l.hold(h, oldVersion{core: c, post: at.post, i: at.i, gen: from})
		}
	}
	for _, at := range c.log.leaves {
		at.post.index.settle(at.post)
	}
	c.log.reset(alone)
}

// tidy examines again up to limit of the queued versions.
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

// cut removes the version if no holder needs it. Otherwise it returns a holder that does.
func (k *oldVersion) cut(l *limbo) *holder {
	if k.post != nil {
		h := k.post.leaf(k.i).cut(k.gen, l)
		if h == nil {
			k.post.index.settle(k.post)
		}
		return h
	}
	r := k.core.records.at(k.i)
	h := r.cut(k.gen, l)
	if h == nil {
		k.core.release(r)
	}
	return h
}

// leave releases a pin. If a version may be kept for it, the janitor is called: a reader takes no
// lock.
func (t *Table) leave(p *pin) {
	if t.pins.leave(p) {
		t.callJanitor()
	}
}

// callJanitor starts a janitor, unless one was started that has not yet looked at the pins.
func (t *Table) callJanitor() {
	if t.janitor.CompareAndSwap(false, true) {
		go t.clean()
	}
}

// clean is the janitor: a goroutine that tidies up one step at a time until there is nothing left
// to examine. So an idle table keeps no versions.
func (t *Table) clean() {
	for t.cleanStep() {
		runtime.Gosched()
	}
}

// cleanStep does one step, and reports whether this janitor is to do the next one. It clears the
// flag before it looks at the pins: a reader that leaves after the look finds the flag clear and
// starts another janitor, which continues.
func (t *Table) cleanStep() (again bool) {
	t.w.Lock()
	defer t.w.Unlock()
	t.janitor.Store(false)
	return t.tidyLocked() && t.janitor.CompareAndSwap(false, true)
}

// tidyLocked does one step, and reports whether there is more to examine. It requires t.w and keeps
// it.
func (t *Table) tidyLocked() (more bool) {
	t.settle(0)
	return len(t.w.limbo.queue) > 0 || t.pins.discountable()
}
