// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// words are the two words of an interface value, as in sync/atomic.Value: the type, and the pointer
// to the data or the pointer that is the data. Kept apart they can be loaded and stored atomically,
// one at a time. A pair becomes an object only after the reader has verified that both words are of
// one version. Both words are pointers, so the garbage collector keeps the data alive.
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

// none reports whether there is no object.
func (w words) none() bool { return w.typ == nil }

// load loads the words beside a writer. They need not belong together.
func (w *words) load() words {
	return words{atomic.LoadPointer(&w.typ), atomic.LoadPointer(&w.data)}
}

// store stores the words beside readers. It must be called by one goroutine at a time.
func (w *words) store(to words) {
	if w.typ != to.typ {
		atomic.StorePointer(&w.typ, to.typ)
	}
	atomic.StorePointer(&w.data, to.data)
}

// lent returns a string of bytes that belong to the caller.
func lent(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// hashString returns maphash.String(seed, s), with fewer calls. The bytes are only read.
func hashString(seed maphash.Seed, s string) uint64 {
	return maphash.Bytes(seed, unsafe.Slice(unsafe.StringData(s), len(s)))
}

const (
	cacheLine = 64
	// warmLen is the number of bytes of an API object that hold its metadata and the first fields
	// of its spec, the source of keys and index values.
	warmLen = 512
)

// Warm loads the beginning of the object that a pointer refers to into the caches, all lines in
// parallel. Functions that read one field after the other would wait for memory at each. Warm pays
// for many objects one after the other. The result has no meaning. The loads stay within the
// object's size.
//
// With the race detector Warm does nothing, because it reads fields that other goroutines may
// write.
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

// touch loads the beginning of a string into the caches.
func touch(s string) byte {
	if len(s) == 0 {
		return 0
	}
	return s[0]
}
