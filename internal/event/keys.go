// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// KeyFinder returns the string of a key that it holds. It does not keep text.
type KeyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// Wrapping is what a queue looks into for the object that the key function gets. Each queue takes
// what client-go's does.
type Wrapping int

const (
	OpensNothing    Wrapping = iota // FIFO
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

// StackKey is a length that most keys do not exceed. Longer ones cost an allocation more.
const StackKey = 128

// key returns namespace/name as a string.
func (r *recentKeys) key(namespace, name string) string {
	var buffer [StackKey]byte
	return r.text(append(append(append(buffer[:0], namespace...), '/'), name...))
}

// text returns the key as a string.
func (r *recentKeys) text(key []byte) string {
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
