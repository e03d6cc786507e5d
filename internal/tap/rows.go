// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

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
)

// rows has a row for each object of an informer: the object, and the sums of the bytes that it was
// decoded from. A version with the same bytes is the same object; of another one, in protobuf, only
// the changed parts are decoded, see decode.Row. Any number of goroutines may use it at a time; nil
// has no rows.
//
// A row is found by the UID of the object in protobuf; in JSON, or if there is none, by the bytes. It refers to the
// object weakly and keeps none of the bytes, so that objects that the store, the handlers and all
// snapshots have let go are garbage.
//
// Rows of objects that are gone are looked for at random, as Redis looks for keys that have expired:
// four rows for each object that comes or is deleted.
type rows struct {
	key  maphash.Seed // of keys and sums
	drop *decode.Drop // what is left out of objects

	mu struct {
		sync.Mutex
		objects map[uint64]row
		forms   map[form]uint64 // a number for each
		numbers uint64          // how many there were, ever
		written int64           // partsWritten, when all was forgotten last
		came    int
		most    int // how many rows there were since the map was made, about
	}
}

type row struct {
	at    decode.Weak
	sum   uint64     // of all bytes
	parts decode.Row // in protobuf
}

// form is what an object depends on besides its bytes.
type form struct {
	of   reflect.Type // a pointer
	in   written
	list metav1.TypeMeta         // in a list: what that says of its items, as far as the decoder needs it
	kind schema.GroupVersionKind // in protobuf: what the object says it is, which is not in the bytes
}

// written is where bytes are.
type written uint8

const (
	inFrame   written = iota // a frame in JSON
	inCleared                // the same, of an object that is to say neither kind nor apiVersion
	inItem                   // a list in JSON
	inMessage                // protobuf
)

const (
	// leastRow is how many bytes an object has to have for a row: smaller ones, such as leases, are
	// decoded nearly as soon as their rows are found.
	leastRow = 1 << 10
	// camePerLook and looked: after so many objects that came so many rows are looked at.
	camePerLook = 16
	looked      = 4 * camePerLook
	// A map keeps the room of the most that it has had, and a look at the few that are left goes
	// through all of that. The map is made anew if they are one in sparse.
	sparse   = 8
	smallMap = 1 << 10
	// mostForms is more than an informer meets, and longestForm more than kinds have: both are
	// what the server says.
	mostForms   = 64
	longestForm = 1 << 10
)

func newRows(drop *decode.Drop) *rows {
	r := &rows{key: maphash.MakeSeed(), drop: drop}
	r.mu.written = partsWritten.Load()
	r.forgetLocked()
	return r
}

// former is what the rows have of an object that has come.
type former struct {
	decode.Former        // zero: nothing
	same          bool   // the object has the bytes that came
	key           uint64 // of the row; 0: it gets none
	sum           uint64 // of the bytes that came
}

// find returns the object that bytes are a version of. It may be cached and must not be written to.
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
	r.cameLocked()
	if written := partsWritten.Load(); written != r.mu.written {
		r.forgetLocked()
		r.mu.written = written
	}
	found.key = keyOf(hash, r.numberLocked(f))
	if at, known := r.mu.objects[found.key]; known {
		if obj := at.at.Object(f.of); obj != nil {
			found.Former, found.same = decode.Former{Object: obj, Row: at.parts}, at.sum == found.sum
		}
	}
	return found
}

// idOf returns the bytes that the row of an object is found by; nil: it has none.
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

// keyOf returns the key of the row of an object in a form. Keys in two forms are never the same for
// one object: the factor is odd.
func keyOf(hash, form uint64) uint64 { return max(hash+form*0x9E3779B97F4A7C15, 1) }

// length is that of the texts of a form.
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

// add leaves out of an object what is dropped, and makes its row. Nobody may write to the object from
// now on: its next version may be decoded already.
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

// remove removes the row of an object that is deleted, if it was found. In JSON it was not: its last state has
// other bytes.
func (r *rows) remove(found former) {
	if found.key == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.objects, found.key)
}

// cameLocked is called for each object.
func (r *rows) cameLocked() {
	if r.mu.came++; r.mu.came%camePerLook == 0 {
		r.lookLocked()
		r.shrinkLocked()
	}
}

// lookLocked removes rows of objects that are gone.
func (r *rows) lookLocked() {
	r.mu.most = max(r.mu.most, len(r.mu.objects))
	left := looked
	for key, at := range r.mu.objects {
		if at.at.IsGone() {
			delete(r.mu.objects, key)
		}
		if left--; left == 0 {
			return
		}
	}
}

// shrinkLocked makes the map anew if there are few in it, for what it has been.
func (r *rows) shrinkLocked() {
	n := len(r.mu.objects)
	if r.mu.most < smallMap || n > r.mu.most/sparse {
		return
	}
	left := make(map[uint64]row, n)
	maps.Copy(left, r.mu.objects)
	r.mu.objects, r.mu.most = left, n
}

// forget removes all rows, also those of objects that were looked for before it and are added behind
// it: no number is used again.
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
