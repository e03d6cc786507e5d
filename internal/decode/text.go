// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"unicode/utf16"
	"unicode/utf8"
)

// oddText reads the rest of a string that is not plain at i. The reference replaces bytes that are
// not UTF-8, and halves of surrogate pairs; these are given up.
func (d *reader) oddText(begin, i int) ([]byte, bool) {
	whole := true // so far the text is what is in the data
	d.scratch = d.scratch[:0]
	from := begin
	for i < len(d.data) {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			text := d.data[begin:i:i]
			if !whole {
				d.scratch = append(d.scratch, d.data[from:i]...)
				text = d.scratch
			}
			if !utf8.Valid(text) {
				return nil, d.giveUp("not UTF-8")
			}
			return text, true
		case c == '\\':
			whole = false
			d.scratch = append(d.scratch, d.data[from:i]...)
			size := d.escape(i)
			if size == 0 {
				return nil, d.giveUp("an escape")
			}
			i += size
			from = i
		case c < ' ':
			return nil, d.giveUp("a control character in a string")
		default:
			i = plainUntil(d.data, i+1)
		}
	}
	return nil, d.giveUp("a string without an end")
}

// escape appends what the escape at i means, and returns its size: 0 if it has no meaning, or not
// for sure.
func (d *reader) escape(i int) int {
	if i+1 >= len(d.data) {
		return 0
	}
	c := d.data[i+1]
	if c != 'u' {
		if c = escapes[c]; c == 0 {
			return 0
		}
		d.scratch = append(d.scratch, c)
		return 2
	}
	r, size := hexRune(d.data[i:]), 6
	if utf16.IsSurrogate(r) {
		r, size = utf16.DecodeRune(r, hexRune(d.data[min(i+6, len(d.data)):])), 12
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

// escapes has what letters mean behind a backslash.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hexRune returns the number of an escape such as \u00e9, or -1.
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
