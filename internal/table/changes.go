// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

func (l *changes) record(r *record) {
	if !l.building {
		l.records = append(l.records, r)
	}
}

func (l *changes) leaf(p *posting, i uint32) {
	if !l.building {
		l.leaves = append(l.leaves, leafRef{p, i})
	}
}

// past returns memory for a superseded version.
func (l *changes) past() *past {
	n := len(l.pasts) - 1
	if n < 0 {
		return new(past)
	}
	p := l.pasts[n]
	l.pasts = l.pasts[:n]
	return p
}

// reuse takes back a version that the batch has superseded. No pin may be older than the batch.
func (l *changes) reuse(p *past) {
	if len(l.pasts) == maxPasts {
		return
	}
	p.words = words{}
	if p.prev.Load() != nil {
		p.prev.Store(nil)
	}
	l.pasts = append(l.pasts, p)
}

// old returns memory for a note. The caller must set all fields except prev.
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

// reset prepares for the next batch. alone means that no pin is older than this one.
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
	if cap(l.records) > maxLog || cap(l.leaves) > maxLog {
		l.records, l.leaves = nil, nil
		return
	}
	clear(l.leaves)
	l.records, l.leaves = l.records[:0], l.leaves[:0]
}
