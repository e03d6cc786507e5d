// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

// raw reads any value and returns its bytes, which are part of the data.
func (d *reader) raw() ([]byte, bool) {
	begin := d.pos
	if !d.skip() {
		return nil, false
	}
	return d.data[begin:d.pos:d.pos], true
}

// skip checks any value and goes behind it.
func (d *reader) skip() bool {
	switch d.peek() {
	case '{':
		return d.skipObject()
	case '[':
		return d.skipArray()
	case '"':
		return d.skipText()
	case 't':
		return d.literal("true")
	case 'f':
		return d.literal("false")
	case 'n':
		return d.literal("null")
	}
	_, _, ok := d.number()
	return ok
}

func (d *reader) skipObject() bool {
	if !d.enter('{', "not an object") {
		return false
	}
	if d.peek() == '}' {
		return d.leave()
	}
	for {
		if !d.skipName() || !d.skip() {
			return false
		}
		if another, ok := d.more('}'); !another {
			return ok
		}
	}
}

// skipName checks the name of a member and goes to its value.
func (d *reader) skipName() bool {
	if d.depth == 1 { // of an object that reads itself
		_, ok := d.name()
		return ok
	}
	if d.peek() != '"' {
		return d.giveUp("no name of a member")
	}
	if !d.skipText() {
		return false
	}
	if d.peek() != ':' {
		return d.giveUp("no colon")
	}
	d.pos++
	return true
}

func (d *reader) skipArray() bool {
	if !d.enter('[', "not an array") {
		return false
	}
	if d.peek() == ']' {
		return d.leave()
	}
	for {
		if !d.skip() {
			return false
		}
		if another, ok := d.more(']'); !another {
			return ok
		}
	}
}

// skipText checks a string. Any escape of a character may be in it, and any bytes that are no
// control characters.
func (d *reader) skipText() bool {
	i := d.pos + 1
	for {
		i = plainUntil(d.data, i)
		if i >= len(d.data) {
			return d.giveUp("a string without an end")
		}
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return true
		case c == '\\':
			size := escapeSize(d.data[i:])
			if size == 0 {
				return d.giveUp("an escape")
			}
			i += size
		case c < ' ':
			return d.giveUp("a control character in a string")
		default:
			i++
		}
	}
}

// escapeSize returns how many bytes long the escape is that b begins with, or 0.
func escapeSize(b []byte) int {
	switch {
	case hexRune(b) >= 0:
		return 6
	case len(b) > 1 && escapes[b[1]] != 0:
		return 2
	}
	return 0
}
