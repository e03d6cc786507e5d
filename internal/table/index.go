// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"slices"
	"unsafe"
)

// lacking is the indexValues of an object for which the index function failed. It is empty, and
// recognized by its pointer, which isLacking compares and does not follow.
var (
	lackingPlace [1]string
	lacking      indexValues = lackingPlace[:0]
)

func isLacking(values indexValues) bool {
	return len(values) == 0 && unsafe.SliceData(values) == &lackingPlace[0]
}

// note records whether an object lacks a place because the function failed for it.
func (ix *index) note(id uint32, values indexValues) {
	switch {
	case !isLacking(values):
		delete(ix.lacking, id)
	case ix.lacking == nil:
		ix.lacking = map[uint32]struct{}{id: {}}
	default:
		ix.lacking[id] = struct{}{}
	}
	ix.lacks.Store(int64(len(ix.lacking)))
}

// valuesFor returns the values of an object, in memory that the function does not reuse: it may
// return the same slice for the next object. A single value is stored in buf, which has one element
// and belongs to the caller. A nil object has no values.
func (x *indexer) valuesFor(obj any, buf []string) (values indexValues, err error) {
	if obj == nil {
		return nil, nil
	}
	if x.single != nil {
		buf[0], err = x.single(obj)
		return buf, err
	}
	values, err = x.fn(obj)
	if len(values) != 1 {
		return slices.Clone(values), err
	}
	buf[0] = values[0]
	return buf, err
}

// has reports whether the index function returns value for an object.
func (x *indexer) has(obj any, value string) (has bool) {
	if obj == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			has = false
		}
	}()
	if x.single != nil {
		one, err := x.single(obj)
		return err == nil && one == value
	}
	values, err := x.fn(obj)
	return err == nil && slices.Contains(values, value)
}

// newIndex returns an empty index.
func newIndex(x *indexer, seed maphash.Seed, born uint64, rows *rows, column int, log *changes) *index {
	ix := &index{indexer: x, born: born, seed: seed, rows: rows, column: column, log: log}
	ix.values.reserve(0)
	return ix
}

func (ix *index) hash(value string) uint64 { return hashString(ix.seed, value) }
func (ix *index) hashOf(p *posting) uint64 { return ix.hash(p.value) }
func (ix *index) ref(id uint32) *ref       { return &ix.rows.row(id)[ix.column] }

// find returns the posting of a value, or nil. It is safe for any goroutine.
func (ix *index) find(value string) *posting { return ix.locate(ix.hash(value), value) }

func (ix *index) locate(hash uint64, value string) *posting {
	for s := ix.values.search(hash); ; {
		if p := s.next(); p == nil || p.value == value {
			return p
		}
	}
}

// assign files an object under these values and under no others. r is the object's place in the
// index. A value that the object has already costs a comparison and changes no posting.
func (ix *index) assign(gen uint64, id uint32, r *ref, values []string) {
	if len(ix.lacking) > 0 || isLacking(values) {
		ix.note(id, values)
	}
	switch {
	case *r == refMany || len(values) > 1:
		ix.assignMany(gen, id, values)
	case len(values) == 0:
		if *r != refNone {
			ix.leave(gen, *r)
			*r = refNone
		}
	case *r == refNone:
		*r = ix.enter(gen, id, values[0], ix.hash(values[0]))
	case r.post.value != values[0]:
		ix.leave(gen, *r)
		*r = ix.enter(gen, id, values[0], ix.hash(values[0]))
	}
}

// assignNew is assign for an object that is probably in no posting yet. hash is the hash of its
// first value.
func (ix *index) assignNew(gen uint64, id uint32, values []string, hash uint64) {
	r := ix.ref(id)
	if *r == refNone && len(values) == 1 && len(ix.lacking) == 0 {
		*r = ix.enter(gen, id, values[0], hash)
		return
	}
	ix.assign(gen, id, r, values)
}

// assignMany is assign for an object with several old or new values. It merges two sorted lists.
func (ix *index) assignMany(gen uint64, id uint32, values []string) {
	old := ix.places(id)
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	refs := make([]ref, 0, len(values))
	for len(old) > 0 || len(values) > 0 {
		switch order := ix.order(old, values); {
		case order < 0:
			ix.leave(gen, old[0])
			old = old[1:]
		case order > 0:
			refs = append(refs, ix.enter(gen, id, values[0], ix.hash(values[0])))
			values = values[1:]
		default:
			refs = append(refs, old[0])
			old, values = old[1:], values[1:]
		}
	}
	ix.keep(id, refs)
}

// order compares the first values of two sorted lists: it returns -1 if that of old is smaller, 1
// if that of values is. An empty list comes last.
func (ix *index) order(old []ref, values []string) int {
	switch {
	case len(old) == 0:
		return 1
	case len(values) == 0:
		return -1
	}
	if v := old[0].post.value; v < values[0] {
		return -1
	} else if v > values[0] {
		return 1
	}
	return 0
}

// places returns the object's places, ordered by value.
func (ix *index) places(id uint32) []ref {
	switch r := *ix.ref(id); r {
	case refNone:
		return nil
	case refMany:
		return ix.many[id]
	default:
		return []ref{r}
	}
}

// keep stores the object's places.
func (ix *index) keep(id uint32, refs []ref) {
	r := ix.ref(id)
	if len(refs) > 1 {
		if ix.many == nil {
			ix.many = make(map[uint32][]ref)
		}
		ix.many[id], *r = refs, refMany
		return
	}
	if *r == refMany {
		delete(ix.many, id)
	}
	*r = refNone
	if len(refs) == 1 {
		*r = refs[0]
	}
}

// enter adds an object to the posting of a value, and creates the posting if there is none.
func (ix *index) enter(gen uint64, id uint32, value string, hash uint64) ref {
	p := ix.locate(hash, value)
	if p == nil {
		p = newPosting(value, ix)
		ix.values.insert(hash, p, ix.hashOf)
	}
	return ref{post: p, pos: p.add(gen, id)}
}

// leave removes an object from one posting. The member that moves to its position is updated.
func (ix *index) leave(gen uint64, r ref) {
	moved, ok := r.post.remove(gen, r.pos)
	if !ok {
		return
	}
	m := ix.ref(moved)
	if *m != refMany {
		m.pos = r.pos
		return
	}
	for i := range ix.many[moved] {
		if ix.many[moved][i].post == r.post {
			ix.many[moved][i].pos = r.pos
		}
	}
}

// settle drops the empty leaves of a posting, and the posting if no reader can see a member. It
// does nothing to a posting that was dropped before.
func (ix *index) settle(p *posting) {
	p.trim()
	if p.spent() && !p.dropped {
		g, slot := ix.values.remove(ix.hash(p.value), p)
		g.refs[slot].Store(nil)
		p.dropped = true
	}
}
