// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime"

// afterWrite is called after each write and each step of the janitor, with the writers' lock held, in
// builds with invariants.
// The tests of this package set it to check the whole structure.
var afterWrite = func(*Table) {}

// settle drops the versions that the batch has superseded, unless a pin needs them. It is called
// after the publication, with the writers' lock held.
func (t *Table) settle(ops int) {
	c := t.core.Load()
	gen := c.published.Load()
	t.retire(c, gen, t.look(gen))
	t.tidy(tidyStep + tidyPerOp*ops)
}

// retire drops the versions that the batch gen has superseded, except those that keeper needs. keeper
// is the newest pin that is older than the batch, or nil.
func (t *Table) retire(c *core, gen uint64, keeper *pin) {
	var pinned uint64
	if keeper != nil && keeper.gen < c.born { // it sees a former body
		keeper = nil
	}
	if keeper != nil {
		pinned = keeper.gen
	}
	for _, r := range c.log.records {
		p, needed := r.retire(pinned)
		switch {
		case needed:
			t.keep(keeper, oldVersion{core: c, i: r.id, gen: p.gen})
		case p != nil && keeper == nil:
			c.log.reuse(p)
		}
		c.release(r)
	}
	for _, at := range c.log.leaves {
		if from, needed := at.post.leaf(at.i).retire(gen, pinned); needed {
			t.keep(keeper, oldVersion{core: c, post: at.post, i: at.i, gen: from})
		}
	}
	for _, at := range c.log.leaves {
		at.post.index.settle(at.post)
	}
	c.log.reset(keeper == nil)
}

// keep files a version under the newest pin that needs it.
func (t *Table) keep(p *pin, k oldVersion) {
	p.kept = append(p.kept, k)
	t.kept.Add(1)
}

// tidy examines up to limit released pins and versions kept for them, in the order of the releases. So
// a pin that has inherited versions is examined after the one that it has them from.
func (t *Table) tidy(limit int) {
	for ; limit > 0 && t.w.left != nil; limit-- {
		t.w.steps++
		if p := t.w.left; !t.pass(p) {
			t.w.left = p.newer
			*p = pin{} // pins.last may still refer to it
		}
	}
	if invariants {
		afterWrite(t)
	}
}

// pass examines one version kept for a released pin: the pin's older neighbor inherits it or, if that
// does not need it, no pin does and it is cut. pass reports false if there is no version left. Of two
// pins of one generation, which need the same versions, the one with fewer passes them.
func (t *Table) pass(p *pin) bool {
	heir := p.older
	if heir != nil && heir.gen == p.gen && len(heir.kept) < len(p.kept) {
		heir.kept, p.kept = p.kept, heir.kept
	}
	last := len(p.kept) - 1
	if last < 0 {
		return false
	}
	k := p.kept[last]
	if p.kept = p.kept[:last]; heir != nil && heir.gen >= max(k.gen, k.core.born) {
		heir.kept = append(heir.kept, k)
		return true
	}
	k.cut()
	t.kept.Add(-1)
	return true
}

// cut removes the version.
func (k *oldVersion) cut() {
	if k.post != nil {
		k.post.leaf(k.i).cut(k.gen)
		k.post.index.settle(k.post)
		return
	}
	r := k.core.records.at(k.i)
	r.cut(k.gen)
	k.core.release(r)
}

// leave releases a pin. If a version may be kept for it, a janitor is started: the reader itself does
// not tidy up.
func (t *Table) leave(p *pin) {
	if t.pins.leave(p) {
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

// cleanStep examines as much as a write without changes does, and reports whether there is more. It
// does not look at the open pins, of which there may be any number at the newest generation.
func (t *Table) cleanStep() (more bool) {
	t.w.Lock()
	defer t.w.Unlock()
	t.tidy(tidyStep)
	return !t.tidied()
}
