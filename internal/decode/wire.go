// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// varint reads a number before end. One of more than 64 bits is given up.
func (d *reader) varint(end int) (uint64, bool) {
	if i := d.pos; i < end && d.data[i] < 0x80 {
		d.pos = i + 1
		return uint64(d.data[i]), true
	}
	return d.longVarint(end)
}

func (d *reader) longVarint(end int) (uint64, bool) {
	n := uint64(0)
	for shift := 0; shift < 64 && d.pos < end; shift += 7 {
		c := d.data[d.pos]
		d.pos++
		if n |= uint64(c&0x7F) << shift; c < 0x80 {
			return n, shift < 63 || c <= 1 || d.giveUp("a number of more than 64 bits")
		}
	}
	return 0, d.giveUp("a number without an end")
}

// tag reads the number and wire type of a field.
func (d *reader) tag(end int) (uint64, bool) {
	if i := d.pos; i < end && 8 <= d.data[i] && d.data[i] < 0x80 {
		d.pos = i + 1
		return uint64(d.data[i]), true
	}
	return d.longTag(end)
}

func (d *reader) longTag(end int) (uint64, bool) {
	tag, ok := d.longVarint(end)
	if ok && (tag < 8 || tag>>3 > mostField) {
		return 0, d.giveUp("no number of a field")
	}
	return tag, ok
}

// mostField is the largest number that a field may have.
const mostField = 1<<29 - 1

// short returns from where to where the bytes go that have a length, if that is one byte.
func (d *reader) short(end int) (from, to int, ok bool) {
	if d.pos >= end {
		return 0, 0, false
	}
	n := d.data[d.pos]
	from = d.pos + 1
	to = from + int(n)
	return from, to, n < 0x80 && to <= end
}

// length reads the length of what follows, and returns where that ends.
func (d *reader) length(end int) (int, bool) {
	if from, to, ok := d.short(end); ok {
		d.pos = from
		return to, true
	}
	return d.longLength(end)
}

func (d *reader) longLength(end int) (int, bool) {
	n, ok := d.varint(end)
	if !ok {
		return 0, false
	}
	if n > uint64(end-d.pos) {
		return 0, d.giveUp("a length beyond the end")
	}
	return d.pos + int(n), true
}

// chunk reads what has a length, and returns it as a part of the data.
func (d *reader) chunk(end int) ([]byte, bool) {
	to, ok := d.length(end)
	if !ok {
		return nil, false
	}
	begin := d.pos
	d.pos = to
	return d.data[begin:to:to], true
}

// little reads a number of so many bytes.
func (d *reader) little(bytes, end int) (uint64, bool) {
	if end-d.pos < bytes {
		return 0, d.giveUp("a number without an end")
	}
	n := uint64(0)
	for i := range bytes {
		n |= uint64(d.data[d.pos+i]) << (8 * i)
	}
	d.pos += bytes
	return n, true
}

// pass goes behind a field of a wire type.
func (d *reader) pass(wire uint64, end int) (ok bool) {
	switch wire {
	case wireVarint:
		_, ok = d.varint(end)
	case wireFixed64:
		_, ok = d.little(8, end)
	case wireFixed32:
		_, ok = d.little(4, end)
	case wireBytes:
		_, ok = d.chunk(end)
	default:
		return d.giveUp("a group")
	}
	return ok
}

// run counts the fields of a tag, of which the first one was read up to its tag, that follow one
// another.
func (d *reader) run(tag uint64, end int) (int, bool) {
	begin := d.pos
	for n := 1; ; n++ {
		if !d.pass(tag&7, end) {
			return 0, false
		}
		if d.pos == end {
			d.pos = begin
			return n, true
		}
		next, ok := d.varint(end)
		if !ok {
			return 0, false
		}
		if next != tag {
			d.pos = begin
			return n, true
		}
	}
}

// runEnd returns where a run ends.
func (d *reader) runEnd(tag uint64, end int) (int, bool) {
	for d.pass(tag&7, end) {
		to := d.pos
		if to == end {
			return to, true
		}
		if next, ok := d.varint(end); !ok || next != tag {
			return to, ok
		}
	}
	return 0, false
}

// again reads the tag of the next field of a run.
func (d *reader) again(i, end int) bool {
	if i == 0 {
		return true
	}
	_, ok := d.varint(end)
	return ok
}
