// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func (b *builder) record(t reflect.Type) node {
	members, odd := membersOf(t)
	switch {
	case odd:
		return unsureNode{"a struct with an odd name of a field"}
	case len(members) > mostMembers:
		return unsureNode{"a struct with too many fields"}
	}
	n := len(members)
	r := &record{index: make(map[string]int, n), next: make([]atomic.Uint32, n+1), restless: restless(t)}
	for i, m := range members {
		e := element{node: unsureNode{m.unsure}, hearsNull: true}
		if m.unsure == "" {
			e = b.element(m.field.Type)
		}
		if t == b.t {
			e = kindMember(m.name, e)
		}
		if m.name == "metadata" && t == b.t && m.field.Type.Kind() == reflect.Pointer {
			e.node = privateNode{node: e.node} // Drop.Trim writes to it
		}
		if unshared(t, m.name, t == b.t) {
			e.node = privateNode{node: e.node}
		}
		key := `"` + m.name + `":`
		r.members = append(r.members, recordMember{element: e, offset: m.offset, key: key})
		r.index[m.name] = i
		r.next[i].Store(uint32(i + 1))
	}
	if t.Name() == "Secret" {
		return privateNode{node: r, secret: true}
	}
	return r
}

// unshared reports whether what is in a member is kept in no table: the data of secrets, for which
// any object's is taken, and what differs between objects.
func unshared(t reflect.Type, name string, top bool) bool {
	switch name {
	case "data", "stringData":
		return top
	case "name", "uid", "resourceVersion":
		return t == reflect.TypeFor[metav1.ObjectMeta]()
	}
	return false
}

func (r *record) json(d *reader, p place) bool {
	if !d.enter('{', "not an object") {
		return false
	}
	if r.restless {
		d.unsharable++
	}
	if d.peek() == '}' {
		return d.leave()
	}
	var seen [mostMembers / 64]uint64
	last := len(r.members)
	for {
		i, ok := r.member(d, last)
		switch {
		case !ok:
			return false
		case i < 0:
			if !d.skip() {
				return false
			}
		case seen[i/64]>>(i%64)&1 != 0:
			return d.giveUp("a member twice")
		default:
			seen[i/64] |= 1 << (i % 64)
			last = i
			if m := &r.members[i]; !m.element.json(d, offset(p, m.offset)) {
				return false
			}
		}
		if another, ok := d.more('}'); !another {
			return ok
		}
	}
}

// member reads the name of the member that comes behind last, and returns its number, or -1 if no
// field takes it.
func (r *record) member(d *reader, last int) (int, bool) {
	d.peek()
	guess := int(r.next[last].Load())
	for i := guess; i < min(guess+3, len(r.members)); i++ {
		if key := r.members[i].key; d.at(key) {
			d.pos += len(key)
			if i != guess {
				r.next[last].Store(uint32(i))
			}
			return i, true
		}
	}
	name, ok := d.key()
	if !ok {
		return 0, false
	}
	i, known := r.index[string(name)]
	if !known {
		return -1, d.tellsKind(name)
	}
	r.next[last].Store(uint32(i))
	return i, true
}
