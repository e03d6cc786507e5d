// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

// Bracket is the extent of an object or array in a document.
type Bracket struct {
	Begin, End int32 // End is 0 if the closing bracket is missing
	after      int32 // the number of brackets that begin before End
}

// Brackets are the objects and arrays of a document, in the order of their beginnings. They are
// found before the document is decoded, so that the end of a value is known at its beginning:
//
//	{"a":[1,{}],"b":{}}      0: {…}   1: [1,{}]   2: {}   3: {}
//	0    1  2       3        Leap over 1 continues before 3
type Brackets struct {
	list []Bracket
	open []int32 // the stack of Find, empty between calls
}

// Find finds the brackets of a document. The document is not checked, so the brackets are
// meaningless if it is not valid. Find finds none in a document nested more deeply than Deepest:
// leaping over a bracket does not evade that limit.
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

// None removes all brackets.
func (b *Brackets) None() {
	if b.list = b.list[:0]; cap(b.list) > maxScratch/4 {
		b.list = nil
	}
}

// Next returns the object or array that begins at the position of d. It reports false if Find did
// not find it.
func (b *Brackets) Next(d *Scanner) (Bracket, bool) {
	if d.Opened >= len(b.list) {
		return Bracket{}, false
	}
	next := b.list[d.Opened]
	return next, int(next.Begin) == d.Pos
}

// Leap moves to the end of an object or array without reading it.
func (d *Scanner) Leap(b Bracket) bool {
	d.Pos, d.Opened = int(b.End), int(b.after)
	return true
}
