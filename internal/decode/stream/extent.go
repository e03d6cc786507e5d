// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "github.com/kinformer/cache/internal/decode/scan"

// extent finds the end of a JSON value that is read in pieces.
type extent struct {
	depth   int
	text    bool // in a string
	escaped bool // after a backslash
	scalar  bool // the value is a number or literal, which ends before a delimiter
}

// end returns the number of bytes of b that belong to the value, and reports whether the value ends
// with them.
func (e *extent) end(b []byte) (int, bool) {
	i := 0
	if e.escaped && len(b) > 0 {
		e.escaped = false
		i = 1
	}
	for i < len(b) {
		if e.text {
			i = e.inText(b, i)
			if !e.text && e.depth == 0 {
				return i, true
			}
			continue
		}
		switch b[i] {
		case '"':
			e.text = true
		case '{', '[':
			e.depth++
		case '}', ']':
			if e.scalar {
				return i, true
			}
			if e.depth--; e.depth == 0 {
				return i + 1, true
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if e.scalar {
				return i, true
			}
		}
		i++
	}
	return len(b), false
}

// inText returns the index after the end of the string, or len(b) if the string does not end in b.
func (e *extent) inText(b []byte, i int) int {
	for i = scan.PlainUntil(b, i); i < len(b); i = scan.PlainUntil(b, i) {
		switch b[i] {
		case '"':
			e.text = false
			return i + 1
		case '\\':
			if i++; i == len(b) {
				e.escaped = true
				return i
			}
		}
		i++
	}
	return i
}
