// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// record is the place of one key and its object. It is changed in place; what
// a change overwrites goes to undo first.
//
// The writer stores undo, then gen, then the rest. A reader loads published,
// then the rest, then gen, then undo. If gen is not newer than published was,
// nothing has changed in between and all that was loaded belongs together. If
// it is newer, then undo has what was overwritten, for those that are pinned.
//
// When its last version is gone the record may be given to another key. That
// is a change like any other, but with nothing to undo.
type record struct {
	// keyData is nil while the record has no key.
	keyData unsafe.Pointer
	keyLen  uint32
	// id is the record's own. Writer only.
	id uint32
	words
	gen  atomic.Uint64
	undo atomic.Pointer[past]
}

// past is a superseded version of a record. It was valid from gen until the
// generation of the next newer one.
type past struct {
	gen uint64
	words
	prev atomic.Pointer[past]
}

// glimpse is what a reader has loaded of a record, and not yet checked.
type glimpse struct {
	keyData unsafe.Pointer
	keyLen  uint32
	words
	gen uint64
}

// look loads all of a record. If gen is not newer than what was published
// before, and there is an object, then key may be called.
func (r *record) look() glimpse {
	return glimpse{
		keyData: atomic.LoadPointer(&r.keyData),
		keyLen:  atomic.LoadUint32(&r.keyLen),
		words:   r.words.load(),
		gen:     r.gen.Load(),
	}
}

func (g *glimpse) key() string { return unsafe.String((*byte)(g.keyData), g.keyLen) }

// key is for the writer, and for readers with a pin at which the record has an
// object.
func (r *record) key() string {
	return unsafe.String((*byte)(atomic.LoadPointer(&r.keyData)), atomic.LoadUint32(&r.keyLen))
}

// at returns the object at a generation at which the caller holds a pin.
func (r *record) at(gen uint64) words {
	w := r.words.load()
	if r.gen.Load() <= gen {
		return w
	}
	return r.before(gen)
}

// before is at for a record that has changed since.
func (r *record) before(gen uint64) words {
	for p := r.undo.Load(); p != nil; p = p.prev.Load() {
		if p.gen <= gen {
			return p.words
		}
	}
	return words{}
}

// start gives a record without versions to a key.
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

// idle tells that the record has no key.
func (r *record) idle() bool { return r.keyData == nil }

// end takes the record from its key.
func (r *record) end() {
	atomic.StorePointer(&r.keyData, nil)
	atomic.StoreUint32(&r.keyLen, 0)
}
