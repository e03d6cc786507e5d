// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

// take opens a pin at the newest generation, and returns its view and meta. since is the time of a
// snapshot, or 0. The caller must release the pin with leave.
//
// busy is set before the generation is chosen: a writer that publishes after that looks at the pins.
// So at most one generation is published until the lock is released, and the meta is never overwritten.
func (t *Table) take(since int64) (view, meta, *pin) {
	l := &t.pins
	l.Lock()
	defer l.Unlock()
	p := l.unused()
	if !l.busy.Load() {
		l.busy.Store(true)
	}
	c := t.core.Load()
	v := view{core: c, gen: c.published.Load(), pinned: true}
	m, _ := c.metas.at(v.gen, &c.published)
	p.gen, p.since = v.gen, since
	l.push(p)
	return v, m, p
}

// unused returns the spare pin or a new one. That is allocated without the lock, because a goroutine
// that allocates may have to assist the garbage collector.
func (l *pins) unused() *pin {
	p := l.spare
	if p == nil {
		l.Unlock()
		p = new(pin)
		l.Lock()
		return p
	}
	l.spare, p.newer = nil, nil
	return p
}

// push adds the newest pin to the list. It is at the newest generation, so the list is in order.
func (l *pins) push(p *pin) {
	if p.older = l.newest; p.older != nil {
		p.older.newer = p
	} else {
		l.oldest = p
	}
	l.newest = p
	if p.since != 0 {
		l.snapshots++
	}
}

// leave releases a pin, and reports whether a janitor is to be started: if a version may be kept for
// the pin, and there is no janitor.
func (l *pins) leave(p *pin) (start bool) {
	l.Lock()
	defer l.Unlock()
	l.remove(p)
	if l.looked <= p.gen {
		l.spare = p
		return false
	}
	if p.newer = nil; l.left == nil {
		l.left = p
	} else {
		l.last.newer = p
	}
	l.last = p
	start, l.janitor = !l.janitor, true
	return start
}

// remove removes a pin from the list. The pin keeps its older neighbor, which inherits its versions.
func (l *pins) remove(p *pin) {
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		l.newest = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		l.oldest = p.newer
	}
	if p.since != 0 {
		l.snapshots--
	}
}

// look returns the newest pin that is older than gen, or nil. gen was published just now: of the
// versions that it has superseded this pin needs those that are not newer than itself, and the others
// are not needed by any pin. look also receives the released pins.
func (t *Table) look(gen uint64) (keeper *pin) {
	l := &t.pins
	if !l.busy.Load() {
		return nil
	}
	l.Lock()
	defer l.Unlock()
	l.looked = gen
	t.receive()
	for keeper = l.newest; keeper != nil && keeper.gen == gen; keeper = keeper.older {
		t.w.steps++
	}
	return keeper
}

// receive passes the released pins to the writer, with the locks of both held. If no pin is open a write
// may omit that: the janitor receives the others.
func (t *Table) receive() {
	l := &t.pins
	if t.w.left == nil { // otherwise those are to be examined first
		t.w.left, l.left = l.left, nil
	}
	if l.newest == nil {
		l.busy.Store(false)
	}
}

// tidied receives the released pins, and reports whether there is nothing left to examine. If so, the
// next reader that leaves starts another janitor.
func (t *Table) tidied() bool {
	l := &t.pins
	l.Lock()
	defer l.Unlock()
	t.receive()
	l.janitor = t.w.left != nil
	return !l.janitor
}

// opened returns the number of open snapshots, and the time at which the oldest one was taken, or 0.
func (l *pins) opened() (n int, since int64) {
	l.Lock()
	defer l.Unlock()
	for p := l.oldest; l.snapshots > 0 && since == 0; p = p.newer {
		since = p.since
	}
	return l.snapshots, since
}
