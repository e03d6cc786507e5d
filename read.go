// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
)

// Snapshot is a store as it was at one moment: every call answers from the same state, whatever is
// written meanwhile. It may be used by any number of goroutines. The objects are shared with the
// store: never change one.
//
// Taking one costs about a microsecond, whatever the size of the store. While it is open, the
// objects that it sees and the store has replaced or deleted since are kept in memory, and nothing
// more. Close lets go of them; one that is forgotten is closed when the garbage collector finds it,
// and counted in SnapshotStats. After Close, reads find nothing, and those that return an error
// return ErrSnapshotClosed.
type Snapshot interface {
	// ResourceVersion returns the resourceVersion of the state. A later snapshot may have an older
	// one, with the state that a server has after a backup of it was put back.
	ResourceVersion() string
	// Len returns the number of objects.
	Len() int
	// Get returns the object under key.
	Get(key string) (obj interface{}, exists bool)
	// List returns all objects in no particular order, in a slice of the caller's own.
	List() []interface{}
	// ByIndex returns the objects whose values in the index contain value, in a slice of the
	// caller's own.
	ByIndex(index, value string) ([]interface{}, error)
	// All yields every key and object, without copying. The body of the loop may do anything.
	All() iter.Seq2[string, interface{}]
	// ByIndexSeq yields the key and object of each member of ByIndex, without copying.
	ByIndexSeq(index, value string) (iter.Seq2[string, interface{}], error)
	// Close lets go of the state. Closing again does nothing.
	Close()

	sealed() // only this package implements it, so that later versions may add methods
}

// SnapshotStats describes the snapshots of a store.
type SnapshotStats struct {
	// snapshots that are not closed, and loops over All or ByIndexSeq in progress
	Open      int
	Oldest    time.Time // when the oldest of them was taken; zero if there is none
	Forgotten uint64    // how many were closed by the garbage collector
	Kept      int       // superseded objects that are kept for them, or were until just now
}

var (
	// ErrForeignStore says that a store is none of this package, so that it has no snapshots.
	ErrForeignStore = errors.New("not a store of this package")
	// ErrSnapshotClosed says that a snapshot was read after its Close.
	ErrSnapshotClosed = table.ErrClosed
)

// SnapshotOf returns the present state of a store, or of the store of an informer, however these
// are handed out: as a typed indexer, a typed informer, an informer of controller-runtime's cache
// (see StatusOf). The caller closes it. The error is ErrForeignStore for a store, or an informer,
// of another package.
func SnapshotOf(storeOrInformer any) (Snapshot, error) {
	own := storeBehind(storeOrInformer)
	if own == nil {
		return nil, fmt.Errorf("snapshot of a %T: %w", storeOrInformer, ErrForeignStore)
	}
	return storeSnapshot{own.objects.table.Snapshot()}, nil
}

// SnapshotStatsOf describes the snapshots of what SnapshotOf takes. ok is false for a store, or an
// informer, of another package.
func SnapshotStatsOf(storeOrInformer any) (stats SnapshotStats, ok bool) {
	own := storeBehind(storeOrInformer)
	if own == nil {
		return SnapshotStats{}, false
	}
	return SnapshotStats(own.objects.table.Snapshots()), true
}

// storeSnapshot gives a table's snapshot the exported names and errors.
type storeSnapshot struct{ of *table.Snapshot }

func (s storeSnapshot) ResourceVersion() string { return s.of.RV() }

func (s storeSnapshot) Len() int { return s.of.Len() }

func (s storeSnapshot) Get(key string) (obj any, exists bool) { return s.of.Get(key) }

func (s storeSnapshot) List() []any { return s.of.List() }

func (s storeSnapshot) All() iter.Seq2[string, any] { return s.of.All() }

func (s storeSnapshot) Close() { s.of.Close() }

func (storeSnapshot) sealed() {}

func (s storeSnapshot) ByIndex(index, value string) ([]any, error) {
	objects, err := s.of.ByIndex(index, value)
	return objects, indexError(index, err)
}

