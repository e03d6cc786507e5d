// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a string. The result is a subslice of the data or of the scratch memory, and valid
// until the next call.
func (d *Scanner) Text() ([]byte, bool) {
	if d.Pos >= len(d.Data) || d.Data[d.Pos] != '"' {
		return nil, d.GiveUp("not a string")
	}
	begin := d.Pos + 1
	i := PlainUntil(d.Data, begin)
	if i < len(d.Data) && d.Data[i] == '"' {
		d.Pos = i + 1
		return d.Data[begin:i:i], true
	}
	return d.oddText(begin, i)
}

// Plain reads a string of ASCII without escapes.
func (d *Scanner) Plain() ([]byte, bool) {
	if d.Pos >= len(d.Data) || d.Data[d.Pos] != '"' {
		return nil, d.GiveUp("not a string")
	}
	begin := d.Pos + 1
	i := PlainUntil(d.Data, begin)
	if i >= len(d.Data) || d.Data[i] != '"' {
		return nil, d.GiveUp("not a plain string")
	}
	d.Pos = i + 1
	return d.Data[begin:i:i], true
}

// oddText reads the rest of a string that is not plain at i. encoding/json replaces bytes that are
// not UTF-8 and halves of surrogate pairs, oddText gives up on them.
func (d *Scanner) oddText(begin, i int) ([]byte, bool) {
	whole := true // no escape so far: the string equals the data
	d.scratch = d.scratch[:0]
	from := begin
	for i < len(d.Data) {
		switch c := d.Data[i]; {
		case c == '"':
			d.Pos = i + 1
			text := d.Data[begin:i:i]
			if !whole {
				d.scratch = append(d.scratch, d.Data[from:i]...)
				text = d.scratch
			}
			if !utf8.Valid(text) {
				return nil, d.GiveUp("not UTF-8")
			}
			return text, true
		case c == '\\':
			whole = false
			d.scratch = append(d.scratch, d.Data[from:i]...)
			size := d.escape(i)
			if size == 0 {
				return nil, d.GiveUp("an escape")
			}
			i += size
			from = i
		case c < ' ':
			return nil, d.GiveUp("a control character in a string")
		default:
			i = PlainUntil(d.Data, i+1)
		}
	}
	return nil, d.GiveUp("unterminated string")
}

// escape appends the character of the escape at i to scratch. It returns the size of the escape in
// bytes, or 0 if it is invalid or half of a surrogate pair.
func (d *Scanner) escape(i int) int {
	if i+1 >= len(d.Data) {
		return 0
	}
	c := d.Data[i+1]
	if c != 'u' {
		if c = escapes[c]; c == 0 {
			return 0
		}
		d.scratch = append(d.scratch, c)
		return 2
	}
	r, size := hexRune(d.Data[i:]), 6
	if utf16.IsSurrogate(r) {
		r, size = utf16.DecodeRune(r, hexRune(d.Data[min(i+6, len(d.Data)):])), 12
		if r == utf8.RuneError {
			return 0
		}
	}
	if r < 0 {
		return 0
	}
	d.scratch = utf8.AppendRune(d.scratch, r)
	return size
}

// escapes maps the letter after a backslash to its character. 0 means invalid.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hexRune returns the number of an escape such as \u00e9 at the beginning of b, or -1.
func hexRune(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
