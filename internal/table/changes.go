// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

// changes lists the records and leaves that the current batch has changed, and
// has the memory for what they were before.
//
// While a body or an index is built aside nothing is superseded; only leaves
// that lost a member are then of interest.
type changes struct {
	building bool

	records []uint32
	leaves  []leafRef

	// pasts are free. olds are for this batch, those from next on free. A batch
	// that nobody had a pin at leaves its pasts and olds to the next one: nobody
	// can look at them any longer, for who came after it was published does not
	// go back before it. What is new is cold, and that is what it costs.
	//
	// If somebody had, olds are given up as a whole: notes of two batches that
	// lie in one block would keep each other alive.
	pasts []*past
	olds  []leafOld
	next  int
}

type leafRef struct {
	post *posting
	i    uint32
}

func (l *changes) record(id uint32) {
	if !l.building {
		l.records = append(l.records, id)
	}
}

func (l *changes) leaf(p *posting, i uint32) {
	if !l.building {
		l.leaves = append(l.leaves, leafRef{p, i})
	}
}

// any tells whether the batch has superseded anything.
func (l *changes) any() bool { return len(l.records)+len(l.leaves) > 0 }

// past returns memory for a version.
func (l *changes) past() *past {
	n := len(l.pasts) - 1
	if n < 0 {
		return new(past)
	}
	p := l.pasts[n]
	l.pasts = l.pasts[:n]
	return p
}

// reuse takes back a version of a batch that nobody had a pin at.
func (l *changes) reuse(p *past) {
	if len(l.pasts) == keptPasts {
		return
	}
	p.words = words{}
	if p.prev.Load() != nil {
		p.prev.Store(nil)
	}
	l.pasts = append(l.pasts, p)
}

// old returns memory for a note. All its fields but prev are to be set.
func (l *changes) old() *leafOld {
	if l.next == len(l.olds) {
		n := fewOlds
		if l.next > 0 {
			n = manyOlds
		}
		l.olds, l.next = make([]leafOld, n), 0
	}
	l.next++
	return &l.olds[l.next-1]
}

// reset prepares for the next batch. alone says that nobody had a pin.
func (l *changes) reset(alone bool) {
	if alone {
		for i := range l.olds[:l.next] {
			if o := &l.olds[i]; o.prev.Load() != nil {
				o.prev.Store(nil)
			}
		}
	} else {
		l.olds = nil
	}
	l.next = 0
	if cap(l.records) > keptLog || cap(l.leaves) > keptLog {
		l.records, l.leaves = nil, nil
		return
	}
	clear(l.leaves)
	l.records, l.leaves = l.records[:0], l.leaves[:0]
}
