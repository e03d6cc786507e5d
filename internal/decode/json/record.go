// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"sync/atomic"

	"github.com/kinformer/cache/internal/decode/mem"
)

// mostMembers is how many a struct may have: a bit for each tells whether it was there.
const mostMembers = 256

// record reads structs. Members come in the order of the last struct as a rule, which saves looking
// them up.
type record struct {
	members []recordMember
	index   map[string]int
	next    []atomic.Uint32 // which member came behind each one; the last is for the first of a struct

	restless bool // it may write to itself when it is read from
}

type recordMember struct {
	element
	offset uintptr
	key    string // as it is written without spaces: name, quotes and colon
}

func (r *record) json(d *reader, p mem.Place) bool {
	if !d.Open('{', "not an object") {
		return false
	}
	if r.restless {
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
			if !d.Skip() {
				return false
			}
		case seen[i/64]>>(i%64)&1 != 0:
			return d.GiveUp("a member twice")
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

// member reads the name of the member that comes behind last, and returns its number, or -1 if no
// field takes it.
func (r *record) member(d *reader, last int) (int, bool) {
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
		return -1, d.TellsKind(name)
	}
	r.next[last].Store(uint32(i))
	return i, true
}
