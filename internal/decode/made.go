// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/bits"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a reader makes is added up in its made, so that a table of parts knows what it holds: 1 KB
// of JSON may be a hundred times that as a list of structs.

const (
	// boxBytes is what an interface points to that holds a list; quantityBytes the most that a
	// quantity points to, as a rule.
	boxBytes      = 24
	quantityBytes = 64
	// textBytes and anyBytes are what texts and interfaces take, without what they point to.
	textBytes = 16
	anyBytes  = 16
)

// block is no less than what the allocator hands out for so many bytes. Of blocks of 16 it makes
// several small ones, of which one keeps all alive.
func block(size int) int64 {
	step := 16
	if size > 512 {
		step = 1 << (bits.Len(uint(size-1)) - 3)
	}
	return int64((size + step - 1) &^ (step - 1))
}

// mapBytes is what a map of so many entries takes, each of which has a slot of that many bytes:
// groups of 8 slots, of which at most 7 are in use once there are several groups.
func mapBytes(entries, slot int) int64 {
	const header, table, group = 48, 40, 8
	switch {
	case entries == 0:
		return header
	case entries <= group:
		return header + block(group+group*slot)
	}
	groups := 1 << bits.Len(uint((entries*8/7-1)/group))
	return header + table + block(groups*(group+group*slot))
}

// mapSlot is what an entry takes of a map of that type. What is large is behind a pointer.
func mapSlot(t reflect.Type) int {
	slot := 0
	for _, part := range [2]reflect.Type{t.Key(), t.Elem()} {
		if size := int(part.Size()); size <= 128 {
			slot += size
		} else {
			slot += 8 + int(block(size))
		}
	}
	return slot
}

// makes counts a block of so many bytes.
func (d *reader) makes(size int) { d.made += block(size) }

// exactly returns a copy of b without room for more: who has a part may append to its lists.
func exactly(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// setFields sets f to what raw has.
func (d *reader) setFields(f *metav1.FieldsV1, raw []byte) {
	d.makes(len(raw))
	f.SetRawBytes(raw)
	if inBytes {
		list := get[[]byte](place(f))
		*list = (*list)[:len(raw):len(raw)]
	}
}

// inBytes reports whether a FieldsV1 is a slice of bytes, and no string, as it is by a build tag.
var inBytes = func() bool {
	t := reflect.TypeFor[metav1.FieldsV1]()
	return t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[[]byte]()
}()
