// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
)

// keyReader computes the keys of a queue, once for each event: the key travels with the event from there on. For the usual
// key function it puts the key together on the stack and looks for the string that is there already, so that an update of a
// known object allocates nothing: in the store that the queue is for, else among the keys of earlier events. The strings of
// first events are new: the store is going to keep them.
type keyReader struct {
	keyFunc KeyFunc
	usual   bool      // keyFunc is MetaNamespaceKeyFunc
	opens   wrapping  // what an object may come in
	known   keyFinder // where the keys of events go; then one goroutine asks. nil: nowhere that is known

	text []byte // memory of usualKey, with known

	mu struct {
		sync.Mutex
		recent recentKeys
	}
}

// keyFinder returns the string of a key that it holds. It does not keep text.
type keyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// wrapping is what a queue looks into for the object that the key function gets. Each queue takes what client-go's does.
type wrapping int

const (
	opensNothing    wrapping = iota // FIFO
	opensTombstones                 // DeltaFIFO: Deltas, a DeletedFinalStateUnknown, and one in Deltas
	opensDeltas                     // RealFIFO: these and a Delta
)

// stackKey is a length that most keys do not exceed. Longer ones cost an allocation more.
const stackKey = 128

// init sets the key function. usual says that it is MetaNamespaceKeyFunc.
func (r *keyReader) init(keyFunc KeyFunc, usual bool) { r.keyFunc, r.usual = keyFunc, usual }

// keyOf returns the key of an object or of what wraps one. Its error is a KeyError about what was given, also for a key
// function that panics.
//
// again tells that there may have been an event for the same object before.
func (r *keyReader) keyOf(obj any, again bool) (string, error) {
	key, err := r.read(obj, again)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// read is keyOf with the error that the key function returned.
func (r *keyReader) read(obj any, again bool) (string, error) {
	if r.opens >= opensTombstones {
		if wrapped, ok := obj.(Deltas); ok {
			if len(wrapped) == 0 {
				return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
			}
			obj = wrapped.Newest().Object
		}
		if wrapped, ok := obj.(Delta); ok && r.opens >= opensDeltas {
			obj = wrapped.Object
		}
		if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
			return tombstone.Key, nil
		}
	}
	if r.usual {
		if key, ok := r.usualKey(obj, again); ok {
			return key, nil
		}
	}
	return r.call(obj)
}

func (r *keyReader) call(obj any) (key string, err error) {
	defer func() {
		if p := recover(); p != nil {
			key, err = "", fmt.Errorf("key function panicked: %v", p)
		}
	}()
	if isNil(obj) {
		return "", errNilObject
	}
	return r.keyFunc(obj)
}

// usualKey is MetaNamespaceKeyFunc for objects with metadata.
func (r *keyReader) usualKey(obj any, again bool) (key string, ok bool) {
	if _, explicit := obj.(ExplicitKey); explicit {
		return "", false
	}
	accessor, err := meta.Accessor(obj)
	if err != nil || isNil(obj) {
		return "", false
	}
	namespace, name := accessor.GetNamespace(), accessor.GetName()
	switch {
	case namespace == "":
		return name, true
	case !again:
		return namespace + "/" + name, true
	}
	if r.known != nil {
		return r.knownKey(namespace, name), true
	}
	var buffer [stackKey]byte
	text := append(append(append(buffer[:0], namespace...), '/'), name...)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.recent.text(text), true
}

// knownKey returns the key as it is known, or a new string.
func (r *keyReader) knownKey(namespace, name string) string {
	r.text = append(append(append(r.text[:0], namespace...), '/'), name...)
	if key, ok := r.known.Key(r.text); ok {
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
