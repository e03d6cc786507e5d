// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

// Changes of records and leaves note the values that they overwrite. A note is stored before the
// change, and dropped after the batch, or cut once no pin needs it.

// set stores the record's next object in the draft gen. It notes the previous one unless the draft
// has changed the record before.
func (r *record) set(gen uint64, w words, log *changes) {
	if now := r.gen.Load(); now != gen {
		p := log.past()
		p.gen, p.words = now, r.words
		if older := r.undo.Load(); older != nil {
			p.prev.Store(older)
		}
		r.undo.Store(p)
		r.gen.Store(gen)
		log.record(r)
	}
	r.store(w)
}

// retire drops the version that the last change has superseded, unless a pin needs it. pinned is the
// newest pinned generation before the change, or 0.
func (r *record) retire(pinned uint64) (p *past, needed bool) {
	if p = r.undo.Load(); p == nil {
		return nil, false
	}
	if needed = p.gen <= pinned; !needed {
		r.undo.Store(p.prev.Load())
	}
	return p, needed
}

// cut removes the version written by generation from.
func (r *record) cut(from uint64) {
	link := &r.undo
	p := link.Load()
	for p.gen != from {
		link = &p.prev
		p = link.Load()
	}
	link.Store(p.prev.Load())
}

// note records the values that the next change in the draft gen overwrites: the number of members,
// and the id at pos. fresh reports whether this is the draft's first change of the leaf. A leaf
// created by the draft needs no notes: it had no members before.
func (l *leaf) note(gen uint64, pos uint32, log *changes) (fresh bool) {
	head := l.old.Load()
	now := l.gen.Load()
	if fresh = now != gen; !fresh && (head == nil || head.full != nil) {
		return false
	}
	o := log.old()
	o.from, o.upTo, o.n, o.pos, o.id, o.notes = now, gen, l.n, pos, l.ids()[pos], 1
	if head != nil {
		o.prev.Store(head)
	}
	if !fresh {
		o.from, o.notes = head.from, head.notes+1
	}
	l.old.Store(o)
	if !fresh && o.notes > maxNotes {
		l.old.Store(l.filled(o))
	}
	if fresh {
		l.gen.Store(gen)
	}
	return fresh
}

// filled returns one full leafOld that replaces the notes that begin at o.
func (l *leaf) filled(o *leafOld) *leafOld {
	f := &leafOld{from: o.from, upTo: o.upTo, full: new([leafLen]uint32)}
	copy(f.full[:], l.ids()[:l.n])
	for ; ; o = o.prev.Load() {
		f.full[o.pos] = o.id
		if o.notes == 1 {
			f.n = o.n
			f.prev.Store(o.prev.Load())
			return f
		}
	}
}

// retire drops the version of the leaf that the batch gen has superseded, unless a pin needs it. In
// that case from identifies the version. pinned is the newest pinned generation before gen, or 0.
func (l *leaf) retire(gen, pinned uint64) (from uint64, needed bool) {
	o := l.old.Load()
	if o == nil || o.upTo != gen {
		return 0, false
	}
	if o.from > pinned {
		l.old.Store(o.rest())
		return 0, false
	}
	if o.full == nil {
		l.old.Store(l.filled(o))
	}
	return o.from, true
}

// rest returns the version before the notes of a batch.
func (o *leafOld) rest() *leafOld {
	for o.full == nil && o.notes > 1 {
		o = o.prev.Load()
	}
	return o.prev.Load()
}

// cut removes the version written by generation from.
func (l *leaf) cut(from uint64) {
	link := &l.old
	o := link.Load()
	for o.from != from {
		link = &o.prev
		o = link.Load()
	}
	link.Store(o.prev.Load())
}
