// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"
)

// Transformer calls the transform function of a queue, exactly once for each received object,
// including deletions of a watch. Tombstones and the objects of a resync were not received.
//
// If an object cannot be transformed, or is Undecodable, the store keeps the cached version. The key of
// the object is then behind, until a later version passes, a Replace does not contain the object, or the
// object is deleted.
type Transformer struct {
	Function   clientgo.TransformFunc // may be nil
	KeepCached bool                   // a Replace continues without objects that cannot be transformed; otherwise it fails

	lags atomic.Bool // whether a key is behind
	mu   struct {
		sync.Mutex
		behind map[string]*Undecodable // what is behind, by key; nil: the transform function failed
		listed map[string]*Undecodable // the same of the list that is being received; see Replaced
		failed uint64                  // the number of failed calls
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

// isIdle reports whether pass would do nothing with an object that is not of a list.
func (t *Transformer) isIdle(obj any) bool {
	_, bad := obj.(*Undecodable)
	return t.Function == nil && !bad && !t.lags.Load()
}

// pass transforms a received object. called reports whether the function was called.
func (t *Transformer) pass(key string, obj any, as occasion) (stored any, called bool, err error) {
	stored = obj
	bad, undecodable := obj.(*Undecodable)
	_, isTombstone := obj.(clientgo.DeletedFinalStateUnknown)
	switch {
	case undecodable:
		stored, err = nil, bad
	case !isTombstone && t.Function != nil:
		stored, err = t.Call(obj)
		called = true
	}
	if err == nil && (as == listed || !t.lags.Load()) {
		return stored, called, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case as == gone, err == nil:
		delete(t.mu.behind, key)
	case as == seen, !t.keeps(err):
		add(&t.mu.behind, key, bad)
	default:
		add(&t.mu.listed, key, bad)
	}
	if called && err != nil {
		t.mu.failed++
		t.mu.last = Retainable(Redacted(err))
	}
	t.lags.Store(len(t.mu.behind) > 0)
	return stored, called, err
}

// keeps reports whether a full list continues after the refusal of an object.
func (t *Transformer) keeps(err error) bool { return t.KeepCached || isUndecodable(err) }

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

func add(to *map[string]*Undecodable, key string, bad *Undecodable) {
	if *to == nil {
		*to = map[string]*Undecodable{}
	}
	(*to)[key] = bad
}

// Replaced records that a Replace succeeded for all objects but those with the given keys.
func (t *Transformer) Replaced(except []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.behind = nil
	for _, key := range except {
		add(&t.mu.behind, key, t.mu.listed[key])
	}
	t.mu.listed = nil
	t.lags.Store(len(t.mu.behind) > 0)
}

// Behind returns the set of the keys of the objects that are behind. It returns nil for a nil
// Transformer.
func (t *Transformer) Behind() map[string]struct{} {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	behind := make(map[string]struct{}, len(t.mu.behind))
	for key := range t.mu.behind {
		behind[key] = struct{}{}
	}
	return behind
}

// Undecodable returns the objects that are behind because they cannot be decoded, in no order. It returns
// nil for a nil Transformer.
func (t *Transformer) Undecodable() (all []*Undecodable) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, bad := range t.mu.behind {
		if bad != nil {
			all = append(all, bad)
		}
	}
	return all
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

// Counts returns the number of objects that are behind because the function refused them, the number of
// failed calls, and the last error. It returns zeros for a nil Transformer.
func (t *Transformer) Counts() (behind int, failed uint64, last error) {
	if t == nil {
		return 0, 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, bad := range t.mu.behind {
		if bad == nil {
			behind++
		}
	}
	return behind, t.mu.failed, t.mu.last
}
