// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"sync/atomic"
)

// pin says that somebody reads at a generation.
//
//	        take              settle              leave
//	free ─────────▶ arriving ─────────▶ settled ─────────▶ free
//	                                       │ a look
//	                                       ▼      leave
//	                                    counted ─────────▶ left, and garbage
//
// A write that has superseded something looks at the pins in the list. One that
// has settled it counts, once, and takes it off the list: what its generation
// needs is then kept until the reader who leaves it has said so. So the list has
// the pins of a few calls, and a write looks at no pin that an earlier one has
// seen settled, however many there are and however long they stay.
//
// Taking, settling and leaving are a few atomic operations and wait for nobody.
type pin struct {
	// state is 0 when free, else the generation << pinShift and flags. The
	// reader takes, settles and leaves, the writer sets flags. A counted pin
	// keeps its state for ever, so that nobody takes one that is not in the list.
	state atomic.Uint64
	// since is when a snapshot was taken, in Unix nanoseconds; 0 for a call. It
	// is stored before the pin settles.
	since atomic.Int64
	// next leads on in the list of the pins, and from one that was taken off to
	// where that went on. It is changed by the writer only.
	next atomic.Pointer[pin]
	// left is the next in the stack of the counted pins that were left.
	left *pin
	// older and newer are the neighbours among those that were counted and are
	// not discounted. The writer's, but that any goroutine may follow older.
	older atomic.Pointer[pin]
	newer *pin
	// Pins of different readers do not share a cache line.
	_ [16]byte
}

const (
	pinShift = 3
	// pinArriving: the reader is yet to choose its generation, which will be
	// this one or any newer one.
	pinArriving = 1
	// pinMarked marks a pin that was arriving when something was superseded: it may
	// be kept for it, and who leaves calls the janitor.
	pinMarked = 2
	// pinCounted: the writer has counted the pin at its generation.
	pinCounted = 4
	// pinGone is the state of a free pin that was taken off the list.
	pinGone = pinCounted
)

// settle fixes the generation of an arriving pin.
func (p *pin) settle(gen uint64) {
	for {
		s := p.state.Load()
		if p.state.CompareAndSwap(s, gen<<pinShift|s&pinMarked) {
			return
		}
	}
}

// meet has the pin counted if it has settled, and marked if it arrives: all are
// met or, without all, those that were marked before. A free one goes unless it
// is spared. It returns the state that the pin has then, and whether it was
// counted just now.
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

// pins is all pins.
type pins struct {
	// head is the list of those that are free, or arrive, or have settled and not
	// been counted yet. Readers add to its head, the writer takes off.
	head atomic.Pointer[pin]
	// left is a stack of counted pins that were left. Readers add to it, the
	// writer takes all.
	left atomic.Pointer[pin]
	// counted are the others, the last one that was counted first.
	counted atomic.Pointer[pin]
	// leaving are those that the writer took from left and is yet to discount.
	// Writer only.
	leaving *pin
}

// arrive takes a pin for a reader that will settle at gen or later, and tells
// how many others it has passed by.
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

// leave frees a pin and tells whether something may have been kept for it.
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

// crowded tells that those who arrive pass by too many pins that are in use.
func (l *pins) crowded() bool {
	n := 0
	for p := l.head.Load(); p != nil && n <= manyPins; p = p.next.Load() {
		if p.state.Load() != 0 {
			n++
		}
	}
	return n > manyPins
}

// look calls settled with the generation of each pin that it counts. It returns
// the lowest generation at which one of the marked pins that still arrive may
// settle, and at how many pins it has looked.
//
// With all it is for who has published a generation that supersedes something.
// A pin that it misses settles at that generation or a newer one: it arrived
// after the look at its state, and reads published after that. Therefore the
// others need not look at pins that are neither counted nor marked.
func (l *pins) look(all bool, settled func(gen uint64)) (arriving uint64, looked int) {
	arriving = whileArriving
	var last *pin // the last one that stays in the list
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

// unlink takes a pin off the list. It returns false for the first one if it was
// no longer the first: then it goes the next time.
func (l *pins) unlink(before, p *pin) bool {
	next := p.next.Load()
	if before == nil {
		return l.head.CompareAndSwap(p, next)
	}
	before.next.Store(next)
	return true
}

// count adds a pin to those that are counted.
func (l *pins) count(p *pin) {
	first := l.counted.Load()
	p.older.Store(first)
	if first != nil {
		first.newer = p
	}
	l.counted.Store(p)
}

// discountable tells whether discount would find one.
func (l *pins) discountable() bool { return l.leaving != nil || l.left.Load() != nil }

// discount takes off one of the counted pins that were left, and returns its
// generation; ok is false if there is none.
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

// oldest returns when the oldest snapshot was taken that is still open, or 0.
func (l *pins) oldest() (since int64) {
	look := func(p *pin) {
		if at := p.since.Load(); at != 0 && (since == 0 || at < since) {
			since = at
		}
	}
	// A pin goes from the list to the counted ones, not back.
	for p := l.head.Load(); p != nil; p = p.next.Load() {
		look(p)
	}
	for p := l.counted.Load(); p != nil; p = p.older.Load() {
		look(p)
	}
	return since
}

// whileArriving stands for the generation of an arriving pin.
const whileArriving = math.MaxUint64
