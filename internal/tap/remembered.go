// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/decode"
)

// remembered finds the objects of an informer by the bytes that they were decoded from. When a
// whole state comes again, what has not changed is neither decoded nor there twice: the objects are
// those that are cached. Any number of goroutines may use it at a time; nil remembers nothing.
//
// It keeps no object alive, and none of the bytes. It refers to objects weakly, and tells bytes
// apart by a keyed hash of 128 bits, GMAC (NIST SP 800-38D): two inputs of at most n blocks of 16
// bytes collide with probability n/2^128. Nobody learns the key.
//
// References to objects that are gone are looked for at random, as Redis looks for what has
// expired: for each object that comes, or is deleted, about four that are there. So if all that
// come are new, about a quarter of them are of objects that are gone.
type remembered struct {
	mu struct {
		sync.Mutex
		hash    cipher.AEAD
		nonce   [12]byte // memory of printLocked
		print   print    // the same
		objects map[print]decode.Weak
		forms   map[form]uint64 // a number for each
		numbers uint64          // how many there were, ever
		written int64           // partsWritten, when all was forgotten last
		came    int
		most    int // how many references there were since the map was made, about
	}
}

// print stands for the bytes of an object, and how they were decoded.
type print [16]byte

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
	// leastRemembered is how many bytes an object has that is remembered: what is smaller is
	// decoded nearly as soon as it is found.
	leastRemembered = 1 << 10
	// camePerLook and looked: after so many objects that came so many references are looked at.
	camePerLook = 16
	looked      = 4 * camePerLook
	// A map keeps the room of the most that it has had, and all of that is gone through by who
	// looks for the few that are left. It is made anew if they are one in sparse.
	sparse   = 8
	smallMap = 1 << 10
	// mostForms is more than an informer meets, and longestForm more than kinds have: both are
	// what the server says.
	mostForms   = 64
	longestForm = 1 << 10
)

// hashing are the processors by which the hash takes less time than decoding, by far.
var hashing = slices.Contains([]string{"amd64", "arm64", "ppc64le", "s390x"}, runtime.GOARCH)

// newRemembered returns nil if it is not worth it.
func newRemembered() *remembered {
	if !hashing {
		return nil
	}
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	r := &remembered{}
	fips140.WithoutEnforcement(func() { r.mu.hash, err = cipher.NewGCM(block) }) // nothing is encrypted
	if err != nil {
		return nil
	}
	r.mu.written = partsWritten.Load()
	r.forgetLocked()
	return r
}

// find returns the object, which may be cached and must not be written to, or nil and what it is
// added by.
func (r *remembered) find(f form, data []byte) (kruntime.Object, print) {
	if r == nil || len(data) < leastRemembered || f.length() > longestForm {
		return nil, print{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cameLocked()
	if written := partsWritten.Load(); written != r.mu.written {
		r.forgetLocked()
		r.mu.written = written
	}
	p := r.printLocked(f, data)
	at, known := r.mu.objects[p]
	if !known {
		return nil, p
	}
	obj, _ := at.Object(f.of).(kruntime.Object)
	return obj, p
}

// length is that of the texts of a form.
func (f *form) length() int {
	return len(f.list.APIVersion) + len(f.list.Kind) + len(f.kind.Group) + len(f.kind.Version) + len(f.kind.Kind)
}

// printLocked returns the hash of data, with the number of the form in the place of a nonce: equal
// data in two forms has two hashes.
func (r *remembered) printLocked(f form, data []byte) print {
	n, known := r.mu.forms[f]
	if !known {
		if len(r.mu.forms) == mostForms {
			r.forgetLocked()
		}
		n = r.mu.numbers
		r.mu.numbers++
		r.mu.forms[f] = n
	}
	binary.BigEndian.PutUint64(r.mu.nonce[:], n)
	fips140.WithoutEnforcement(func() { r.mu.hash.Seal(r.mu.print[:0], r.mu.nonce[:], nil, data) })
	return r.mu.print
}

// add makes an object known that was decoded anew. Nobody may write to it from now on.
func (r *remembered) add(p print, obj kruntime.Object) {
	if p == (print{}) {
		return
	}
	at := decode.WeakTo(obj)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.objects[p] = at
}

// deleted says that there is one object less.
func (r *remembered) deleted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cameLocked()
}

// cameLocked is called for each object.
func (r *remembered) cameLocked() {
	if r.mu.came++; r.mu.came%camePerLook == 0 {
		r.lookLocked()
		r.shrinkLocked()
	}
}

// lookLocked forgets objects that are gone.
func (r *remembered) lookLocked() {
	r.mu.most = max(r.mu.most, len(r.mu.objects))
	left := looked
	for p, at := range r.mu.objects {
		if at.IsGone() {
			delete(r.mu.objects, p)
		}
		if left--; left == 0 {
			return
		}
	}
}

// shrinkLocked makes the map anew if there are few in it, for what it has been.
func (r *remembered) shrinkLocked() {
	n := len(r.mu.objects)
	if r.mu.most < smallMap || n > r.mu.most/sparse {
		return
	}
	left := make(map[print]decode.Weak, n)
	maps.Copy(left, r.mu.objects)
	r.mu.objects, r.mu.most = left, n
}

// forget forgets all objects, also those that were looked for before it and are added behind it: no
// number is used again.
func (r *remembered) forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked()
}

func (r *remembered) forgetLocked() {
	r.mu.objects, r.mu.forms, r.mu.most = map[print]decode.Weak{}, map[form]uint64{}, 0
}
