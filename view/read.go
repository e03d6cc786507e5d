// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
)

// All yields every key and object of a store, in no particular order. For a store of package cache
// this is the state at the beginning of the loop, without copying; the body may do anything,
// including writes to the store. For a store of another package, All lists the keys and then gets
// each object, so that changes during the loop may or may not be seen. The loop holds the state
// like an open Snapshot: a caller of iter.Pull must call its stop function.
func All(s clientgo.Store) iter.Seq2[string, any] {
	if own := beside.TableOf(s); own != nil {
		return own.All()
	}
	return func(yield func(string, any) bool) { yieldKeys(s, s.ListKeys(), yield) }
}

// ByIndex yields the key and object of each member of s.ByIndex(index, value), as All does. The error is
// that of an index that the store does not have.
func ByIndex(s clientgo.Indexer, index, value string) (iter.Seq2[string, any], error) {
	if own := beside.TableOf(s); own != nil {
		return own.ByIndexSeq(index, value)
	}
	keys, err := s.IndexKeys(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(string, any) bool) { yieldKeys(s, keys, yield) }, nil
}

func yieldKeys(s clientgo.Store, keys []string, yield func(string, any) bool) {
	for _, key := range keys {
		if obj, exists, err := s.GetByKey(key); err == nil && exists && !yield(key, obj) {
			return
		}
	}
}

// Len returns the number of objects in a store. It is constant-time for a store of package cache,
// and lists the keys of others.
func Len(s clientgo.Store) int {
	if own := beside.TableOf(s); own != nil {
		return own.Len()
	}
	return len(s.ListKeys())
}

// Count returns the number of objects that s.ByIndex(index, value) returns, without listing them if
// the store belongs to package cache. The error is that of ByIndex.
func Count(s clientgo.Indexer, index, value string) (int, error) {
	if own := beside.TableOf(s); own != nil {
		return own.Count(index, value)
	}
	keys, err := s.IndexKeys(index, value)
	return len(keys), err
}

// TypedAll is All for objects of type T, the stored type: a pointer, as in TypedAll[*corev1.Pod].
// Objects of other types are left out. API types themselves are not comparable, so that a forgotten
// asterisk does not compile. If T is another type, and the store has pointers to it, each loop
// reports this once to the ErrorHandlers of k8s.io/apimachinery/pkg/util/runtime.
func TypedAll[T comparable](s clientgo.Store) iter.Seq2[string, T] { return typed[T](All(s)) }

// TypedByIndex is ByIndex for objects of type T, as in TypedAll.
func TypedByIndex[T comparable](s clientgo.Indexer, index, value string) (iter.Seq2[string, T], error) {
	members, err := ByIndex(s, index, value)
	if err != nil {
		return nil, err
	}
	return typed[T](members), nil
}

// TypedGet returns the object of type T, as in TypedAll, under key. ok is false if there is none,
// or if it has another type.
func TypedGet[T comparable](s clientgo.KeyGetter, key string) (obj T, ok bool) {
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

// reportPointer reports a typed read of T if obj is a pointer to T, and reports whether it is.
func reportPointer[T any](obj any) bool {
	_, ok := obj.(*T)
	if ok {
		t := reflect.TypeFor[T]()
		event.Report(context.Background(), fmt.Errorf("a typed read finds no %v, because the store has pointers to it: use [*%v]", t, t), "Nothing was read")
	}
	return ok
}
