// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scan reads the tokens of JSON and protobuf, for which no types are needed: brackets,
// names, strings, numbers, and protobuf fields with their wire types.
package scan

// Deepest is the greatest depth of nested objects, arrays and messages. It bounds the stack.
// client-go's limit is 10,000.
const Deepest = 500

// Scanner reads one document. A method that reads a value begins at the first byte of the value and
// ends after its last byte. If it returns false, it has given up, and Finish returns the reason.
type Scanner struct {
	Data   []byte
	Pos    int
	Depth  int // the number of open objects and arrays, or messages
	Opened int // the number of objects and arrays opened so far

	why     string
	scratch []byte // the last string that had escapes
}

// maxScratch is the largest scratch memory, in bytes, that is reused for the next document.
const maxScratch = 64 << 10

// Begin begins a document.
func (d *Scanner) Begin(data []byte) { d.Data, d.Pos, d.Depth, d.Opened, d.why = data, 0, 0, 0, "" }

// Finish releases the document. It returns an error if read is false.
func (d *Scanner) Finish(read bool) (err error) {
	if !read {
		err = &GiveUpError{Why: d.why, At: d.Pos}
	}
	if d.Data = nil; cap(d.scratch) > maxScratch {
		d.scratch = nil
	}
	return err
}

// GiveUp records the reason, and returns false.
func (d *Scanner) GiveUp(why string) bool {
	d.why = why
	return false
}

// Peek skips white space and returns the next byte, or 0 at the end.
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

// Open enters an object or array, whose first byte is open. why is the reason to give up if another
// value is next.
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

// Close leaves an object or array at its closing byte.
func (d *Scanner) Close() bool {
	d.Pos++
	d.Depth--
	return true
}

// More moves past the comma after an element, or past the closing byte. another reports whether an
// element follows.
func (d *Scanner) More(closing byte) (another, ok bool) {
	switch d.Peek() {
	case ',':
		d.Pos++
		return true, true
	case closing:
		return false, d.Close()
	}
	return false, d.GiveUp("missing comma or closing bracket")
}

// End gives up unless only white space is left.
func (d *Scanner) End() bool {
	if d.Peek(); d.Pos != len(d.Data) {
		return d.GiveUp("trailing data")
	}
	return true
}

// Is reports whether the next byte is c.
func (d *Scanner) Is(c byte) bool { return d.Pos < len(d.Data) && d.Data[d.Pos] == c }
