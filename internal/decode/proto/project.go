// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"encoding/binary"
	"slices"
)

// A list of messages, or a message behind a pointer, of which only some fields are kept is looked up by the bytes of these
// fields, which are an encoding of what is kept: the others, such as the mounts of a container, often differ.
//
//	containers   {name a, mounts x} {name b, mounts y}
//	looked up    {name a} {name b}
//
// Values with the same such bytes are equal, because decoding passes the other fields in the same way. A field that is split by others
// is given up in both ways, although its bytes would be the same.

// projectAll appends the bytes of the fields that are kept to d.kept, of a list or a message that ends at end. It moves to
// end, and returns false if the value is invalid.
func (f *fields) projectAll(d *decoder, end int) bool {
	for i := 0; d.Pos < end; i++ {
		begin := d.Pos
		if !d.Again(i, end) {
			return false
		}
		d.kept = append(d.kept, d.Data[begin:d.Pos]...)
		if !f.projectOne(d, end) {
			return false
		}
	}
	return true
}

// projectOne is projectAll for a message with its length.
func (f *fields) projectOne(d *decoder, end int) bool {
	to, ok := d.Length(end)
	at := len(d.kept)
	if !ok || !f.project(d, to) {
		return false
	}
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(d.kept)-at))
	d.kept = slices.Insert(d.kept, at, length[:n]...)
	return true
}

// project is projectAll for the fields of a message.
func (f *fields) project(d *decoder, end int) bool {
	for seen, former := uint64(0), uint64(0); d.Pos < end; {
		begin := d.Pos
		tag, ok := d.Tag(end)
		if !ok {
			return false
		}
		number := tag >> 3
		isKept := number < uint64(len(*f)) && (*f)[number].tag != 0
		if isKept && seen>>number&1 != 0 && former != tag {
			return d.GiveUp("a repeated or split field")
		}
		if former = tag; isKept {
			seen |= 1 << number
		}
		if isKept && (*f)[number].tag == tag && (*f)[number].partial != nil {
			d.kept = append(d.kept, d.Data[begin:d.Pos]...)
			if !(*f)[number].partial.projectOne(d, end) {
				return false
			}
			continue
		}
		if !d.Pass(tag&7, end) {
			return false
		}
		if isKept {
			d.kept = append(d.kept, d.Data[begin:d.Pos]...)
		}
	}
	return true
}
