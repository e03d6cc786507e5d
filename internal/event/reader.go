// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Record is one change on its way from the reflector through the queue to the store. Key and
// version are read once, where the object enters the queue, and carried from there on.
type Record struct {
	Type    clientgo.DeltaType
	Key     string
	Version string // resourceVersion as received, before any transform
	Object  any    // as it will be stored; a tombstone for synthetic deletions; nil for ReplacedAll, SyncAll and Bookmark
	State   any    // of a ReplacedAll: the next whole state; of others, with several sources: whose record it is. Known to those who make and apply it

	Altered *Origin // what was received, if a transform has left Object with anything else; nil: it has not
}

// Origin is what the server says of an object that no transform is asked about: its resourceVersion
// and UID.
type Origin struct{ Version, UID string }

// Keyed reports whether the record is about one object. Only such records share a batch with
// others.
func (r *Record) Keyed() bool {
	switch r.Type {
	case clientgo.ReplacedAll, clientgo.SyncAll, clientgo.Bookmark:
		return false
	default:
		return true
	}
}

// LastState returns the object of the record, without a tombstone around it.
func (r *Record) LastState() any {
	if tombstone, ok := r.Object.(clientgo.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return r.Object
}

// Lost reports whether the record is a deletion whose last state the transform function has
// refused: the object is a tombstone without one.
func (r *Record) Lost() bool {
	if r.Altered == nil {
		return false
	}
	tombstone, ok := r.Object.(clientgo.DeletedFinalStateUnknown)
	return ok && tombstone.Obj == nil
}

// Refused is a change that a sink could not take, and why.
type Refused struct {
	Type   clientgo.DeltaType
	Object any
	Err    error
}

// BatchLimit is how many events are read at most before they are handed over: the first event of a
// batch waits for the others. At 256 the cost of handing over, a lock and perhaps a wake-up, is a
// few nanoseconds an event; larger batches gain nothing more.
const BatchLimit = 256

// Reader completes records: it reads the key of each object, once, and transforms the object. One
// goroutine at a time calls its methods; any number may call those of Keys and Transform, as far as
// these say so.
//
//  1. Keys finds the key, as received.
//  2. Transform makes the object that is stored. Without a transform function it is not called.
type Reader struct {
	Keys      Keys
	Transform Transformer
	Logger    klog.Logger
}

// Complete fills in what follows from type and object as received. A deletion that cannot be
// transformed is complete all the same, and Lost.
func (r *Reader) Complete(rec *Record) error {
	if !rec.Keyed() {
		return nil
	}
	if err := r.ReadKey(rec); err != nil || r.Transform.Function == nil {
		return err
	}
	if rec.Type == clientgo.Deleted {
		return r.pass(rec, gone)
	}
	return r.pass(rec, seen)
}

// PassListed transforms the object of a record that belongs to a whole state, if there is a
// transform function. The key is read before.
func (r *Reader) PassListed(rec *Record) error { return r.pass(rec, listed) }

func (r *Reader) pass(rec *Record, as occasion) (err error) {
	received, called := Origin{Version: rec.Version, UID: OriginOf(rec.Object).UID}, false
	rec.Object, called, err = r.Transform.pass(rec.Key, rec.Object, as)
	if rec.Altered = nil; called && err == nil && OriginOf(rec.Object) != received {
		altered := received // so that only what is altered takes memory
		rec.Altered = &altered
	}
	if err != nil && as == gone {
		last := received
		rec.Object, rec.Altered = clientgo.DeletedFinalStateUnknown{Key: rec.Key}, &last
	}
	return err
}

// ReadKey fills in the key.
func (r *Reader) ReadKey(rec *Record) (err error) {
	again := rec.Type == clientgo.Updated || rec.Type == clientgo.Deleted
	rec.Key, err = r.Keys.KeyOf(rec.Object, again)
	return err
}

// Keys computes the keys of a queue, once for each event. For the usual key function it puts the
// key together on the stack and looks for the string that is there already, so that an update of a
// known object allocates nothing: in the store that the queue is for, else among the keys of
// earlier events. The strings of first events are new, because the store is going to keep them.
type Keys struct {
	keyFunc clientgo.KeyFunc
	Usual   bool      // keyFunc is MetaNamespaceKeyFunc
	Opens   Wrapping  // what an object may come in
	Known   KeyFinder // where the keys of events go; then one goroutine asks. nil: nowhere that is known

	text   []byte     // memory of usualKey, with Known
	recent recentKeys // in place of Known
}

// Init sets the key function; nil is MetaNamespaceKeyFunc. usual says that it is that function, by
// another name.
func (r *Keys) Init(keyFunc clientgo.KeyFunc, usual bool) {
	if keyFunc == nil {
		keyFunc, usual = clientgo.MetaNamespaceKeyFunc, true
	}
	r.keyFunc, r.Usual = keyFunc, usual
}

// KeyOf returns the key of an object or of what wraps one. Its error is a KeyError about what was
// given, also for a key function that panics.
//
// again says that there may have been an event for the same object before.
func (r *Keys) KeyOf(obj any, again bool) (string, error) {
	key, err := r.Read(obj, again)
	if err != nil {
		return "", clientgo.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// Read is KeyOf with the error that the key function returned.
func (r *Keys) Read(obj any, again bool) (string, error) {
	if r.Usual {
		if key, ok := r.usualKey(obj, again); ok {
			return key, nil
		}
	}
	inside, err := r.Opens.open(obj)
	if err != nil {
		return "", err
	}
	if tombstone, ok := inside.(clientgo.DeletedFinalStateUnknown); ok && r.Opens >= OpensTombstones {
		return tombstone.Key, nil
	}
	return r.call(inside)
}

func (r *Keys) call(obj any) (key string, err error) {
	defer func() {
		if p := recover(); p != nil {
			key, err = "", fmt.Errorf("key function panicked: %v", p)
		}
	}()
	if IsNil(obj) {
		return "", ErrNilObject
	}
	return r.keyFunc(obj)
}

// usualKey is MetaNamespaceKeyFunc for objects with metadata.
func (r *Keys) usualKey(obj any, again bool) (key string, ok bool) {
	accessor, err := meta.Accessor(obj)
	if err != nil || IsNil(obj) {
		return "", false
	}
	namespace, name := accessor.GetNamespace(), accessor.GetName()
	switch {
	case namespace == "":
		return name, true
	case !again:
		return namespace + "/" + name, true
	case r.Known == nil:
		return r.recent.key(namespace, name), true
	}
	r.text = append(append(append(r.text[:0], namespace...), '/'), name...)
	if key, ok = r.Known.Key(r.text); ok {
		return key, true
	}
	return string(r.text), true
}

// IsNil reports whether v is nil or an interface around a nil pointer, which would pass for an
// object.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// ErrNilObject is what a nil object gets instead of a key.
var ErrNilObject = errors.New("object is nil")

// KeyOf returns the key of obj; its error is a KeyError.
func KeyOf(keyFunc clientgo.KeyFunc, obj any) (string, error) {
	if IsNil(obj) {
		return "", clientgo.KeyError{Obj: obj, Err: ErrNilObject}
	}
	key, err := keyFunc(obj)
	if err != nil {
		return "", clientgo.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// VersionOf returns the resourceVersion of obj. ok is false when obj has no metadata.
func VersionOf(obj any) (rv string, ok bool) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", false
	}
	return accessor.GetResourceVersion(), true
}

// OriginOf returns what obj shows: nothing if it has no metadata.
func OriginOf(obj any) Origin {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return Origin{}
	}
	return Origin{accessor.GetResourceVersion(), string(accessor.GetUID())}
}

// NamespaceOf returns the namespace of obj, and an error when obj has no metadata.
func NamespaceOf(obj any) (string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", fmt.Errorf("object has no meta: %w", err)
	}
	return accessor.GetNamespace(), nil
}

// LaterVersion returns the resourceVersion to hold after seeing seen while holding held: the
// greater one when the two can be compared, else the one seen last.
func LaterVersion(held, seen string) string {
	if len(seen) > len(held) || len(seen) == len(held) && seen >= held {
		return seen // whether it is the greater number or none at all
	}
	if order, err := resourceversion.CompareResourceVersion(held, seen); err == nil && order > 0 {
		return held
	}
	return seen
}

// KeyFinder returns the string of a key that it holds. It does not keep text.
type KeyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// Wrapping is what a queue looks into for the object that the key function gets. Each queue takes
// what client-go's does.
type Wrapping int

const (
	_               Wrapping = iota // nothing
	OpensTombstones                 // DeltaFIFO: Deltas, a DeletedFinalStateUnknown, and one in Deltas
	OpensDeltas                     // RealFIFO: these and a Delta
)

// open returns the object, or the tombstone, in what may wrap it.
func (w Wrapping) open(obj any) (inside any, err error) {
	if w < OpensTombstones {
		return obj, nil
	}
	if wrapped, ok := obj.(clientgo.Deltas); ok {
		if len(wrapped) == 0 {
			return nil, clientgo.KeyError{Obj: obj, Err: clientgo.ErrZeroLengthDeltasObject}
		}
		obj = wrapped.Newest().Object
	}
	if wrapped, ok := obj.(clientgo.Delta); ok && w >= OpensDeltas {
		obj = wrapped.Object
	}
	return obj, nil
}

// recentKeys holds the strings of keys that events came for, so that the next event for the same
// object finds its key there. Most queues see events of few objects; when there are more than
// maxRecentKeys it starts again. Any number of goroutines may use it.
type recentKeys struct {
	mu struct {
		sync.Mutex
		keys map[string]string
	}
}

// maxRecentKeys costs at most some 400 KiB, keys included. With more objects than that in motion
// the cost is that of not having it: an allocation an event.
const maxRecentKeys = 4096

// stackKey is a length that most keys do not exceed. Longer ones cost an allocation more.
const stackKey = 128

// key returns namespace/name as a string.
func (r *recentKeys) key(namespace, name string) string {
	var buffer [stackKey]byte
	key := append(append(append(buffer[:0], namespace...), '/'), name...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.mu.keys[string(key)]; ok {
		return known
	}
	if r.mu.keys == nil {
		r.mu.keys = map[string]string{}
	} else if len(r.mu.keys) >= maxRecentKeys {
		clear(r.mu.keys)
	}
	text := string(key)
	r.mu.keys[text] = text
	return text
}
