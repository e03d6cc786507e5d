// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WatchListMode is the response of a source to a watch that requests its initial events
// (SendInitialEvents).
type WatchListMode int

const (
	// WatchListServed streams the state, the bookmark that ends it, and later events. While a source
	// does not know the type of the bookmark (see Options.Example) it refuses instead.
	WatchListServed WatchListMode = iota
	// WatchListUnsupported makes IsWatchListSemanticsUnSupported true, as fake clientsets do, so that
	// clients do not request initial events. A request is refused nevertheless.
	WatchListUnsupported
	// WatchListRefused answers 422 Invalid, like an API server with the feature disabled: clients fall
	// back on a list.
	WatchListRefused
	// WatchListIgnored serves a plain watch instead, like an API server that is too old for the option:
	// the ending bookmark is never sent.
	WatchListIgnored
)

// Options of a source. The zero value serves any kind, as metav1.List.
type Options struct {
	// Objects is the initial state. The objects get resourceVersions in this order, as if created one
	// by one.
	Objects []runtime.Object

	// Example is an object of the kind served: bookmarks are new objects of its type, with its
	// apiVersion and kind. If nil, it is derived from NewList, otherwise it is the first object
	// written.
	Example runtime.Object
	// NewList returns an empty list for a response, such as &corev1.PodList{}. If nil, responses are
	// *unstructured.UnstructuredList if the example is unstructured, otherwise *metav1.List.
	NewList func() runtime.Object

	// ResourceVersion is the initial value of the counter: the first write gets the next one. 0 means
	// 1, as in etcd, so that no list is ever at "0".
	ResourceVersion uint64

	// Fields are the fields for field selectors besides metadata.name and metadata.namespace, such as
	// "spec.nodeName", each with a function that returns its value in an object. The function must not
	// use the source.
	Fields map[string]func(obj runtime.Object) string

	// WatchList is the response to a request for initial events.
	WatchList WatchListMode
	// NoWatchCache makes lists at resourceVersion "0" honor their limit, like an API server without a
	// watch cache. Otherwise these lists have one page.
	NoWatchCache bool
	// FailAtStart returns an expired or too large resourceVersion as an error of the Watch call.
	// Otherwise it is an ERROR event, the first and last of its stream, as with an API server.
	FailAtStart bool
	// HonorTimeout ends a stream after its TimeoutSeconds. Otherwise streams do not end by themselves,
	// and a test that waits for an event that never happens deadlocks, which synctest reports, instead
	// of running forever.
	HonorTimeout bool

	// Share delivers the stored objects themselves, and stores the objects of writers without copying
	// them: for benchmarks. After the write the object must not be modified, not even by the writer.
	// Each update counts as a change, also if it changes nothing. Otherwise the source copies objects
	// on the way in and out.
	Share bool
	// Buffer is the capacity of each stream's channel.
	Buffer int

	// Version returns a value that identifies one version of an object, for Settle. If nil, it is the
	// resourceVersion. For an informer whose transform removes that, Version must return a value that
	// each write changes and the transform keeps.
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
