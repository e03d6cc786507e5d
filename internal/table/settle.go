// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime"

// settle cuts out what the batch has superseded, after it was published and
// with the writer's lock held. Whoever is a reason to keep something is known by
// then: it tidies up when it leaves.
func (t *Table) settle(ops int) {
	c, l, limit := t.core.Load(), &t.w.limbo, tidyStep+tidyPerOp*ops
	l.look(&t.pins, c.log.any(), limit)
	c.retire(l)
	l.tidy(limit)
	if t.kept.Load() != int64(l.n) {
		t.kept.Store(int64(l.n))
	}
	t.check()
}

// leave frees a pin. If versions were kept for it, it cuts some out now, and
// the rest in the background, one step at a time: an idle table keeps nothing.
// It never waits for a writer.
func (t *Table) leave(p *pin) {
	if !t.pins.leave(p) {
		return
	}
	if more, ok := t.tryTidy(); ok && !more {
		return
	}
	if t.janitor.CompareAndSwap(false, true) {
		go t.clean()
	}
}

// tryTidy is tidyLocked if no writer is busy, which ok tells.
func (t *Table) tryTidy() (more, ok bool) {
	if !t.w.TryLock() {
		return false, false
	}
	defer t.w.Unlock()
	return t.tidyLocked(), true
}

// clean tidies until nothing is left to look at, then ends. It gives up its
// office before each look at the pins: who leaves after the look finds it
// vacant and starts the next janitor.
func (t *Table) clean() {
	for {
		t.w.Lock()
		t.janitor.Store(false)
		more := t.tidyLocked()
		t.w.Unlock()
		if !more || !t.janitor.CompareAndSwap(false, true) {
			return
		}
		runtime.Gosched()
	}
}

// tryCount has the pins counted if no writer is busy, so that who arrives next
// passes by fewer.
func (t *Table) tryCount() {
	if t.w.TryLock() {
		t.pins.look(true, t.w.limbo.settled)
		t.w.Unlock()
	}
}

// tidyLocked does one step and tells whether there is more to look at.
func (t *Table) tidyLocked() (more bool) {
	t.settle(0)
	return len(t.w.limbo.queue) > 0 || t.pins.leaving != nil
}
