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
// version are read once, when the object enters the queue.
type Record struct {
	Type    clientgo.DeltaType
	Key     string
	Version string // the resourceVersion as received, before a transform
	Object  any    // the object to store; a tombstone for synthetic deletions; nil for ReplacedAll, SyncAll and Bookmark
	State   any    // of a ReplacedAll: the full list; of others: the source, if there are several. Opaque to the queue

	Altered *Origin // the received metadata, if a transform changed it; otherwise nil
}

// Staging describes a state of a collection that is about to arrive.
type Staging struct {
	Size     int    // about the number of objects
	Streamed bool   // an object may come again in a later state, and may be removed; in a list neither happens
	Asked    string // the version that was asked for; a state at "0" may be of any age
	// Distrust means that the versions of cached objects are not trusted: objects that are not
	// identical to them count as changed, and identical ones are not reported to handlers at all.
	Distrust bool
	Stored   func() // called when the state is in the store; may be nil
}

// IsStored calls Stored, if there is one.
func (s *Staging) IsStored() {
	if s.Stored != nil {
		s.Stored()
	}
}

// Origin is the metadata of an object that identify it on the server, before a transform: its
// resourceVersion and UID.
type Origin struct{ Version, UID string }

// IsOfAnother reports whether o and other are known to be of two objects, whose UIDs differ.
func (o Origin) IsOfAnother(other Origin) bool {
	return o.UID != "" && other.UID != "" && o.UID != other.UID
}

// Keyed reports whether the record is about one object. Only such records are batched.
func (r *Record) Keyed() bool {
	switch r.Type {
	case clientgo.ReplacedAll, clientgo.SyncAll, clientgo.Bookmark:
		return false
	default:
		return true
	}
}

