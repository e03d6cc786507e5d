// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"bytes"
	"hash/maphash"
	"iter"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
)

const (
	// bytesPerPart: for so many bytes of the limit there is a slot. With more slots, more of what comes in random
	// order is found again, and more enters that is not (make bench BENCH_FLAGS="-run list-peak": kept).
	bytesPerPart = 1024
	// partBytes is the size of an entry, without its bytes and value.
	partBytes = 96
)

// neverKept is in the names of annotations that hold a whole object, perhaps a Secret.
var neverKept = []byte("last-applied")

// Parts is a table of parts that values share: maps, lists, and messages behind pointers, by the
// bytes that they were decoded from, which it keeps and compares. Any number of goroutines may use
// it at a time. Its bytes are those of the values, too: what is in several of them counts for each.
//
// Nobody may write to shared parts. Lists have no more capacity than
// elements, so append copies them. A Quantity, which may be written to when it is read, is in no
// part unless it is the value of a map, nor is a Quantity that its own copies write to: see IsShort.
type Parts struct {
	lossy[Part, *Part]
	mask uint64 // the bits of hashes that count: all, but in tests
}

// Site is where parts are: parts of two sites are never one. Its address tells it from others.
type Site struct {
	Type reflect.Type // of the values: slices, pointers, maps or interfaces
	In   string       // the struct and the field, if the document does not tell
}

// Part is a value that is shared. It is never written to.
type Part struct {
	of    *Site
	hash  uint64
	raw   []byte
	value Value
	bytes int64 // of the value, with other parts that are in it
	Deep  int   // how many messages lie in each other in it; 0 for JSON, see scan.Brackets
}

// Value is a slice, a pointer, which is the First of it, a map or an interface.
type Value struct {
	list mem.Slice
	kept any
}

// ValueAt returns the value at p.
func ValueAt(t reflect.Type, p mem.Place) Value {
	switch t.Kind() {
	case reflect.Slice:
		return Value{list: *mem.Get[mem.Slice](p)}
	case reflect.Pointer:
		return Value{list: mem.Slice{First: *mem.Get[mem.Place](p)}}
	default:
		return Value{kept: mem.Pointer(t, p).Elem().Interface()}
	}
}

// ValueOf returns a map or an interface as a value.
func ValueOf(kept any) Value { return Value{kept: kept} }

// Any returns the value of a part that is an interface.
func (e *Part) Any() any { return e.value.kept }

// sizeOf estimates the memory that the value refers to.
func (e *Part) sizeOf() int64 {
	v := reflect.New(e.of.Type)
	e.Put(mem.Of(v))
	return sizeOf(v.Elem())
}

// Put puts the value to p.
func (e *Part) Put(p mem.Place) {
	switch t := e.of.Type; t.Kind() {
	case reflect.Slice:
		mem.Set(p, e.value.list)
	case reflect.Pointer:
		mem.Set(p, e.value.list.First)
	default:
		mem.Pointer(t, p).Elem().Set(reflect.ValueOf(e.value.kept))
	}
}

func (e *Part) size() int64 { return partBytes + block(len(e.raw)) + e.bytes }

func (e *Part) hashed(maphash.Seed) uint64 { return e.hash }

func (e *Part) same(other *Part) bool { return other.is(e.hash, e.of, e.raw) }

// is reports whether e is the part of a site that was decoded from raw.
func (e *Part) is(hash uint64, of *Site, raw []byte) bool {
	return e.hash == hash && e.of == of && bytes.Equal(e.raw, raw)
}

// NewParts makes a table that holds at most about that many bytes: see SetLimit.
func NewParts(limit int64) *Parts {
	t := &Parts{mask: ^uint64(0)}
	t.begin(limit, bytesPerPart)
	return t
}

// All ranges over the parts that are in the table now: their bytes and values.
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

// find returns the part of a site that was decoded from raw, or nil.
func (t *Parts) find(of *Site, raw []byte) (hash uint64, e *Part) {
	hash = maphash.Bytes(t.seed, raw) & t.mask
	first, second := t.pair(hash)
	for _, slot := range [2]*lossySlot[Part]{first, second} {
		if e = slot.entry.Load(); e != nil && e.is(hash, of, raw) {
			slot.touch()
			return hash, e
		}
	}
	return hash, nil
}

// refuses reports whether a part may not enter, however small its value is.
func (t *Parts) refuses(e *Part) bool {
	return !t.admits(e.size()) || bytes.Contains(e.raw, neverKept)
}

// add enters a part with a copy of its bytes, if it may be in the table. See enter for emptied.
func (t *Parts) add(e Part, emptied int64) {
	if t.admits(e.size()) {
		e.raw = Exactly(e.raw)
		t.enter(&e, emptied)
	}
}
