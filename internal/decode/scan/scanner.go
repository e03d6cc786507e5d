// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scan reads the parts of a document in JSON or protobuf that no type is needed for:
// brackets, names, texts, numbers, fields and their wire types.
package scan

// Deepest is how deep objects, arrays and messages may be nested; client-go takes 10,000. It bounds
// the stack.
const Deepest = 500

// Scanner reads one document. A method that reads a value begins at its first byte and ends behind
// its last one; it returns false when it gave up, having said why.
type Scanner struct {
	Data   []byte
	Pos    int
	Depth  int // how many objects and arrays, or messages, are open
	Opened int // how many objects and arrays were opened so far

	why     string
	scratch []byte // of the text that was read last, if it had escapes
}

// maxScratch is how much memory a Scanner keeps for the next document.
const maxScratch = 64 << 10

// Begin begins a document.
func (d *Scanner) Begin(data []byte) { d.Data, d.Pos, d.Depth, d.Opened, d.why = data, 0, 0, 0, "" }

// Finish lets go of the document, and returns an error if it was not read to its end.
func (d *Scanner) Finish(read bool) (err error) {
	if !read {
		err = &Unsure{Why: d.why, At: d.Pos}
	}
	if d.Data = nil; cap(d.scratch) > maxScratch {
		d.scratch = nil
	}
	return err
}

// GiveUp notes why, and returns false.
func (d *Scanner) GiveUp(why string) bool {
	d.why = why
	return false
}

// Peek skips white space and returns the byte behind it, or 0 at the end.
func (d *Scanner) Peek() byte {
	if d.Pos < len(d.Data) && d.Data[d.Pos] > ' ' {
		return d.Data[d.Pos]
	}
	return d.space()
}

func (d *Scanner) space() byte {
	for ; d.Pos < len(d.Data); d.Pos++ {
		switch c := d.Data[d.Pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// At reports whether the next bytes are s.
func (d *Scanner) At(s string) bool {
	end := d.Pos + len(s)
	return end <= len(d.Data) && string(d.Data[d.Pos:end]) == s
}

// Literal reads s.
func (d *Scanner) Literal(s string) bool {
	if !d.At(s) {
		return d.GiveUp("not a value")
	}
	d.Pos += len(s)
	return true
}

// Open goes into an object or array.
func (d *Scanner) Open(open byte, why string) bool {
	switch {
	case d.Peek() != open:
		return d.GiveUp(why)
	case d.Depth >= Deepest:
		return d.GiveUp("too deep")
	}
	d.Pos++
	d.Depth++
	d.Opened++
	return true
}

// Close goes out of an object or array, at its last byte.
func (d *Scanner) Close() bool {
	d.Pos++
	d.Depth--
	return true
}

// More goes to what is behind an element: more of them, or the end of what has that closing byte.
func (d *Scanner) More(closing byte) (another, ok bool) {
	switch d.Peek() {
	case ',':
		d.Pos++
		return true, true
	case closing:
		return false, d.Close()
	}
	return false, d.GiveUp("no comma or end behind an element")
}

// End reports whether nothing but white space is left.
func (d *Scanner) End() bool {
	if d.Peek(); d.Pos != len(d.Data) {
		return d.GiveUp("something behind the value")
	}
	return true
}

// Is reports whether the next byte is c.
func (d *Scanner) Is(c byte) bool { return d.Pos < len(d.Data) && d.Data[d.Pos] == c }
