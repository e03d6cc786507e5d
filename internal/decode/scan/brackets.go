// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

// Bracket is where an object or array lies in a document.
type Bracket struct {
	Begin, End int32 // End is 0 where it has none
	after      int32 // how many begin before its end
}

// Brackets are the objects and arrays of a document, in the order of their beginnings.
type Brackets struct {
	list []Bracket
	open []int32 // stack of Find
}

// Find finds the brackets of a document that was not checked: they may be wrong if the document is
// none. It finds none in a document that is too deep. So a bracket that is leapt over makes no
// document deeper than it may be.
func (b *Brackets) Find(data []byte) {
	list, open := b.list[:0], b.open[:0]
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = TextEnd(data, i+1)
		case '{', '[':
			if len(open) == Deepest {
				b.list = list[:0]
				return
			}
			open = append(open, int32(len(list)))
			list = append(list, Bracket{Begin: int32(i)})
		case '}', ']':
			if last := len(open) - 1; last >= 0 {
				b := &list[open[last]]
				b.End, b.after = int32(i+1), int32(len(list))
				open = open[:last]
			}
		}
	}
	b.list, b.open = list, open
}

// None forgets all brackets.
func (b *Brackets) None() {
	if b.list = b.list[:0]; cap(b.list) > maxScratch/4 {
		b.list = nil
	}
}

// Next returns the object or array that begins where d is, if it was found.
func (b *Brackets) Next(d *Scanner) (Bracket, bool) {
	if d.Opened >= len(b.list) {
		return Bracket{}, false
	}
	next := b.list[d.Opened]
	return next, int(next.Begin) == d.Pos
}

// Leap goes behind an object or array without reading it.
func (d *Scanner) Leap(b Bracket) bool {
	d.Pos, d.Opened = int(b.End), int(b.after)
	return true
}
