// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import "strconv"

// number reads a number by JSON's grammar, and reports whether it has neither point nor exponent.
func (d *reader) number() (text []byte, whole, ok bool) {
	begin := d.pos
	if d.is('-') {
		d.pos++
	}
	switch {
	case d.is('0'):
		d.pos++
	case !d.digits():
		return nil, false, d.giveUp("not a value")
	}
	whole = true
	if d.is('.') {
		d.pos++
		whole = false
		if !d.digits() {
			return nil, false, d.giveUp("no digit behind a point")
		}
	}
	if d.is('e') || d.is('E') {
		d.pos++
		whole = false
		if d.is('+') || d.is('-') {
			d.pos++
		}
		if !d.digits() {
			return nil, false, d.giveUp("no digit in an exponent")
		}
	}
	return d.data[begin:d.pos], whole, true
}

func (d *reader) is(c byte) bool { return d.pos < len(d.data) && d.data[d.pos] == c }

// digits reads one or more.
func (d *reader) digits() bool {
	begin := d.pos
	for d.pos < len(d.data) && d.data[d.pos]-'0' <= 9 {
		d.pos++
	}
	return d.pos > begin
}

// integer reads a number that has so many bits and is signed.
func (d *reader) integer(bits int) (int64, bool) {
	text, whole, ok := d.number()
	if !ok {
		return 0, false
	}
	n, fits := parseInt(text)
	if !whole || !fits || n<<(64-bits)>>(64-bits) != n {
		return 0, d.giveUp("not an integer of this size")
	}
	return n, true
}

// parseInt returns the number that a text means that has nothing but an optional sign and digits.
func parseInt(text []byte) (int64, bool) {
	digits, negative := text, text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) > 18 {
		n, err := strconv.ParseInt(view(text), 10, 64)
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

// unsigned is integer for numbers without a sign.
func (d *reader) unsigned(bits int) (uint64, bool) {
	text, whole, ok := d.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(view(text), 10, bits)
	if !whole || err != nil {
		return 0, d.giveUp("not an unsigned integer of this size")
	}
	return n, true
}

func (d *reader) float(bits int) (float64, bool) {
	text, _, ok := d.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(view(text), bits)
	if err != nil {
		return 0, d.giveUp("not a float of this size")
	}
	return n, true
}
