// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"slices"
)

const (
	// A batch looks again at tidyPerOp times as many kept versions as it makes,
	// so that what was kept shrinks faster than it can grow ...
	tidyPerOp = 4
	// ... and at tidyStep at least: about 10 us, the longest that a writer
	// waits for a tidying reader.
	tidyStep = 128
)

// settle cuts out what the batch has superseded, after it was published and
// with the writer's lock held.
func (t *Table) settle(ops int) {
	c, limit := t.core.Load(), tidyStep+tidyPerOp*ops
	for {
		pinned := t.pins.gens(t.w.gens)
		t.w.gens = pinned.settled
		c.retire(pinned)
		t.tidy(pinned, limit)
		if t.kept.Load() == 0 || t.pins.mark(t.held) {
			break
		}
	}
	t.check()
}

// tidy looks again at kept versions in all bodies, and counts what is left.
func (t *Table) tidy(pinned pinnedGens, limit int) {
	kept := t.core.Load().tidy(pinned, limit)
	if len(t.w.frozen) > 0 {
		for _, c := range t.w.frozen {
			kept += c.tidy(pinned, limit)
		}
		t.w.frozen = slices.DeleteFunc(t.w.frozen, func(c *core) bool { return c.limbo.n == 0 })
	}
	if t.kept.Load() != int64(kept) {
		t.kept.Store(int64(kept))
	}
}

// bodies returns the current body and the former ones that keep something.
func (t *Table) bodies() []*core { return append([]*core{t.core.Load()}, t.w.frozen...) }

// held tells whether some body keeps something for a generation.
func (t *Table) held(gen uint64) bool {
	return t.core.Load().limbo.has(gen) ||
		slices.ContainsFunc(t.w.frozen, func(c *core) bool { return c.limbo.has(gen) })
}

// leave frees a pin. If versions were kept for it, it cuts some out now, and
// the rest in the background, one step at a time: an idle table keeps nothing.
// It never waits for a writer.
func (t *Table) leave(p *pin) {
	if !p.leave() {
		return
	}
	if t.w.TryLock() {
		more := t.tidyLocked()
		t.w.Unlock()
		if !more {
			return
		}
	}
	if t.janitor.CompareAndSwap(false, true) {
		go t.clean()
	}
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

// tidyLocked does one step and tells whether there is more to look at.
func (t *Table) tidyLocked() (more bool) {
	t.settle(0)
	return slices.ContainsFunc(t.bodies(), func(c *core) bool { return len(c.limbo.queue) > 0 })
}
