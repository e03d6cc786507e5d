// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"fmt"

	"github.com/kinformer/cache/internal/interleave"
)

// draftOf has a reader make a draft of objects under some keys and drop it. What it finds in the
// table under them is what was there when it began, but for what has changed since; and after Renew
// it is that of one state.
func draftOf(keys ...string) call {
	return func(r *rig) {
		var b Block
		for i, key := range keys {
			b.Objects[i], b.Text[i] = &item{key: key, values: []string{"v"}}, []byte(key)
		}
		b.N = len(keys)
		from := r.begin()
		d := r.table.Draft(len(keys))
		h := new(holding)
		r.opened(h, from)
		d.Look(&b)
		for i, key := range keys {
			former := b.Former[i]
			r.narrowAt(h, func(state int) bool { return r.heldSince(key, former, state) },
				notef("a draft finds %v under %s", former, key))
		}
		r.renew(d, &b)
	}
}

// renew completes a draft and has it look again.
func (r *rig) renew(d *Draft, b *Block) {
	d.Put(b)
	d.Complete()
	from := r.begin()
	d.Renew()
	h := new(holding)
	r.opened(h, from)
	n := 0
	for _, i := range d.All {
		r.narrow(h, func(s *state) bool { return former(s, i.Key) == i.Former },
			notef("a draft finds %v under %s again", i.Former, i.Key))
		n++
	}
	if n != b.N {
		interleave.Fail(fmt.Errorf("a draft has %d objects of %d", n, b.N))
	}
	r.closedAt(h)
}

// former returns the object that a state has under a key, or nil.
func former(s *state, key string) any {
	if i := s.items[key]; i != nil {
		return i
	}
	return nil
}

// heldSince tells whether a key had this object in a state; nil fits also if it has changed since.
func (r *rig) heldSince(key string, obj any, at int) bool {
	was := former(r.states[at], key)
	for _, s := range r.states[at : r.begun+1] {
		if obj == nil && former(s, key) != was {
			return true
		}
	}
	return obj == was
}

// union asks for the objects with any of the values of an object.
func union(values ...string) call {
	return func(r *rig) {
		from := r.begin()
		objs, err := r.table.Index("value", &item{values: values})
		got, once := itemsOf(objs)
		r.judge(from, func(s *state) bool {
			var want set
			for _, value := range values {
				want |= s.by[value]
			}
			return err == nil && once && got == want
		}, notef("Index of %v = %v, %v", values, objs, err))
	}
}

// spelled asks for the table's own string of a key: one that it has had since the call began.
func spelled(key string) call {
	return func(r *rig) {
		from := r.begin()
		got, ok := r.table.Key([]byte(key))
		r.judge(from, func(s *state) bool { return !ok || got == key && s.items[key] != nil },
			notef("Key(%s) = %s, %v", key, got, ok))
	}
}
