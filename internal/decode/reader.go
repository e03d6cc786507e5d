// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode/utf8"
)

// deepest is how deep objects and arrays may be nested; the reference takes 10,000. It bounds the
// stack.
const deepest = 500

// Options are what a caller chooses for a call. The zero value works.
type Options struct {
	Intern *Intern  // shared strings; nil: every value has its own
	Share  *Sharing // shared maps, lists and messages; nil: every value has its own
	// Checks has each part that is found checked: the value is right, whoever has written to parts.
	Checks bool
}

// reader reads one document. A method that reads a value begins at its first byte and ends behind
// its last one; it returns false when it gave up, having said why.
type reader struct {
	data     []byte
	pos      int
	depth    int
	why      string
	table    *Intern
	counts   counts
	scratch  []byte    // of the text that was read last, if it had escapes
	texts    []string  // stack of lists that are being read
	pairs    []pair    // stack of maps that are being read
	values   []any     // stack of arrays of documents
	brackets []bracket // of the document; empty: nothing is shared
	open     []int32   // stack of findBrackets
	opened   int       // how many of them were entered
	private  bool      // nothing goes into the tables
	share    *Sharing
	parts    *Parts // of share, if this object looks for parts
	emptied  int64  // how often that table was before
	saved    int    // bytes of those that were found
	looked   int    // bytes of those that were looked for
	checks   bool   // all parts that are found
	toCheck  int    // how many are until one is checked
	reached  int    // the depth to which the messages of a part go
	made     int64  // bytes that all that was read takes, in a part at least
	// unsharable counts what was read that may be in no part: what writes to itself when it is read
	// from, in goroutines that may be several, and what is kept in no table.
	unsharable int
}

var readers = sync.Pool{New: func() any { return &reader{toCheck: firstCheck()} }}

func newReader(data []byte, o Options) *reader {
	d := readers.Get().(*reader)
	d.data, d.pos, d.depth, d.why, d.table, d.private = data, 0, 0, "", o.Intern, false
	d.checks = o.Checks
	d.share, d.parts, d.saved, d.looked, d.opened, d.brackets = o.Share, o.Share.parts(), 0, 0, 0, d.brackets[:0]
	if d.parts != nil {
		d.emptied = d.parts.emptied.Load()
	}
	return d
}

// maxScratch is how much memory a reader keeps for the next document.
const maxScratch = 64 << 10

// release ends the reading of a document, whose error it returns if it was not read to the end.
func (d *reader) release(read bool) error {
	var err error
	if !read {
		err = &unsure{why: d.why, at: d.pos}
	}
	if d.table != nil {
		d.table.count(&d.counts.hits, &d.counts.misses)
	}
	if d.parts != nil {
		d.parts.count(&d.counts.shared, &d.counts.unshared)
		d.share.note(d.saved, d.pos)
	}
	if cap(d.scratch) > maxScratch {
		d.scratch = nil
	}
	if cap(d.brackets) > maxScratch/4 {
		d.brackets = nil
	}
	d.texts, d.pairs, d.values = emptied(d.texts), emptied(d.pairs), emptied(d.values)
	d.data, d.table, d.share, d.parts = nil, nil, nil, nil
	readers.Put(d)
	return err
}

// emptied is a stack that nothing is on and that holds on to nothing. What was popped was cleared
// then.
func emptied[T any](stack []T) []T {
	if cap(stack) > maxScratch/16 {
		return nil
	}
	clear(stack)
	return stack[:0]
}

func (d *reader) giveUp(why string) bool {
	d.why = why
	return false
}

// peek skips white space and returns the byte behind it, or 0 at the end.
func (d *reader) peek() byte {
	if d.pos < len(d.data) && d.data[d.pos] > ' ' {
		return d.data[d.pos]
	}
	return d.space()
}

func (d *reader) space() byte {
	for ; d.pos < len(d.data); d.pos++ {
		switch c := d.data[d.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// at reports whether the next bytes are s.
func (d *reader) at(s string) bool {
	end := d.pos + len(s)
	return end <= len(d.data) && string(d.data[d.pos:end]) == s
}

func (d *reader) literal(s string) bool {
	if !d.at(s) {
		return d.giveUp("not a value")
	}
	d.pos += len(s)
	return true
}

// enter goes into an object or array.
func (d *reader) enter(open byte, why string) bool {
	switch {
	case d.peek() != open:
		return d.giveUp(why)
	case d.depth >= deepest:
		return d.giveUp("too deep")
	}
	d.pos++
	d.depth++
	d.opened++
	return true
}

// leave goes out of it, at its last byte.
func (d *reader) leave() bool {
	d.pos++
	d.depth--
	return true
}

// more goes to what is behind an element: more of them, or the end of what has that closing byte.
func (d *reader) more(closing byte) (another, ok bool) {
	switch d.peek() {
	case ',':
		d.pos++
		return true, true
	case closing:
		return false, d.leave()
	}
	return false, d.giveUp("no comma or end behind an element")
}

// end reports whether nothing but white space is left.
func (d *reader) end() bool {
	if d.peek(); d.pos != len(d.data) {
		return d.giveUp("something behind the value")
	}
	return true
}

// key reads the name of a member up to its value.
func (d *reader) key() ([]byte, bool) {
	if d.peek() != '"' {
		return nil, d.giveUp("no name of a member")
	}
	name, ok := d.text()
	if !ok {
		return nil, false
	}
	if d.peek() != ':' {
		return nil, d.giveUp("no colon")
	}
	d.pos++
	d.peek()
	return name, true
}

const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// special marks, in their highest bits, bytes of w that are not simply part of a text: quotes,
// backslashes, control characters and all above ASCII. The lowest mark is right, those above it may
// be of any byte.
func special(w uint64) uint64 {
	quote, back := w^low*'"', w^low*'\\'
	return ((quote-low)&^quote | (back-low)&^back | (w-low*' ')&^w | w) & high
}

// plainUntil returns the index of the first special byte at or behind i.
func plainUntil(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if marks := special(binary.LittleEndian.Uint64(data[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// text reads a string. What it returns is part of the data or of the scratch memory, valid until
// the next text is read.
func (d *reader) text() ([]byte, bool) {
	if d.pos >= len(d.data) || d.data[d.pos] != '"' {
		return nil, d.giveUp("not a string")
	}
	begin := d.pos + 1
	i := plainUntil(d.data, begin)
	if i < len(d.data) && d.data[i] == '"' {
		d.pos = i + 1
		return d.data[begin:i:i], true
	}
	return d.oddText(begin, i)
}

// plain reads a string of ASCII without escapes.
func (d *reader) plain() ([]byte, bool) {
	if d.pos >= len(d.data) || d.data[d.pos] != '"' {
		return nil, d.giveUp("not a string")
	}
	begin := d.pos + 1
	i := plainUntil(d.data, begin)
	if i >= len(d.data) || d.data[i] != '"' {
		return nil, d.giveUp("not a plain string")
	}
	d.pos = i + 1
	return d.data[begin:i:i], true
}
