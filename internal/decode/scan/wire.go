// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

// The supported wire types of protobuf.
const (
	WireVarint  = 0
	WireFixed64 = 1
	WireBytes   = 2
	WireFixed32 = 5
)

// Varint reads a number that ends before end. It gives up on numbers of more than 64 bits.
func (d *Scanner) Varint(end int) (uint64, bool) {
	if i := d.Pos; i < end && d.Data[i] < 0x80 {
		d.Pos = i + 1
		return uint64(d.Data[i]), true
	}
	return d.longVarint(end)
}

func (d *Scanner) longVarint(end int) (uint64, bool) {
	n := uint64(0)
	for shift := 0; shift < 64 && d.Pos < end; shift += 7 {
		c := d.Data[d.Pos]
		d.Pos++
		if n |= uint64(c&0x7F) << shift; c < 0x80 {
			return n, shift < 63 || c <= 1 || d.GiveUp("a number of more than 64 bits")
		}
	}
	return 0, d.GiveUp("truncated number")
}

// Tag reads a tag: the number of a field, shifted left by 3, and its wire type.
func (d *Scanner) Tag(end int) (uint64, bool) {
	if i := d.Pos; i < end && 8 <= d.Data[i] && d.Data[i] < 0x80 {
		d.Pos = i + 1
		return uint64(d.Data[i]), true
	}
	return d.longTag(end)
}

func (d *Scanner) longTag(end int) (uint64, bool) {
	tag, ok := d.longVarint(end)
	if ok && (tag < 8 || tag>>3 > MostField) {
		return 0, d.GiveUp("invalid field number")
	}
	return tag, ok
}

// MostField is the largest number of a field.
const MostField = 1<<29 - 1

// Short returns the extent of the bytes whose length is next, if the length takes one byte. It does
// not move.
func (d *Scanner) Short(end int) (from, to int, ok bool) {
	if d.Pos >= end {
		return 0, 0, false
	}
	n := d.Data[d.Pos]
	from = d.Pos + 1
	to = from + int(n)
	return from, to, n < 0x80 && to <= end
}

// Length reads the length of the bytes that follow, and returns the index of their end.
func (d *Scanner) Length(end int) (int, bool) {
	if from, to, ok := d.Short(end); ok {
		d.Pos = from
		return to, true
	}
	return d.longLength(end)
}

func (d *Scanner) longLength(end int) (int, bool) {
	n, ok := d.Varint(end)
	if !ok {
		return 0, false
	}
	if n > uint64(end-d.Pos) {
		return 0, d.GiveUp("truncated field")
	}
	return d.Pos + int(n), true
}

// Chunk reads a length and the bytes that follow. It returns them as a subslice of the data.
func (d *Scanner) Chunk(end int) ([]byte, bool) {
	to, ok := d.Length(end)
	if !ok {
		return nil, false
	}
	begin := d.Pos
	d.Pos = to
	return d.Data[begin:to:to], true
}

// Little reads a little-endian number of the given size in bytes.
func (d *Scanner) Little(bytes, end int) (uint64, bool) {
	if end-d.Pos < bytes {
		return 0, d.GiveUp("truncated number")
	}
	n := uint64(0)
	for i := range bytes {
		n |= uint64(d.Data[d.Pos+i]) << (8 * i)
	}
	d.Pos += bytes
	return n, true
}

// Pass moves past the value of a field of the given wire type.
func (d *Scanner) Pass(wire uint64, end int) (ok bool) {
	switch wire {
	case WireVarint:
		_, ok = d.Varint(end)
	case WireFixed64:
		_, ok = d.Little(8, end)
	case WireFixed32:
		_, ok = d.Little(4, end)
	case WireBytes:
		_, ok = d.Chunk(end)
	default:
		return d.GiveUp("a group")
	}
	return ok
}

// Run counts the consecutive fields with the given tag, the first of which has been read up to its
// value. to is the index of the end of the last one. Run does not move.
func (d *Scanner) Run(tag uint64, end int) (n, to int, ok bool) {
	begin := d.Pos
	for n = 1; ; n++ {
		if !d.Pass(tag&7, end) {
			return 0, 0, false
		}
		if to = d.Pos; to == end {
			break
		}
		next, ok := d.Varint(end)
		if !ok {
			return 0, 0, false
		}
		if next != tag {
			break
		}
	}
	d.Pos = begin
	return n, to, true
}

// Again reads the tag of field i of a run. The tag of field 0 has been read before.
func (d *Scanner) Again(i, end int) bool {
	if i == 0 {
		return true
	}
	_, ok := d.Varint(end)
	return ok
}

// Expect reads a field of type bytes. It gives up on any other field than number.
func (d *Scanner) Expect(number uint64, end int) ([]byte, bool) {
	tag, ok := d.Tag(end)
	if ok && tag != number<<3|WireBytes {
		return nil, d.GiveUp("unexpected field")
	}
	if !ok {
		return nil, false
	}
	return d.Chunk(end)
}
