// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"sync/atomic"
)

// pin announces a reader at a generation.
//
//	        arrive            settle              leave
//	free ─────────▶ arriving ─────────▶ settled ─────────▶ free
//	                                       │ look
//	                                       ▼      leave
//	                                    counted ─────────▶ left, and garbage
//
// A write that has superseded a version looks at the pins in the list. It counts a settled pin once
// and removes it from the list; the versions that the pin's generation needs are then kept until
// its reader has released it. So the list holds the pins of a few calls, and a write looks at no
// pin that an earlier one has counted, however many pins there are and however long they last.
//
// Arriving, settling and leaving are a few atomic operations and do not block.
type pin struct {
	// state is 0 if the pin is free, otherwise generation << pinShift | flags. The reader takes,
	// settles and leaves the pin; the writer sets flags. A counted pin keeps its state for ever, so
	// that no reader takes a pin that is not in the list.
	state atomic.Uint64
	// since is the time at which a snapshot was taken, in Unix nanoseconds; 0 for a call. It is
	// stored before the pin settles.
	since atomic.Int64
	// next is the next pin of the list or, for a pin that was removed from the list, its next pin
	// at that time. It is changed by the writer only.
	next atomic.Pointer[pin]
	// left is the next pin in the stack of released counted pins.
	left *pin
	// older and newer are the neighbors among the counted pins that are not yet discounted. They
	// belong to the writer, but any goroutine may follow older.
	older atomic.Pointer[pin]
	newer *pin
	// Pins of different readers do not share a cache line.
	_ [16]byte
}

const (
	pinShift = 3
	// pinArriving means that the reader has yet to choose its generation: this one or a newer one.
	pinArriving = 1
	// pinMarked marks a pin that was arriving when a version was superseded. The version may be
	// kept for it, so its reader calls the janitor when it leaves.
	pinMarked = 2
	// pinCounted means that the writer has counted the pin at its generation.
	pinCounted = 4
	// pinGone is the state of a free pin that was removed from the list.
	pinGone = pinCounted
)

// settle sets the generation of an arriving pin.
func (p *pin) settle(gen uint64) {
	for {
		s := p.state.Load()
		if p.state.CompareAndSwap(s, gen<<pinShift|s&pinMarked) {
			return
		}
	}
}

// meet counts the pin if it has settled, and marks it if it is arriving. If all is false it does so
// only for a pin that was marked before. A free pin is marked as removed unless spared. meet
// returns the pin's new state, and reports whether it has counted the pin.
func (p *pin) meet(all, spared bool) (state uint64, counted bool) {
	for {
		s := p.state.Load()
		to := s
		switch {
		case s == 0:
			if !spared {
				to = pinGone
			}
		case s&pinArriving != 0:
			if all {
				to = s | pinMarked
			}
		case all || s&pinMarked != 0:
			to = s | pinCounted
		}
		if s == to || p.state.CompareAndSwap(s, to) {
			return to, s != to && s>>pinShift != 0 && to&pinCounted != 0
		}
	}
}

// pins is the set of all pins of a table.
//
//	head    ─▶ pin ─▶ pin        free, arriving or settled
//	left    ─▶ pin ─▶ pin        counted and released
//	counted ─▶ pin ⇄ pin ⇄ pin   counted, not yet discounted
type pins struct {
	// head is the list of pins that are free, arriving, or settled and not yet counted. Readers
	// insert at the head, the writer removes.
	head atomic.Pointer[pin]
	// left is a stack of released counted pins. Readers push, the writer takes all.
	left atomic.Pointer[pin]
	// counted is the list of counted pins, the most recently counted one first.
	counted atomic.Pointer[pin]
	// leaving is the rest of the stack that the writer took from left and has yet to discount.
	// Writer only.
	leaving *pin
}

