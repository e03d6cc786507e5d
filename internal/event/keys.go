// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"
)

// Keys computes the keys of a queue, once for each event: the key travels with the event from there on. For the usual
// key function it puts the key together on the stack and looks for the string that is there already, so that an update of a
// known object allocates nothing: in the store that the queue is for, else among the keys of earlier events. The strings of
// first events are new: the store is going to keep them.
type Keys struct {
	keyFunc clientgo.KeyFunc
	Usual   bool      // KeyFunc is MetaNamespaceKeyFunc
	Opens   Wrapping  // what an object may come in
	Known   KeyFinder // where the keys of events go; then one goroutine asks. nil: nowhere that is known

	text []byte // memory of usualKey, with known

	mu struct {
		sync.Mutex
		recent recentKeys
	}
}

// KeyFinder returns the string of a key that it holds. It does not keep text.
type KeyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// Wrapping is what a queue looks into for the object that the key function gets. Each queue takes what client-go's does.
type Wrapping int

const (
	OpensNothing    Wrapping = iota // FIFO
	OpensTombstones                 // DeltaFIFO: Deltas, a DeletedFinalStateUnknown, and one in Deltas
	OpensDeltas                     // RealFIFO: these and a Delta
)

// StackKey is a length that most keys do not exceed. Longer ones cost an allocation more.
const StackKey = 128

// Init sets the key function; nil is MetaNamespaceKeyFunc. usual says that it is that function, by another name.
func (r *Keys) Init(keyFunc clientgo.KeyFunc, usual bool) {
	if keyFunc == nil {
		keyFunc, usual = clientgo.MetaNamespaceKeyFunc, true
	}
	r.keyFunc, r.Usual = keyFunc, usual
}

// KeyOf returns the key of an object or of what wraps one. Its error is a KeyError about what was given, also for a key
// function that panics.
//
// again tells that there may have been an event for the same object before.
func (r *Keys) KeyOf(obj any, again bool) (string, error) {
	key, err := r.Read(obj, again)
	if err != nil {
		return "", clientgo.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// Read is KeyOf with the error that the key function returned.
func (r *Keys) Read(obj any, again bool) (string, error) {
	if r.Opens >= OpensTombstones {
		if wrapped, ok := obj.(clientgo.Deltas); ok {
			if len(wrapped) == 0 {
				return "", clientgo.KeyError{Obj: obj, Err: clientgo.ErrZeroLengthDeltasObject}
			}
			obj = wrapped.Newest().Object
		}
		if wrapped, ok := obj.(clientgo.Delta); ok && r.Opens >= OpensDeltas {
			obj = wrapped.Object
		}
		if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
			return tombstone.Key, nil
		}
	}
	if r.Usual {
		if key, ok := r.usualKey(obj, again); ok {
			return key, nil
		}
	}
	return r.call(obj)
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
	if _, explicit := obj.(clientgo.ExplicitKey); explicit {
		return "", false
	}
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
	}
	if r.Known != nil {
		return r.knownKey(namespace, name), true
	}
	var buffer [StackKey]byte
	text := append(append(append(buffer[:0], namespace...), '/'), name...)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.recent.text(text), true
}

// knownKey returns the key as it is known, or a new string.
func (r *Keys) knownKey(namespace, name string) string {
	r.text = append(append(append(r.text[:0], namespace...), '/'), name...)
	if key, ok := r.Known.Key(r.text); ok {
		return key
	}
	return string(r.text)
}

// recentKeys holds the strings of keys that events came for, so that the next event for the same object finds its key there.
// Most queues see events of few objects; when there are more than maxRecentKeys it starts again.
type recentKeys map[string]string

// maxRecentKeys costs at most some 400 KiB, keys included. With more objects than that in motion the cost is that of not
// having it: an allocation an event.
const maxRecentKeys = 4096

// text returns key as a string.
func (r *recentKeys) text(key []byte) string {
	if known, ok := (*r)[string(key)]; ok {
		return known
	}
	if *r == nil {
		*r = recentKeys{}
	} else if len(*r) >= maxRecentKeys {
		clear(*r)
	}
	text := string(key)
	(*r)[text] = text
	return text
}