// LastState returns the object of the record, unwrapped if it is a tombstone.
func (r *Record) LastState() any {
	if tombstone, ok := r.Object.(clientgo.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return r.Object
}

// Lose makes a deletion lost, because its state is older than the stored one.
func (r *Record) Lose() {
	r.Object = clientgo.DeletedFinalStateUnknown{Key: r.Key}
	if r.Altered == nil {
		r.Altered = &Origin{}
	}
}

// Lost reports whether the record is a deletion whose last state could not be transformed or decoded, or is
// older than the stored one. Its object is a tombstone without an object.
func (r *Record) Lost() bool {
	if r.Altered == nil {
		return false
	}
	tombstone, ok := r.Object.(clientgo.DeletedFinalStateUnknown)
	return ok && tombstone.Obj == nil
}

// Refused is a change that a sink rejected, with the error.
type Refused struct {
	Type   clientgo.DeltaType
	Object any
	Err    error
}

// BatchLimit is the largest number of events in a batch. The first event of a batch waits for the
// others. At 256 the cost of a batch, a lock and perhaps a wake-up, is a few nanoseconds per event;
// larger batches have no measurable benefit.
const BatchLimit = 256

// Reader completes records: it reads the key of each object, once, and transforms the object. Its
// methods are for one goroutine at a time. Those of Keys and Transform are safe for concurrent use
// where their comments say so.
//
//  1. Keys computes the key of the received object.
//  2. Transform makes the object to store. It is not called without a transform function.
type Reader struct {
	Keys      Keys
	Transform Transformer
	Logger    klog.Logger
}

// Complete sets the fields that follow from the type and the received object. If a deletion cannot
// be transformed, or is Undecodable, the record is complete and Lost, and Complete returns the error.
func (r *Reader) Complete(rec *Record) error {
	if !rec.Keyed() {
		return nil
	}
	if err := r.ReadKey(rec); err != nil || r.Transform.isIdle(rec.Object) {
		return err
	}
	if rec.Type == clientgo.Deleted {
		return r.pass(rec, gone)
	}
	return r.pass(rec, seen)
}

func (r *Reader) pass(rec *Record, as occasion) (err error) {
	received, called := Origin{Version: rec.Version, UID: OriginOf(rec.Object).UID}, false
	rec.Object, called, err = r.Transform.pass(rec.Key, rec.Object, as)
	if rec.Altered = nil; called && err == nil && OriginOf(rec.Object) != received {
		altered := received // a copy, so that only altered objects allocate
		rec.Altered = &altered
	}
	if err != nil && as == gone {
		last := received
		rec.Object, rec.Altered = clientgo.DeletedFinalStateUnknown{Key: rec.Key}, &last
	}
	return err
}

// ReadKey sets the key.
func (r *Reader) ReadKey(rec *Record) (err error) {
	again := rec.Type == clientgo.Updated || rec.Type == clientgo.Deleted
	rec.Key, err = r.Keys.KeyOf(rec.Object, again)
	return err
}

// Keys computes the keys of a queue, once for each event. For MetaNamespaceKeyFunc it builds the
// key on the stack and looks up an existing string, in the store of the queue or among the keys of
// earlier events. So an update of a known object allocates nothing. An addition allocates its key,
// which the store keeps.
type Keys struct {
	keyFunc clientgo.KeyFunc
	Usual   bool      // keyFunc is MetaNamespaceKeyFunc
	Opens   Wrapping  // the wrappers that KeyOf unwraps
	Known   KeyFinder // finds existing keys; may be nil; if set, only one goroutine may call KeyOf

	text   []byte     // scratch memory of usualKey, used with Known
	recent recentKeys // used without Known
}

// Init sets the key function. nil means MetaNamespaceKeyFunc. usual means that keyFunc is that
// function under another name.
func (r *Keys) Init(keyFunc clientgo.KeyFunc, usual bool) {
	if keyFunc == nil {
		keyFunc, usual = clientgo.MetaNamespaceKeyFunc, true
	}
	r.keyFunc, r.Usual = keyFunc, usual
}

// KeyOf returns the key of an object or of its wrapper. The error, including the panic of a key
// function, is a KeyError about obj. again means that there may have been an event for the object
// before.
func (r *Keys) KeyOf(obj any, again bool) (string, error) {
	key, err := r.Read(obj, again)
	if err != nil {
		return "", clientgo.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// Read is KeyOf with the error of the key function itself.
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

// IsNil reports whether v is nil or an interface that holds a nil pointer.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// ErrNilObject is the error about the key of a nil object.
var ErrNilObject = errors.New("object is nil")

// KeyOf returns the key of obj. The error is a KeyError.
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

// VersionOf returns the resourceVersion of obj. ok is false if obj has no metadata.
func VersionOf(obj any) (rv string, ok bool) {
	accessor, err := meta.Accessor(obj)
	if err != nil || IsNil(obj) {
		return "", false
	}
	return accessor.GetResourceVersion(), true
}

// OriginOf returns the Origin in the metadata of obj, or the zero Origin if obj has none.
func OriginOf(obj any) Origin {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return Origin{}
	}
	return Origin{accessor.GetResourceVersion(), string(accessor.GetUID())}
}

// NamespaceOf returns the namespace of obj, or an error if obj has no metadata.
func NamespaceOf(obj any) (string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", fmt.Errorf("object has no meta: %w", err)
	}
	return accessor.GetNamespace(), nil
}

// LaterVersion returns the greater of two resourceVersions, or seen, the more recent one, if they
// cannot be compared. An event without a version says nothing about the version that was reached.
func LaterVersion(held, seen string) string {
	if seen == "" {
		return held
	}
	if len(seen) > len(held) || len(seen) == len(held) && seen >= held {
		return seen // seen is greater, or is not a number
	}
	if order, err := resourceversion.CompareResourceVersion(held, seen); err == nil && order > 0 {
		return held
	}
	return seen
}

// KeyFinder finds strings of existing keys. Key does not retain text.
type KeyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// Wrapping is the set of wrappers that a queue unwraps before it calls the key function. Each queue
// unwraps those of its counterpart in client-go.
type Wrapping int

const (
	_               Wrapping = iota // none
	OpensTombstones                 // DeltaFIFO: Deltas, a DeletedFinalStateUnknown, and one in Deltas
	OpensDeltas                     // RealFIFO: these and a Delta
)

// open returns the object, or the tombstone, in a wrapper.
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

// recentKeys holds the keys of recent events, so that the next event for an object finds the string
// of its key. Most queues receive events for few objects. When there are more than maxRecentKeys,
// recentKeys starts again. It is safe for concurrent use.
type recentKeys struct {
	mu struct {
		sync.Mutex
		keys map[string]string
	}
}

// maxRecentKeys bounds the memory to about 400 KiB, including the keys. With events for more
// objects, each costs an allocation, as without recentKeys.
const maxRecentKeys = 4096

// stackKey is the length, in bytes, that most keys do not exceed. A longer key costs another
// allocation.
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