// arrive takes a pin for a reader that will settle at gen or later. passed is the number of other
// pins that it has passed.
func (l *pins) arrive(gen uint64) (p *pin, passed int) {
	word := gen<<pinShift | pinArriving
	for p := l.head.Load(); p != nil; p = p.next.Load() {
		if p.state.Load() == 0 && p.state.CompareAndSwap(0, word) {
			return p, passed
		}
		passed++
	}
	p = new(pin)
	p.state.Store(word)
	for {
		first := l.head.Load()
		p.next.Store(first)
		if l.head.CompareAndSwap(first, p) {
			return p, passed
		}
	}
}

// leave releases a pin, and reports whether a version may have been kept for it.
func (l *pins) leave(p *pin) (marked bool) {
	if p.since.Load() != 0 {
		p.since.Store(0)
	}
	for {
		s := p.state.Load()
		if s&pinCounted != 0 {
			break
		}
		if p.state.CompareAndSwap(s, 0) {
			return s&pinMarked != 0
		}
	}
	for {
		p.left = l.left.Load()
		if l.left.CompareAndSwap(p.left, p) {
			return true
		}
	}
}

// crowded reports whether arriving readers pass too many pins that are in use.
func (l *pins) crowded() bool {
	n := 0
	for p := l.head.Load(); p != nil && n <= manyPins; p = p.next.Load() {
		if p.state.Load() != 0 {
			n++
		}
	}
	return n > manyPins
}

// look calls settled with the generation of each pin that it counts. It returns the lowest
// generation at which a marked pin that is still arriving may settle, and the number of pins that
// it has looked at.
//
// all is set after a publication that superseded versions. A pin that such a look misses settles at
// that generation or a newer one: it arrived after the look at its state, and loads published after
// that. Therefore the other looks skip pins that are neither counted nor marked.
func (l *pins) look(all bool, settled func(gen uint64)) (arriving uint64, looked int) {
	arriving = whileArriving
	var last *pin // the last pin that stays in the list
	spare := 0
	for p := l.head.Load(); p != nil; p = p.next.Load() {
		looked++
		s, counted := p.meet(all, spare < sparePins)
		switch {
		case counted:
			l.count(p)
			settled(s >> pinShift)
		case s == 0:
			spare++
		case s&pinArriving != 0 && s&pinMarked != 0:
			arriving = min(arriving, s>>pinShift)
		}
		if s&pinCounted == 0 || !l.unlink(last, p) {
			last = p
		}
	}
	return arriving, looked
}

// unlink removes a pin from the list. It reports false for the first pin if another one was
// inserted before it; the next look then removes it.
func (l *pins) unlink(before, p *pin) bool {
	next := p.next.Load()
	if before == nil {
		return l.head.CompareAndSwap(p, next)
	}
	before.next.Store(next)
	return true
}

// count adds a pin to the counted ones.
func (l *pins) count(p *pin) {
	first := l.counted.Load()
	p.older.Store(first)
	if first != nil {
		first.newer = p
	}
	l.counted.Store(p)
}

// discountable reports whether discount would find a pin.
func (l *pins) discountable() bool { return l.leaving != nil || l.left.Load() != nil }

// discount removes one released pin from the counted ones, and returns its generation. ok is false
// if there is none.
func (l *pins) discount() (gen uint64, ok bool) {
	p := l.leaving
	if p == nil {
		if l.left.Load() == nil {
			return 0, false
		}
		p = l.left.Swap(nil)
	}
	l.leaving, p.left = p.left, nil
	older := p.older.Load()
	if older != nil {
		older.newer = p.newer
	}
	if p.newer != nil {
		p.newer.older.Store(older)
		p.newer = nil
	} else {
		l.counted.Store(older)
	}
	return p.state.Load() >> pinShift, true
}

// oldest returns the time at which the oldest open snapshot was taken, or 0.
func (l *pins) oldest() (since int64) {
	look := func(p *pin) {
		if at := p.since.Load(); at != 0 && (since == 0 || at < since) {
			since = at
		}
	}
	// A pin moves from the list to the counted ones, not back.
	for p := l.head.Load(); p != nil; p = p.next.Load() {
		look(p)
	}
	for p := l.counted.Load(); p != nil; p = p.older.Load() {
		look(p)
	}
	return since
}

// whileArriving is the result of look if no marked pin is arriving: later than any generation.
const whileArriving = math.MaxUint64
