// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientgo becomes part of the rewritten tests when they run against client-go: the helpers
// by which its tests look inside an informer, written from outside.
//
//lint:file-ignore U1000 the rewritten tests use these names, nothing here does
package clientgo

import (
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/client-go/tools/cache"
)

func isStarted(i cache.SharedInformer) bool {
	return i.(interface{ HasStarted() bool }).HasStarted()
}

func eventHandlerCount(i cache.SharedInformer) (n int) {
	withListeners(i, func(listeners reflect.Value) { n = listeners.Len() })
	return n
}

func isRegistered(i cache.SharedInformer, h cache.ResourceEventHandlerRegistration) (found bool) {
	withListeners(i, func(listeners reflect.Value) {
		found = listeners.MapIndex(reflect.ValueOf(h)).IsValid()
	})
	return found
}

// withListeners calls f with the set of an informer's listeners, under the lock that guards it.
func withListeners(i cache.SharedInformer, f func(reflect.Value)) {
	processor := reflect.ValueOf(i).Elem().FieldByName("processor").Elem()
	mu := (*sync.RWMutex)(unsafe.Pointer(processor.FieldByName("listenersLock").UnsafeAddr()))
	mu.RLock()
	defer mu.RUnlock()
	f(processor.FieldByName("listeners"))
}

// closedMsg is the text of the error that a closed heap answers with.
var closedMsg = func() string {
	h := cache.NewHeap(cache.MetaNamespaceKeyFunc, func(any, any) bool { return false })
	h.Close()
	_, err := h.Pop()
	return err.Error()
}()
