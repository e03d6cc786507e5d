// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"sync/atomic"

	"github.com/kinformer/cache/internal/decode/mem"
)

// mostMembers is the largest number of members of a struct: record.json keeps one bit for each.
const mostMembers = 256

// record decodes structs. Servers write the members of a type in the same order each time, so the
// member that followed last time is tried before the index.
type record struct {
	members []recordMember
	index   map[string]int
	next    []atomic.Uint32 // by member, the one that followed it last time; the last entry is for the first member of a struct

	mutatesOnRead bool // reading the struct may modify it
}

type recordMember struct {
	element
	offset uintptr
	key    string // the name, quoted, with the colon
}

func (r *record) json(d *decoder, p mem.Place) bool {
	if !d.Open('{', "not an object") {
		return false
	}
	if r.mutatesOnRead {
		d.Unsharable++
	}
	if d.Peek() == '}' {
		return d.Close()
	}
	var seen [mostMembers / 64]uint64
	last := len(r.members)
	for {
		i, ok := r.member(d, last)
		switch {
		case !ok:
			return false
		case i < 0:
			if !d.Omit() {
				return false
			}
		case seen[i/64]>>(i%64)&1 != 0:
			return d.GiveUp("duplicate member")
		default:
			seen[i/64] |= 1 << (i % 64)
			last = i
			if m := &r.members[i]; !m.element.json(d, mem.Offset(p, m.offset)) {
				return false
			}
		}
		if another, ok := d.More('}'); !another {
			return ok
		}
	}
}

// member decodes the name of the member after last. It returns the index of the member, or -1 if
// there is no such field.
func (r *record) member(d *decoder, last int) (int, bool) {
	d.Peek()
	guess := int(r.next[last].Load())
	for i := guess; i < min(guess+3, len(r.members)); i++ {
		if key := r.members[i].key; d.At(key) {
			d.Pos += len(key)
			if i != guess {
				r.next[last].Store(uint32(i))
			}
			return i, true
		}
	}
	name, ok := d.Key()
	if !ok {
		return 0, false
	}
	i, known := r.index[string(name)]
	if !known {
		return -1, d.CheckKind(name)
	}
	r.next[last].Store(uint32(i))
	return i, true
}
