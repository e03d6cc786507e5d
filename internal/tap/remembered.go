// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"crypto/rand"
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"sync"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/decode"
)

// remembered finds the objects of an informer by the bytes that they were decoded from. When a
// whole state comes again, what has not changed is neither decoded nor there twice: the objects are
// those that are cached. Any number of goroutines may use it at a time; nil remembers nothing.
//
// It keeps no object alive, and none of the bytes. It refers to objects weakly, and tells bytes
// apart by a keyed hash of 128 bits, GMAC (NIST SP 800-38D), of which is proven that n blocks of 16
// bytes and others have the same by chance once in 2^128/n keys. Nobody learns the key.
//
// References to objects that are gone are looked for at random, as Redis looks for what has
// expired: for each that is added, about four that are there. So about a quarter of them are of
// objects that are gone.
type remembered struct {
	mu struct {
		sync.Mutex
		hash    cipher.AEAD
		nonce   [12]byte // memory of printLocked
		print   print    // the same
		objects map[print]decode.Weak
		forms   map[form]uint32 // a number for each
		added   int
	}
}

// print stands for the bytes of an object, and how they were decoded.
type print [16]byte

// form is what an object depends on besides its bytes.
type form struct {
	of   reflect.Type // a pointer
	in   written
	list listHead                // in a list: what that says of its items, as far as the decoder needs it
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
	// addedPerLook and looked: after so many that were added so many references are looked at.
	addedPerLook = 16
	looked       = 4 * addedPerLook
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
	r.mu.objects, r.mu.forms = map[print]decode.Weak{}, map[form]uint32{}
	return r
}

// find returns the object, which may be cached and must not be written to, or nil and what it is
// added by.
func (r *remembered) find(f form, data []byte) (kruntime.Object, print) {
	if r == nil || len(data) < leastRemembered {
		return nil, print{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.printLocked(f, data)
	at, known := r.mu.objects[p]
	if !known {
		return nil, p
	}
	obj, _ := at.Object(f.of).(kruntime.Object)
	return obj, p
}

// item returns the object that is known of the bytes of an item of a list, or else, and if all is
// to be decoded anew, the one that decode makes.
func (r *remembered) item(f form, data []byte, anew bool, decode func() (kruntime.Object, error)) Item {
	obj, p := r.find(f, data)
	if obj != nil && !anew {
		return Item{Wire: data, Object: obj, Known: true}
	}
	obj, err := decode()
	if err == nil {
		r.add(p, obj)
	}
	return Item{Wire: data, Object: obj, Why: reason(err)}
}

// printLocked returns the hash of data, with the number of the form in the place of a nonce: equal
// data in two forms has two hashes.
func (r *remembered) printLocked(f form, data []byte) print {
	n, known := r.mu.forms[f]
	if !known {
		n = uint32(len(r.mu.forms))
		r.mu.forms[f] = n
	}
	binary.BigEndian.PutUint32(r.mu.nonce[:], n)
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
	if r.mu.added++; r.mu.added%addedPerLook == 0 {
		r.lookLocked()
	}
	r.mu.objects[p] = at
}

// lookLocked forgets objects that are gone.
func (r *remembered) lookLocked() {
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

// forget forgets all objects.
func (r *remembered) forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.objects = map[print]decode.Weak{}
}
