// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ours becomes part of the rewritten tests when they run against this project: it declares
// the helpers by which client-go's tests look inside an informer. Our informer answers them through
// optional methods.
//
//lint:file-ignore U1000 the rewritten tests use these names, nothing here does
package ours

import "github.com/kinformer/cache"

func isStarted(i cache.SharedInformer) bool {
	return i.(interface{ HasStarted() bool }).HasStarted()
}

func eventHandlerCount(i cache.SharedInformer) int {
	return i.(interface{ EventHandlerCount() int }).EventHandlerCount()
}

func isRegistered(i cache.SharedInformer, h cache.ResourceEventHandlerRegistration) bool {
	return i.(interface {
		IsRegistered(cache.ResourceEventHandlerRegistration) bool
	}).IsRegistered(h)
}

// closedMsg is the text of the error that a closed heap answers with.
var closedMsg = func() string {
	h := cache.NewHeap(cache.MetaNamespaceKeyFunc, func(any, any) bool { return false })
	h.Close()
	_, err := h.Pop()
	return err.Error()
}()
