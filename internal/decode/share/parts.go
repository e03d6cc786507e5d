// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"bytes"
	"hash/maphash"
	"iter"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/footprint"
)

const (
	// bytesPerPart is the number of bytes of the limit per slot. With more slots, more parts are
	// found again when objects arrive in random order, but more parts enter that are never found
	// (make bench BENCH_FLAGS="-run list-peak": kept).
	bytesPerPart = 1024
	// partBytes is the size of an entry without its bytes and value, in bytes.
	partBytes = 96
)

// neverKept occurs in the names of annotations that contain a whole object, perhaps a Secret.
var neverKept = []byte("last-applied")

// Parts is a table of parts that values share: maps, lists, and messages behind pointers. The key
// of a part is the bytes it was decoded from, which the table copies and compares in full. It is
// safe for concurrent use.
//
//	key: site, {"app":"web"}  →  map[string]string{"app": "web"}   in any number of objects
//
// The size of the table includes the values. A value nested in several parts counts for each of
// them.
//
// Shared parts are read-only. The capacity of a list is its length, so append copies it. A
// Quantity, which a read may modify, is part of a value only as the element of a map, and only if
// its copies do not refer to memory of the original: see IsShort.
type Parts struct {
	cache[Part, *Part]
	mask uint64 // applied to hashes: all bits, except in tests
}

// Site identifies the position of parts in types. Parts of different sites are never shared. The
// identity of a Site is its address.
type Site struct {
	Type reflect.Type // of the values: a slice, pointer, map or interface
	In   string       // the struct and field, in protobuf, where the document does not contain names
}

// Part is a shared, immutable value.
type Part struct {
	of    *Site
	hash  uint64
	raw   []byte
	value Value
	bytes int64 // the size of the value, including nested parts
	Deep  int   // the nesting depth of its messages; 0 for JSON, where Brackets knows it
}

// Value is a slice, a map, an interface, or a pointer, which is list.First.
type Value struct {
	list  mem.Slice
	boxed any
}

// ValueAt returns the value of type t at p.
func ValueAt(t reflect.Type, p mem.Place) Value {
	switch t.Kind() {
	case reflect.Slice:
		return Value{list: *mem.Get[mem.Slice](p)}
	case reflect.Pointer:
		return Value{list: mem.Slice{First: *mem.Get[mem.Place](p)}}
	default:
		return Value{boxed: mem.Pointer(t, p).Elem().Interface()}
	}
}

// ValueOf returns a map or an interface as a Value.
func ValueOf(boxed any) Value { return Value{boxed: boxed} }

// Any returns the value of a part whose type is an interface.
func (e *Part) Any() any { return e.value.boxed }

// sizeOf estimates the memory that the value refers to, in bytes.
func (e *Part) sizeOf() int64 {
	v := reflect.New(e.of.Type)
	e.Put(mem.Of(v))
	return footprint.Of(v.Elem())
}

// Put stores the value at p.
func (e *Part) Put(p mem.Place) {
	switch t := e.of.Type; t.Kind() {
	case reflect.Slice:
		mem.Set(p, e.value.list)
	case reflect.Pointer:
		mem.Set(p, e.value.list.First)
	default:
		mem.Pointer(t, p).Elem().Set(reflect.ValueOf(e.value.boxed))
	}
}

func (e *Part) size() int64 { return partBytes + footprint.Block(uintptr(len(e.raw))) + e.bytes }

func (e *Part) hashed(maphash.Seed) uint64 { return e.hash }

func (e *Part) same(other *Part) bool { return other.is(e.hash, e.of, e.raw) }

// is reports whether e was decoded from raw at the site.
func (e *Part) is(hash uint64, of *Site, raw []byte) bool {
	return e.hash == hash && e.of == of && bytes.Equal(e.raw, raw)
}

// NewParts returns a table that holds at most about limit bytes. See SetLimit.
func NewParts(limit int64) *Parts {
	t := &Parts{mask: ^uint64(0)}
	t.begin(limit, bytesPerPart)
	return t
}

// All returns an iterator over the bytes and values of the parts in the table.
func (t *Parts) All() iter.Seq2[[]byte, reflect.Value] {
	return func(yield func([]byte, reflect.Value) bool) {
		slots := *t.slots.Load()
		for i := range slots {
			if e := slots[i].entry.Load(); e != nil {
				v := reflect.New(e.of.Type)
				if e.Put(mem.Of(v)); !yield(e.raw, v.Elem()) {
					return
				}
			}
		}
	}
}

// find returns the part decoded from raw at the site, or nil.
func (t *Parts) find(of *Site, raw []byte) (hash uint64, e *Part) {
	hash = maphash.Bytes(t.seed, raw) & t.mask
	first, second := t.pair(hash)
	for _, slot := range [2]*cacheSlot[Part]{first, second} {
		if e = slot.entry.Load(); e != nil && e.is(hash, of, raw) {
			slot.touch()
			return hash, e
		}
	}
	return hash, nil
}

// refuses reports whether a part must not enter the table, regardless of the size of its value.
func (t *Parts) refuses(e *Part) bool {
	return !t.admits(e.size()) || bytes.Contains(e.raw, neverKept)
}

// add adds a part with a copy of its bytes, if its size permits. See enter for emptied.
func (t *Parts) add(e Part, emptied int64) {
	if t.admits(e.size()) {
		e.raw = Exactly(e.raw)
		t.enter(&e, emptied)
	}
}
