// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// words are the two words of an interface value, as sync/atomic.Value takes
// one apart: the type, and the pointer to the data or the pointer that is the
// data. Kept apart they can be loaded and stored one by one; a pair becomes an
// object only after the reader has made sure that both are of one version.
//
// The zero value is no object.
type words struct{ typ, data unsafe.Pointer }

// nilType stands for the type of an object that is nil.
var nilType byte

func wordsOf(obj any) words {
	w := *(*words)(unsafe.Pointer(&obj))
	if w.typ == nil {
		w.typ = unsafe.Pointer(&nilType)
	}
	return w
}

// object is the inverse of wordsOf.
func (w words) object() any {
	if w.typ == unsafe.Pointer(&nilType) {
		return nil
	}
	return *(*any)(unsafe.Pointer(&w))
}

// none tells that there is no object.
func (w words) none() bool { return w.typ == nil }

// load reads the words while a writer may be storing others.
func (w *words) load() words {
	return words{atomic.LoadPointer(&w.typ), atomic.LoadPointer(&w.data)}
}

// store is load's counterpart. One writer at a time.
func (w *words) store(to words) {
	if w.typ != to.typ {
		atomic.StorePointer(&w.typ, to.typ)
	}
	atomic.StorePointer(&w.data, to.data)
}

// hashString is maphash.String, by the way with fewer calls.
func hashString(seed maphash.Seed, s string) uint64 {
	return maphash.Bytes(seed, unsafe.Slice(unsafe.StringData(s), len(s)))
}

const (
	cacheLine = 64
	// warmLen covers the metadata of an API object and the first fields of its
	// spec, where keys and index values come from.
	warmLen = 512
)

// Warm has the processor fetch the beginning of what a pointer points to, all
// of it at once: the functions that look at an object one field after the other
// would wait for memory at each. It returns a number that means nothing. It is
// for many objects one after the other.
//
// With the race detector it does nothing, as it looks at fields that are none
// of its business.
func Warm(obj any) (sum byte) {
	typ := reflect.TypeOf(obj)
	if invariants || typ == nil || typ.Kind() != reflect.Pointer {
		return 0
	}
	w := wordsOf(obj)
	if w.data == nil {
		return 0
	}
	for at, end := uintptr(0), min(typ.Elem().Size(), warmLen); at < end; at += cacheLine {
		sum += *(*byte)(unsafe.Add(w.data, at))
	}
	return sum
}

// touch has the processor fetch the beginning of a string.
func touch(s string) byte {
	if len(s) == 0 {
		return 0
	}
	return s[0]
}
