// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"strconv"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Number reads a number in JSON's grammar. whole reports whether it has neither a point nor an
// exponent.
func (d *Scanner) Number() (text []byte, whole, ok bool) {
	begin := d.Pos
	if d.Is('-') {
		d.Pos++
	}
	switch {
	case d.Is('0'):
		d.Pos++
	case !d.digits():
		return nil, false, d.GiveUp("not a value")
	}
	whole = true
	if d.Is('.') {
		d.Pos++
		whole = false
		if !d.digits() {
			return nil, false, d.GiveUp("no digit after the decimal point")
		}
	}
	if d.Is('e') || d.Is('E') {
		d.Pos++
		whole = false
		if d.Is('+') || d.Is('-') {
			d.Pos++
		}
		if !d.digits() {
			return nil, false, d.GiveUp("no digit in an exponent")
		}
	}
	return d.Data[begin:d.Pos], whole, true
}

// digits reads one or more digits.
func (d *Scanner) digits() bool {
	begin := d.Pos
	for d.Pos < len(d.Data) && d.Data[d.Pos]-'0' <= 9 {
		d.Pos++
	}
	return d.Pos > begin
}

// Integer reads a signed integer of the given size in bits.
func (d *Scanner) Integer(bits int) (int64, bool) {
	text, whole, ok := d.Number()
	if !ok {
		return 0, false
	}
	n, fits := ParseInt(text)
	if !whole || !fits || n<<(64-bits)>>(64-bits) != n {
		return 0, d.GiveUp("not an integer of this size")
	}
	return n, true
}

// ParseInt parses text, an optional sign followed by digits. It reports whether the number fits an
// int64.
func ParseInt(text []byte) (int64, bool) {
	digits, negative := text, text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) > 18 {
		n, err := strconv.ParseInt(mem.View(text), 10, 64)
		return n, err == nil
	}
	n := int64(0)
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// Unsigned reads an unsigned integer of the given size in bits.
func (d *Scanner) Unsigned(bits int) (uint64, bool) {
	text, whole, ok := d.Number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(mem.View(text), 10, bits)
	if !whole || err != nil {
		return 0, d.GiveUp("not an unsigned integer of this size")
	}
	return n, true
}

// Float reads a number of the given size in bits, with an optional point and exponent.
func (d *Scanner) Float(bits int) (float64, bool) {
	text, _, ok := d.Number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(mem.View(text), bits)
	if err != nil {
		return 0, d.GiveUp("not a float of this size")
	}
	return n, true
}
