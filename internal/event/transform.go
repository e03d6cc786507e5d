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

// Transformer calls the transform function of a queue, exactly once for each received object,
// including deletions of a watch. Tombstones and the objects of a resync were not received.
//
// If an object cannot be transformed, the store keeps the cached version. The key of the object is
// then behind, until a later version passes, a Replace does not contain the object, or the object
// is deleted.
type Transformer struct {
	Function   clientgo.TransformFunc // may be nil
	KeepCached bool                   // a Replace continues without objects that cannot be transformed; otherwise it fails

	mu struct {
		sync.Mutex
		behind map[string]struct{}
		failed uint64 // the number of failed calls
		last   error
	}
}

// occasion is the way in which an object was received.
type occasion uint8

const (
	seen   occasion = iota // by a watch, or individually
	gone                   // the last state of a deleted object, which cannot be behind
	listed                 // in a full list, which may remain incomplete; Replaced is called if it is complete
)

// pass transforms a received object. called reports whether the function was called.
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
		t.mu.last = Retainable(Redacted(err))
	}
	return stored, called, err
}

// Call calls the function, for objects that are stored and others. It returns a panic as an error.
func (t *Transformer) Call(obj any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("transform function panicked: %v", p)
		}
	}()
	return Transformed(t.Function, obj)
}

// ErrNilTransformed is the error of a transform function that returns neither an object nor an
// error. Readers of a store do not expect nil. A selector can leave out unwanted objects.
var ErrNilTransformed = errors.New("transform function returned nil without an error: it must return an object, a smaller one if need be")

// Transformed calls the function. Unless it returns an error, the result is not nil, nor a nil
// value of any type.
func Transformed(transform clientgo.TransformFunc, obj any) (any, error) {
	result, err := transform(obj)
	if err == nil && isNothing(result) {
		return nil, ErrNilTransformed
	}
	return result, err
}

// isNothing reports whether v is nil or a nil value of a type such as a pointer or map.
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

// Replaced records that a Replace succeeded for all objects but those with the given keys.
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

// Behind returns a copy of the keys of the objects that are behind. It returns nil for a nil
// Transformer.
func (t *Transformer) Behind() map[string]struct{} {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.mu.behind)
}

// Absorb adds the failures of another Transformer, which is no longer in use.
func (t *Transformer) Absorb(over *Transformer) {
	_, failed, last := over.Counts()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.failed += failed; last != nil {
		t.mu.last = last
	}
}

// Counts returns the number of objects that are behind, the number of failed calls, and the last
// error. It returns zeros for a nil Transformer.
func (t *Transformer) Counts() (behind int, failed uint64, last error) {
	if t == nil {
		return 0, 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.behind), t.mu.failed, t.mu.last
}
