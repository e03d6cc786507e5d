// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WatchListMode says what a source makes of a watch that asks for its initial
// events (SendInitialEvents).
type WatchListMode int

const (
	// WatchListServed streams the state, the bookmark that ends it, and what
	// follows. While a source knows no type for the bookmark (see
	// Options.Example) it refuses instead.
	WatchListServed WatchListMode = iota
	// WatchListUnsupported makes IsWatchListSemanticsUnSupported true, as fake
	// clientsets do, so that clients do not ask. A request is refused all the same.
	WatchListUnsupported
	// WatchListRefused answers 422 Invalid, as an API server does that has the
	// feature off: clients fall back on a list.
	WatchListRefused
	// WatchListIgnored serves a plain watch in its place, as an API server does
	// that is too old to know the option: the ending bookmark never comes.
	WatchListIgnored
)

// Options of a source. The zero value serves any kind, as metav1.List.
type Options struct {
	// Objects is the state at the start. They get resourceVersions in this
	// order, as if created one by one.
	Objects []runtime.Object

	// Example is an object of the kind served: bookmarks are new objects of its
	// type, with its apiVersion and kind. If nil, it is found from NewList,
	// otherwise it is the first object written.
	Example runtime.Object
	// NewList returns an empty list for an answer, such as &corev1.PodList{}.
	// If nil, answers are *unstructured.UnstructuredList if the example is
	// unstructured, otherwise *metav1.List.
	NewList func() runtime.Object

	// ResourceVersion is the counter's start: the first write gets the next
	// one. 0 means 1, as in etcd, so that no list is ever at "0".
	ResourceVersion uint64

	// Fields are what field selectors can name besides metadata.name and
	// metadata.namespace, such as "spec.nodeName", each with a function that
	// returns its value in an object. The function must not use the source.
	Fields map[string]func(obj runtime.Object) string

	// WatchList says how a request for initial events is answered.
	WatchList WatchListMode
	// NoWatchCache makes lists at resourceVersion "0" honor their limit, as
	// an API server without a watch cache does. Otherwise they come whole.
	NoWatchCache bool
	// FailAtStart returns an expired or too large resourceVersion as an error
	// of the Watch call. Otherwise it is an ERROR event, the first and last of
	// its stream, as an API server does it.
	FailAtStart bool
	// HonorTimeout ends a stream after its TimeoutSeconds. Otherwise streams
	// have no end of their own, and a test that waits for something that never
	// happens deadlocks, which synctest reports, in place of going on for ever.
	HonorTimeout bool

	// Share delivers the stored objects themselves, and stores the objects
	// written without copying them: for benchmarks. The writer gives up the
	// object, and nobody may change it. Each update counts as a change, also if it
	// changes nothing. Otherwise the source copies objects on the way in and out.
	Share bool
	// Buffer is the capacity of each stream's channel.
	Buffer int

	// Version identifies one version of an object, for Settle. When nil it is
	// the resourceVersion. An informer whose transform clears that needs
	// something else that each write changes and the transform keeps.
	Version func(obj metav1.Object) string
}

func (o *Options) setDefaults() {
	if o.ResourceVersion == 0 {
		o.ResourceVersion = 1
	}
	if o.Version == nil {
		o.Version = metav1.Object.GetResourceVersion
	}
	if o.Example == nil && o.NewList != nil {
		o.Example = exampleFromList(o.NewList())
	}
}
