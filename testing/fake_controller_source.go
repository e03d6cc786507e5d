// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework has sources of objects for tests of informers: ListerWatchers whose objects the
// test sets. Its names and its implementations are those of k8s.io/client-go/tools/cache/testing.
// Package cachetest has a source with more features.
//
//	source := framework.NewFakeControllerSource()
//	source.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
//	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
//	go informer.RunWithContext(ctx)
//
// A source numbers its changes, and sets the number as the resourceVersion of the object. A watch from
// an earlier number replays the changes since. Add, Modify and Delete have variants with the suffix
// DropWatch: these change the content without an event on running watches, as if the connection had
// lost it. ResetWatch ends all watches and discards the past, so that a reflector has to list again.
// All methods may be called concurrently, but none after Shutdown, which leaves the source locked.
package framework

import clientgo "k8s.io/client-go/tools/cache/testing"

// FakeControllerSource holds objects of any kind and lists them as a v1.List. List fails with
// ListError while that is set. It is client-go's type.
type FakeControllerSource = clientgo.FakeControllerSource

// NewFakeControllerSource returns an empty source.
func NewFakeControllerSource() *FakeControllerSource {
	return clientgo.NewFakeControllerSource()
}

// FakePVControllerSource is a FakeControllerSource of persistent volumes, listed as their own list
// type. List ignores ListError.
type FakePVControllerSource = clientgo.FakePVControllerSource

// NewFakePVControllerSource returns an empty source of persistent volumes.
func NewFakePVControllerSource() *FakePVControllerSource {
	return clientgo.NewFakePVControllerSource()
}

// FakePVCControllerSource is a FakeControllerSource of persistent volume claims, listed as their
// own list type. List ignores ListError.
type FakePVCControllerSource = clientgo.FakePVCControllerSource

// NewFakePVCControllerSource returns an empty source of persistent volume claims.
func NewFakePVCControllerSource() *FakePVCControllerSource {
	return clientgo.NewFakePVCControllerSource()
}
