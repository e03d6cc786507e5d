// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// Transformer runs the transform function of a queue, exactly once for each object that is
// received, deletions of a watch included. Tombstones and what a resync brings back were never
// received.
//
// An object that cannot be transformed leaves the cached version where it is. The transformer
// remembers which objects are behind for that reason, until a later version of them passes, a
// Replace comes without them, or they are deleted.
type Transformer struct {
	Function   clientgo.TransformFunc // may be nil
	KeepCached bool                   // a Replace goes on without the objects that cannot be transformed, else it fails

	mu struct {
		sync.Mutex
		behind map[string]struct{}
		failed uint64 // calls
		last   error
	}
}

// occasion is how an object was received.
type occasion uint8

const (
	seen   occasion = iota // by a watch, or one by one
	gone                   // its last state, so that it cannot be behind
	listed                 // in a whole state, which may never be complete: Replaced tells if it is
)

// pass returns what is to be stored of an object as received, and whether the function was called
// for it.
func (t *Transformer) pass(key string, obj any, as occasion) (stored any, called bool, err error) {
	if _, isTombstone := obj.(clientgo.DeletedFinalStateUnknown); isTombstone || t.Function == nil {
		stored = obj
	} else {
		stored, err = t.Call(obj)
		called = true
	}
	if t.Function == nil || as == listed && err == nil {
		return stored, called, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case as == gone, err == nil:
		delete(t.mu.behind, key)
	case as == seen, !t.KeepCached:
		t.addLocked(key)
	}
	if err != nil {
		t.mu.failed++
		t.mu.last = Kept(Discreet(err))
	}
	return stored, called, err
}

// Call calls the function, also for an object that nobody stores. A panic is an error.
func (t *Transformer) Call(obj any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("transform function panicked: %v", p)
		}
	}()
	return Transformed(t.Function, obj)
}

// ErrNilTransformed is the error of a transform function that returns neither an object nor an
// error: nobody who reads a store expects a nil in it. Objects that are not wanted are to be left
// out by a selector.
var ErrNilTransformed = errors.New("transform function returned nil without an error: it must return an object, a smaller one if need be")

// Transformed calls the function. The object is not nil, of whatever type, unless there is an
// error.
func Transformed(transform clientgo.TransformFunc, obj any) (any, error) {
	result, err := transform(obj)
	if err == nil && isNothing(result) {
		return nil, ErrNilTransformed
	}
	return result, err
}

// isNothing reports whether v is nil, or a nil value of a type that has one.
func isNothing(v any) bool {
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return value.IsNil()
	default:
		return false
	}
}

func (t *Transformer) addLocked(key string) {
	if t.mu.behind == nil {
		t.mu.behind = map[string]struct{}{}
	}
	t.mu.behind[key] = struct{}{}
}

// Replaced notes that a Replace has succeeded for all but the given keys.
func (t *Transformer) Replaced(except []string) {
	if t.Function == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.mu.behind)
	for _, key := range except {
		t.addLocked(key)
	}
}

// Behind returns the keys of the objects that are behind, in a map of the caller's own; nil for a
// nil transformer.
func (t *Transformer) Behind() map[string]struct{} {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.mu.behind)
}

// Absorb adds the failures of another transformer, which is over.
func (t *Transformer) Absorb(over *Transformer) {
	_, failed, last := over.Counts()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.failed += failed; last != nil {
		t.mu.last = last
	}
}

// Counts returns how many objects are behind, how many calls have failed, and with what the last of
// them did; nothing for a nil transformer.
func (t *Transformer) Counts() (behind int, failed uint64, last error) {
	if t == nil {
		return 0, 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.behind), t.mu.failed, t.mu.last
}
