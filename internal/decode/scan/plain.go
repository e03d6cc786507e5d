// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// special sets the highest bit of each byte of w that is a quote, a backslash, a control character
// or not ASCII. The lowest bit set is exact. Those above it may be wrong, because a borrow carries
// into the next byte.
func special(w uint64) uint64 {
	quote, back := w^low*'"', w^low*'\\'
	return ((quote-low)&^quote | (back-low)&^back | (w-low*' ')&^w | w) & high
}

// PlainUntil returns the index of the first special byte at or after i, or len(data).
func PlainUntil(data []byte, i int) int {
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

// TextEnd returns the index of the quote at or after i that ends a string. If there is none, the
// index is not less than len(data).
func TextEnd(data []byte, i int) int {
	for ; i < len(data); i++ {
		i = PlainUntil(data, i)
		if i < len(data) && data[i] == '"' {
			return i
		}
		if i < len(data) && data[i] == '\\' {
			i++
		}
	}
	return i
}
