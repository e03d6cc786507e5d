// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime"

// afterWrite is called after each write, with the writer's lock held, in builds with invariants.
// Tests of this package check the whole structure.
var afterWrite = func(*Table) {}

// settle cuts out what the batch has superseded, after it was published and
// with the writer's lock held. Whoever is a reason to keep something is known by
// then, and calls the janitor when it leaves.
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

// retire lets go of what the batch that was just published has superseded, but
// for what somebody needs.
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
	gen := c.published.Load()
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

// leave frees a pin. If something may be kept for it, that is for the janitor to
// look at: a reader takes no lock.
func (t *Table) leave(p *pin) {
	if t.pins.leave(p) {
		t.callJanitor()
	}
}

// callJanitor has somebody tidy up, who has not looked at the pins yet.
func (t *Table) callJanitor() {
	if t.janitor.CompareAndSwap(false, true) {
		go t.clean()
	}
}

// clean is the janitor: a goroutine that tidies one step at a time until nothing
// is left to look at. So an idle table keeps nothing.
func (t *Table) clean() {
	for t.cleanStep() {
		runtime.Gosched()
	}
}

// cleanStep does one step and tells whether the next one is for the same janitor.
// It gives up its office before it looks at the pins: who leaves after the look
// finds that vacant and calls another one, who then goes on.
func (t *Table) cleanStep() (again bool) {
	t.w.Lock()
	defer t.w.Unlock()
	t.janitor.Store(false)
	return t.tidyLocked() && t.janitor.CompareAndSwap(false, true)
}

// tidyLocked does one step and tells whether there is more to look at.
func (t *Table) tidyLocked() (more bool) {
	t.settle(0)
	return len(t.w.limbo.queue) > 0 || t.pins.discountable()
}
