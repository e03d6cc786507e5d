// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// record holds one key and its object. It is changed in place; the overwritten version is first
// stored in undo.
//
//	record{key, object, gen 7, undo} ─▶ past{gen 5, object} ─▶ past{gen 3, object}
//
// The writer stores undo, then gen, then the rest. A reader loads published, then the rest, then
// gen, then undo. If gen is not newer than published was, the record did not change in between and
// all loaded words belong together. If it is newer, undo has the overwritten version, for readers
// with a pin.
//
// After its last version is dropped the record may be given to another key. That is a change like
// any other, but with nothing to undo.
type record struct {
	// keyData is nil while the record has no key.
	keyData unsafe.Pointer
	keyLen  uint32
	// id is the record's own id. Writer only.
	id uint32
	words
	gen  atomic.Uint64
	undo atomic.Pointer[past]
}

// past is a superseded version of a record. It was valid from gen until the generation of the next
// newer version.
type past struct {
	gen uint64
	words
	prev atomic.Pointer[past]
}

// glimpse holds the words that a reader has loaded from a record and not yet checked.
type glimpse struct {
	keyData unsafe.Pointer
	keyLen  uint32
	words
	gen uint64
}

// look loads all words of a record. key may be called only if the glimpse has an object and its gen
// is not newer than a published generation loaded before.
func (r *record) look() glimpse {
	return glimpse{
		keyData: atomic.LoadPointer(&r.keyData),
		keyLen:  atomic.LoadUint32(&r.keyLen),
		words:   r.words.load(),
		gen:     r.gen.Load(),
	}
}

func (g *glimpse) key() string { return unsafe.String((*byte)(g.keyData), g.keyLen) }

// key may be called by the writer, and by readers with a pin at which the record has an object. The
// bytes are safe to use because keyData and keyLen belong together then.
func (r *record) key() string {
	return unsafe.String((*byte)(atomic.LoadPointer(&r.keyData)), atomic.LoadUint32(&r.keyLen))
}

// at returns the object at gen. The caller must hold a pin at gen.
func (r *record) at(gen uint64) words {
	w := r.words.load()
	if r.gen.Load() <= gen {
		return w
	}
	return r.before(gen)
}

// before is at for a record that has changed since gen.
func (r *record) before(gen uint64) words {
	for p := r.undo.Load(); p != nil; p = p.prev.Load() {
		if p.gen <= gen {
			return p.words
		}
	}
	return words{}
}

// start assigns a record without versions to a key.
func (r *record) start(gen uint64, id uint32, key string, w words) {
	data := unsafe.Pointer(unsafe.StringData(key))
	if key == "" {
		data = unsafe.Pointer(&nilType)
	}
	r.id = id
	r.gen.Store(gen)
	atomic.StorePointer(&r.keyData, data)
	atomic.StoreUint32(&r.keyLen, uint32(len(key)))
	r.store(w)
}

// idle reports whether the record has no key.
func (r *record) idle() bool { return r.keyData == nil }

// end removes the key from the record.
func (r *record) end() {
	atomic.StorePointer(&r.keyData, nil)
	atomic.StoreUint32(&r.keyLen, 0)
}
