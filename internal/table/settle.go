// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime"

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
	t.check()
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