func (s storeSnapshot) ByIndexSeq(index, value string) (iter.Seq2[string, any], error) {
	members, err := s.of.ByIndexSeq(index, value)
	return members, indexError(index, err)
}

// All yields every key and object of a store, in no particular order. With a store of this package
// that is the state at the beginning of the loop, without copying; the body may do anything, also
// write to the store. A store of another package is asked for its keys and then for each object, so
// that what changes meanwhile may or may not be seen. The loop holds the state as an open Snapshot
// does: a caller of iter.Pull must call its stop function.
func All(s Store) iter.Seq2[string, interface{}] {
	if own := storeOf(s); own != nil {
		return own.objects.table.All()
	}
	return func(yield func(string, any) bool) { yieldKeys(s, s.ListKeys(), yield) }
}

// ByIndexSeq yields the key and object of each member of s.ByIndex(index, value), as All does.
func ByIndexSeq(s Indexer, index, value string) (iter.Seq2[string, interface{}], error) {
	if own := storeOf(s); own != nil {
		members, err := own.objects.table.ByIndexSeq(index, value)
		return members, indexError(index, err)
	}
	keys, err := s.IndexKeys(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(string, any) bool) { yieldKeys(s, keys, yield) }, nil
}

func yieldKeys(s Store, keys []string, yield func(string, any) bool) {
	for _, key := range keys {
		if obj, exists, err := s.GetByKey(key); err == nil && exists && !yield(key, obj) {
			return
		}
	}
}

// Len returns the number of objects in a store, at once with a store of this package and by its
// list of keys with others.
func Len(s Store) int {
	if own := storeOf(s); own != nil {
		return own.objects.table.Len()
	}
	return len(s.ListKeys())
}

// Count returns the number of objects that s.ByIndex(index, value) returns, without listing them if
// the store is of this package.
func Count(s Indexer, index, value string) (int, error) {
	if own := storeOf(s); own != nil {
		n, err := own.objects.table.Count(index, value)
		return n, indexError(index, err)
	}
	keys, err := s.IndexKeys(index, value)
	return len(keys), err
}

// TypedAll is All for objects of type T, the type that is stored: a pointer, as in
// TypedAll[*corev1.Pod]. An object of another type is left out. The types of the API themselves are
// not comparable, so that a forgotten asterisk does not compile; where T is another type, and
// pointers to it are stored, each loop reports that once to the ErrorHandlers of
// k8s.io/apimachinery/pkg/util/runtime.
func TypedAll[T comparable](s Store) iter.Seq2[string, T] { return typed[T](All(s)) }

// TypedByIndexSeq is ByIndexSeq for objects of type T, as TypedAll has them.
func TypedByIndexSeq[T comparable](s Indexer, index, value string) (iter.Seq2[string, T], error) {
	members, err := ByIndexSeq(s, index, value)
	if err != nil {
		return nil, err
	}
	return typed[T](members), nil
}

// TypedGet returns the object of type T under key, T being as for TypedAll. ok is false if there is
// none, or it is of another type.
func TypedGet[T comparable](s KeyGetter, key string) (obj T, ok bool) {
	stored, exists, err := s.GetByKey(key)
	if err != nil || !exists {
		return obj, false
	}
	if obj, ok = stored.(T); !ok {
		reportPointer[T](stored)
	}
	return obj, ok
}

func typed[T any](objects iter.Seq2[string, any]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		reported := false
		for key, obj := range objects {
			t, ok := obj.(T)
			if !ok {
				reported = reported || reportPointer[T](obj)
				continue
			}
			if !yield(key, t) {
				return
			}
		}
	}
}

// reportPointer reports a typed read of T where obj, a pointer to one, was found. It returns false
// if obj is none.
func reportPointer[T any](obj any) bool {
	_, ok := obj.(*T)
	if ok {
		t := reflect.TypeFor[T]()
		event.Report(context.Background(), fmt.Errorf("a typed read finds no %v, because the store has pointers to it: use [*%v]", t, t), "Nothing was read")
	}
	return ok
}
