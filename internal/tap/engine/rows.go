// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/decode/proto"
	"github.com/kinformer/cache/internal/tap"
)

// rows has a row for each object of an informer: a weak reference to the object, and hashes of the
// bytes that it was decoded from. A version with the same bytes is the same object. Of another
// version, in protobuf, only the changed parts are decoded: see decode.Row. It is safe for
// concurrent use. A nil *rows has no rows.
//
//	form, UID (protobuf) or bytes (JSON) ── hash ──▶ row ── weak ──▶ object
//	                                                  └─ hash of the bytes, hashes of the parts
//
// Rows neither keep objects alive nor retain their bytes. So an object is garbage when the store,
// the handlers and all snapshots have released it.
//
// Rows of such objects are removed by random sampling, as Redis removes expired keys: four rows are
// examined for each object that is received or deleted.
type rows struct {
	key  maphash.Seed // for keys and hashes of bytes
	drop *tap.Drop    // the metadata to remove from objects

	mu struct {
		sync.Mutex
		objects map[uint64]row
		forms   map[form]uint64 // a number for each form
		numbers uint64          // the next number; numbers are not reused
		written int64           // partsWritten when the rows were last removed
		finds   int             // the number of calls of find
		most    int             // about the largest number of rows since the map was made
	}
}

type row struct {
	object decode.Weak
	sum    uint64     // of all bytes
	parts  decode.Row // in protobuf
}

// form is the set of properties, besides its bytes, that determine an object.
type form struct {
	objects reflect.Type // a pointer type
	in      location
	list    metav1.TypeMeta         // in a list: its TypeMeta, as far as items depend on it
	kind    schema.GroupVersionKind // in protobuf: the kind of the object, which is not in its bytes
}

// location is the place of the bytes of an object.
type location uint8

const (
	inFrame   location = iota // a frame in JSON
	inCleared                 // a frame in JSON of an object whose kind and apiVersion are cleared
	inItem                    // an item of a list in JSON
	inMessage                 // protobuf
)

const (
	// leastRow is the smallest size, in bytes, of an object with a row. Smaller objects, such as
	// leases, take little longer to decode than to find.
	leastRow = 1 << 10
	// Each time findsPerSweep objects were received, sweepSize rows are examined.
	findsPerSweep = 16
	sweepSize     = 4 * findsPerSweep
	// A map never shrinks, and iteration over it takes time proportional to its largest size. It is
	// copied to a new map if its length is at most 1/sparse of the largest one, and that was at
	// least smallMap.
	sparse   = 8
	smallMap = 1 << 10
	// mostForms is more than an informer meets, and longestForm, in bytes, is longer than the names
	// of kinds. Both bound memory that the server could fill.
	mostForms   = 64
	longestForm = 1 << 10
)

func newRows(drop *tap.Drop) *rows {
	r := &rows{key: maphash.MakeSeed(), drop: drop}
	r.mu.written = partsWritten.Load()
	r.forgetLocked()
	return r
}

// former is the result of find for a received object.
type former struct {
	decode.Former        // zero: not found
	same          bool   // the object has the received bytes
	key           uint64 // of the row; 0: the object gets no row
	sum           uint64 // the hash of the received bytes
}

// find looks up the object whose new version has the bytes data. The object may be cached and must
// not be modified.
func (r *rows) find(f form, data []byte) (found former) {
	id := r.idOf(&f, data)
	if id == nil {
		return former{}
	}
	found.sum = maphash.Bytes(r.key, data)
	hash := found.sum
	if len(id) != len(data) {
		hash = maphash.Bytes(r.key, id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.foundLocked()
	if written := partsWritten.Load(); written != r.mu.written {
		r.forgetLocked()
		r.mu.written = written
	}
	found.key = keyOf(hash, r.numberLocked(f))
	if at, known := r.mu.objects[found.key]; known {
		if obj := at.object.Object(f.objects); obj != nil {
			found.Former, found.same = decode.Former{Object: obj, Row: at.parts}, at.sum == found.sum
		}
	}
	return found
}

// idOf returns the bytes whose hash is the key of an object, or nil if it gets no row.
func (r *rows) idOf(f *form, data []byte) []byte {
	switch {
	case r == nil || f.length() > longestForm || len(data) < leastRow:
		return nil
	case f.in == inMessage:
		if uid := proto.UID(data); len(uid) > 0 {
			return uid
		}
	}
	return data
}

// keyOf returns the key of a row. The factor is odd, so the keys of an object in two forms always
// differ.
func keyOf(hash, form uint64) uint64 { return max(hash+form*0x9E3779B97F4A7C15, 1) }

// length returns the length of the texts of a form, in bytes.
func (f *form) length() int {
	return len(f.list.APIVersion) + len(f.list.Kind) + len(f.kind.Group) + len(f.kind.Version) + len(f.kind.Kind)
}

// numberLocked returns the number of a form.
func (r *rows) numberLocked(f form) uint64 {
	n, known := r.mu.forms[f]
	if !known {
		if len(r.mu.forms) == mostForms {
			r.forgetLocked()
		}
		n = r.mu.numbers
		r.mu.numbers++
		r.mu.forms[f] = n
	}
	return n
}

// add removes dropped metadata from an object and adds its row. After add, no goroutine may modify
// the object, because its next version may already be decoded from it.
func (r *rows) add(found former, obj runtime.Object, parts decode.Row) {
	if found.key == 0 {
		return
	}
	r.drop.Trim(obj)
	at := row{decode.WeakTo(obj), found.sum, parts}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.objects[found.key] = at
}

// remove removes the row of a deleted object, if it was found. In JSON it is not found, because the
// last state has other bytes.
func (r *rows) remove(found former) {
	if found.key == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.objects, found.key)
}

// foundLocked counts a call of find, and sweeps at intervals.
func (r *rows) foundLocked() {
	if r.mu.finds++; r.mu.finds%findsPerSweep == 0 {
		r.sweepLocked()
		r.shrinkLocked()
	}
}

// sweepLocked removes rows of some objects that were garbage collected.
func (r *rows) sweepLocked() {
	r.mu.most = max(r.mu.most, len(r.mu.objects))
	left := sweepSize
	for key, at := range r.mu.objects {
		if at.object.IsGone() {
			delete(r.mu.objects, key)
		}
		if left--; left == 0 {
			return
		}
	}
}

// shrinkLocked copies the map if it is nearly empty.
func (r *rows) shrinkLocked() {
	n := len(r.mu.objects)
	if r.mu.most < smallMap || n > r.mu.most/sparse {
		return
	}
	left := make(map[uint64]row, n)
	maps.Copy(left, r.mu.objects)
	r.mu.objects, r.mu.most = left, n
}

// forget removes all rows. An object that was looked up before forget and added after it is not
// found either, because numbers of forms are not reused.
func (r *rows) forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked()
}

func (r *rows) forgetLocked() {
	r.mu.objects, r.mu.forms, r.mu.most = map[uint64]row{}, map[form]uint64{}, 0
}
