// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import "reflect"

// sharedField reads a field whose value objects share if it was written alike before: a list, a
// map, or a message behind a pointer.
type sharedField struct {
	wireNode
	t    reflect.Type
	tag  uint64
	many bool   // it consists of all fields of this tag that follow one another
	in   string // the struct and the field
}

func (s *sharedField) wire(d *reader, p place, end int) bool {
	if d.parts == nil || d.private {
		return s.wireNode.wire(d, p, end)
	}
	begin, to := d.pos, s.extent(d, end)
	if !d.worthwhile(to - begin) {
		return s.wireNode.wire(d, p, end)
	}
	raw := d.data[begin:to]
	hash, known := d.parts.find(s, raw)
	if known != nil {
		if d.depth+known.deep > deepest {
			return d.giveUp("too deep")
		}
		if d.due() {
			known = d.checked(known, s.t, s.in, func(r *reader, p place) bool { return s.wireNode.wire(r, p, len(r.data)) })
		}
		d.found(known)
		known.value.put(s.t, p)
		d.pos = to
		return true
	}
	d.counts.unshared++
	before := d.state()
	if !s.wireNode.wire(d, p, end) {
		return false
	}
	if d.enters(before, to, hash) {
		d.parts.add(part{of: s, hash: hash, raw: raw, value: wholeOf(s.t, p), made: d.made - before.made, deep: d.reached - d.depth}, d.emptied)
	}
	d.reached = max(d.reached, before.reached)
	return true
}

// extent returns where the value ends; before its begin if it cannot be read.
func (s *sharedField) extent(d *reader, end int) (to int) {
	begin, ok := d.pos, false
	if s.many {
		to, ok = d.runEnd(s.tag, end)
	} else {
		to, ok = d.length(end)
	}
	d.pos = begin
	if !ok {
		return -1
	}
	return to
}

// sharedNode is sharedField for JSON.
type sharedNode struct {
	node
	t reflect.Type
}

func (s *sharedNode) json(d *reader, p place) bool {
	b, shares := d.extent()
	if !shares {
		return s.node.json(d, p)
	}
	raw := d.data[b.begin:b.end]
	hash, known := d.parts.find(s, raw)
	if known != nil {
		if d.due() {
			known = d.checked(known, s.t, d.names(), func(r *reader, p place) bool { return s.node.json(r, p) })
		}
		d.found(known)
		known.value.put(s.t, p)
		return d.leap(b)
	}
	d.counts.unshared++
	before := d.state()
	if !s.node.json(d, p) {
		return false
	}
	if d.enters(before, int(b.end), hash) {
		d.parts.add(part{of: s, hash: hash, raw: raw, value: wholeOf(s.t, p), made: d.made - before.made}, d.emptied)
	}
	return true
}

// anyDocument is the node of all objects and arrays in documents.
var anyDocument any = documentNode{}

// sharedDocument reads an object or an array of a document.
func (d *reader) sharedDocument() (any, bool) {
	b, shares := d.extent()
	if !shares {
		return d.container()
	}
	raw := d.data[b.begin:b.end]
	hash, known := d.parts.find(anyDocument, raw)
	if known != nil {
		if d.due() {
			known = d.checked(known, reflect.TypeFor[any](), d.names(), func(r *reader, p place) bool {
				v, ok := r.container()
				set(p, v)
				return ok
			})
		}
		d.found(known)
		return known.value.kept, d.leap(b)
	}
	d.counts.unshared++
	before := d.state()
	v, ok := d.container()
	if ok && d.enters(before, int(b.end), hash) {
		d.parts.add(part{of: anyDocument, hash: hash, raw: raw, value: whole{kept: v}, made: d.made - before.made}, d.emptied)
	}
	return v, ok
}

// found counts a part.
func (d *reader) found(e *part) {
	d.counts.shared++
	d.saved += len(e.raw)
	d.made += e.made
	d.reached = max(d.reached, d.depth+e.deep)
}

// partState is what a reader knows before it reads a part.
type partState struct {
	unsharable int
	made       int64
	reached    int
}

func (d *reader) state() partState {
	before := partState{d.unsharable, d.made, d.reached}
	d.reached = d.depth
	return before
}

// enters reports whether the part that was read since then is to go into the table, because nothing
// in it keeps it from that, it ends where it should, and it was asked for before.
func (d *reader) enters(before partState, end int, hash uint64) bool {
	return d.unsharable == before.unsharable && d.pos == end && d.parts.again(hash)
}

// wholeOf returns the value at p, a list, pointer or map.
func wholeOf(t reflect.Type, p place) whole {
	switch t.Kind() {
	case reflect.Slice:
		return whole{list: *get[slice](p)}
	case reflect.Pointer:
		return whole{list: slice{first: *get[place](p)}}
	default:
		return whole{kept: pointerAt(t, p).Elem().Interface()}
	}
}

// put puts the value to p.
func (w *whole) put(t reflect.Type, p place) {
	switch t.Kind() {
	case reflect.Slice:
		set(p, w.list)
	case reflect.Pointer:
		set(p, w.list.first)
	default:
		pointerAt(t, p).Elem().Set(reflect.ValueOf(w.kept))
	}
}
