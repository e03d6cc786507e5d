// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"slices"
	"sync/atomic"
)

// pin says that somebody reads at a generation. Pins form a list that only
// grows, at its head; a pin that is free is taken again. Taking, settling and
// leaving are a few atomic operations and wait for nobody.
type pin struct {
	// state is 0 when free, else the generation << pinShift and two flags.
	state atomic.Uint64
	// since is when a snapshot was taken, in Unix nanoseconds; 0 for a call.
	since atomic.Int64
	next  *pin
	// Pins of different readers do not share a cache line.
	_ [40]byte
}

const (
	pinShift = 2
	// pinArriving: the reader is yet to choose its generation, which will be
	// this one or any newer one.
	pinArriving = 1
	// pinKept: the writer keeps versions for this pin; who leaves tidies up.
	pinKept = 2
)

// settle fixes the generation of an arriving pin.
func (p *pin) settle(gen uint64) {
	for {
		s := p.state.Load()
		if p.state.CompareAndSwap(s, gen<<pinShift|s&pinKept) {
			return
		}
	}
}

// leave frees the pin and tells whether versions were kept for it.
func (p *pin) leave() (kept bool) {
	p.since.Store(0)
	return p.state.Swap(0)&pinKept != 0
}

// pins is the list of all pins.
type pins struct {
	head atomic.Pointer[pin]
}

// arrive takes a pin for a reader that will settle at gen or later.
func (l *pins) arrive(gen uint64) *pin {
	word := gen<<pinShift | pinArriving
	for p := l.head.Load(); p != nil; p = p.next {
		if p.state.Load() == 0 && p.state.CompareAndSwap(0, word) {
			return p
		}
	}
	p := new(pin)
	p.state.Store(word)
	for {
		p.next = l.head.Load()
		if l.head.CompareAndSwap(p.next, p) {
			return p
		}
	}
}

// gens appends the pinned generations to buf, whose memory it reuses.
//
// A pin that this misses settles at a generation that was published before the
// call, or a newer one: it arrived after the look at its state, and reads
// published after that.
func (l *pins) gens(buf []uint64) pinnedGens {
	g := pinnedGens{settled: buf[:0], arriving: math.MaxUint64}
	for p := l.head.Load(); p != nil; p = p.next {
		switch s := p.state.Load(); {
		case s == 0:
		case s&pinArriving != 0:
			g.arriving = min(g.arriving, s>>pinShift)
		default:
			g.settled = append(g.settled, s>>pinShift)
		}
	}
	if len(g.settled) > 1 {
		slices.Sort(g.settled)
	}
	return g
}

// mark sets pinKept on the pins at generations for which held is true;
// whileArriving stands for those that arrive. It returns false if one of them
// settled or left meanwhile, so that nobody would tidy up after it.
func (l *pins) mark(held func(gen uint64) bool) bool {
	for p := l.head.Load(); p != nil; p = p.next {
		s := p.state.Load()
		if s == 0 || s&pinKept != 0 {
			continue
		}
		gen := s >> pinShift
		if s&pinArriving != 0 {
			gen = whileArriving
		}
		if held(gen) && !p.state.CompareAndSwap(s, s|pinKept) {
			return false
		}
	}
	return true
}

// pinnedGens is what the writer knows of the pins after it has published.
type pinnedGens struct {
	// settled holds the generations in rising order.
	settled []uint64
	// arriving is the lowest generation at which an arriving pin may settle.
	arriving uint64
}

// whileArriving stands for the generation of an arriving pin.
const whileArriving = math.MaxUint64

// within returns a pinned generation g with from <= g < to, the lowest one.
func (g pinnedGens) within(from, to uint64) (uint64, bool) {
	i, _ := slices.BinarySearch(g.settled, from)
	if i < len(g.settled) && g.settled[i] < to {
		return g.settled[i], true
	}
	if g.arriving < to {
		return whileArriving, true
	}
	return 0, false
}

// nobody tells that there is no pin.
func (g pinnedGens) nobody() bool { return len(g.settled) == 0 && g.arriving == whileArriving }

func (g pinnedGens) has(gen uint64) bool {
	_, ok := slices.BinarySearch(g.settled, gen)
	return ok
}
