// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

// Raw reads any value and returns it as a subslice of the data.
func (d *Scanner) Raw() ([]byte, bool) {
	begin := d.Pos
	if !d.Skip() {
		return nil, false
	}
	return d.Data[begin:d.Pos:d.Pos], true
}

// Skip checks any value and moves past it.
func (d *Scanner) Skip() bool {
	switch d.Peek() {
	case '{':
		return d.skipObject()
	case '[':
		return d.skipArray()
	case '"':
		return d.skipText()
	case 't':
		return d.Literal("true")
	case 'f':
		return d.Literal("false")
	case 'n':
		return d.Literal("null")
	}
	_, _, ok := d.Number()
	return ok
}

func (d *Scanner) skipObject() bool {
	if !d.Open('{', "not an object") {
		return false
	}
	if d.Peek() == '}' {
		return d.Close()
	}
	for {
		if !d.skipName() || !d.Skip() {
			return false
		}
		if another, ok := d.More('}'); !another {
			return ok
		}
	}
}

// skipName checks the name of a member and moves to its value.
func (d *Scanner) skipName() bool {
	if d.Depth == 1 { // a topmost object that decodes itself, whose kind must be checked too
		_, ok := d.Name()
		return ok
	}
	if d.Peek() != '"' {
		return d.GiveUp("missing member name")
	}
	if !d.skipText() {
		return false
	}
	if d.Peek() != ':' {
		return d.GiveUp("missing colon")
	}
	d.Pos++
	return true
}

func (d *Scanner) skipArray() bool {
	if !d.Open('[', "not an array") {
		return false
	}
	if d.Peek() == ']' {
		return d.Close()
	}
	for {
		if !d.Skip() {
			return false
		}
		if another, ok := d.More(']'); !another {
			return ok
		}
	}
}

// skipText checks a string. Unlike Text, it accepts halves of surrogate pairs and bytes that are
// not UTF-8.
func (d *Scanner) skipText() bool {
	i := d.Pos + 1
	for {
		i = PlainUntil(d.Data, i)
		if i >= len(d.Data) {
			return d.GiveUp("unterminated string")
		}
		switch c := d.Data[i]; {
		case c == '"':
			d.Pos = i + 1
			return true
		case c == '\\':
			size := escapeSize(d.Data[i:])
			if size == 0 {
				return d.GiveUp("an escape")
			}
			i += size
		case c < ' ':
			return d.GiveUp("a control character in a string")
		default:
			i++
		}
	}
}

// escapeSize returns the size of the escape at the beginning of b in bytes, or 0 if it is invalid.
func escapeSize(b []byte) int {
	switch {
	case hexRune(b) >= 0:
		return 6
	case len(b) > 1 && escapes[b[1]] != 0:
		return 2
	}
	return 0
}
