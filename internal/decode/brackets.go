// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

// bracket is where an object or array lies in a document.
type bracket struct {
	begin, end int32 // end is 0 where it has none
	after      int32 // how many begin before its end
}

// findBrackets finds all objects and arrays, in the order of their beginnings, of a document that
// was not checked: so it may be wrong, if that is none. It finds none in a document that is too
// deep, parts that will be found included.
func (d *reader) findBrackets() {
	list, open := d.brackets[:0], d.open[:0]
	for i := 0; i < len(d.data); i++ {
		switch d.data[i] {
		case '"':
			i = textEnd(d.data, i+1)
		case '{', '[':
			if len(open) == deepest {
				d.brackets = list[:0]
				return
			}
			open = append(open, int32(len(list)))
			list = append(list, bracket{begin: int32(i)})
		case '}', ']':
			if last := len(open) - 1; last >= 0 {
				b := &list[open[last]]
				b.end, b.after = int32(i+1), int32(len(list))
				open = open[:last]
			}
		}
	}
	d.brackets, d.open = list, open
}

// textEnd returns the index of the quote at or behind i that ends a text.
func textEnd(data []byte, i int) int {
	for ; i < len(data); i++ {
		i = plainUntil(data, i)
		if i < len(data) && data[i] == '"' {
			return i
		}
		if i < len(data) && data[i] == '\\' {
			i++
		}
	}
	return i
}

// extent returns where the object or array lies that begins here, if it may be a part of the table.
func (d *reader) extent() (b bracket, ok bool) {
	if d.parts == nil || d.private || d.opened >= len(d.brackets) {
		return bracket{}, false
	}
	b = d.brackets[d.opened]
	return b, int(b.begin) == d.pos && d.worthwhile(int(b.end-b.begin))
}

// worthwhile reports whether so many bytes are looked for in the table: all that are looked for, of
// an object, are no more than lookedFor times its own, however its parts are nested.
func (d *reader) worthwhile(size int) bool {
	if size < smallestPart || d.looked+size > lookedFor*len(d.data) {
		return false
	}
	d.looked += size
	return true
}

// leap goes behind an object or array without reading it.
func (d *reader) leap(b bracket) bool {
	d.pos, d.opened = int(b.end), int(b.after)
	return true
}
