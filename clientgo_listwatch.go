// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// List and watch: the two requests by which a collection is followed. New code implements and calls the
// forms with a context.
type (
	// Lister lists a collection. The result is an API list. A watch may begin at its resource version.
	Lister = clientgo.Lister

	// ListerWithContext is Lister with a context that cancels the request.
	ListerWithContext = clientgo.ListerWithContext

	// Watcher starts a watch. After an error, there is nothing to stop.
	Watcher = clientgo.Watcher

	// WatcherWithContext is Watcher with a context that cancels the request and the watch.
	WatcherWithContext = clientgo.WatcherWithContext

	// ListerWatcher is a Lister and a Watcher of the same collection. It should be a
	// ListerWatcherWithContext too.
	ListerWatcher = clientgo.ListerWatcher

	// ListerWatcherWithContext is a ListerWithContext and a WatcherWithContext of the same
	// collection.
	ListerWatcherWithContext = clientgo.ListerWatcherWithContext

	// ListWatch is a ListerWatcher and a ListerWatcherWithContext of two functions: one lists, one
	// watches, each with or without a context. client-go v0.37 ignores DisableChunking.
	ListWatch = clientgo.ListWatch

	// ListFunc lists a collection.
	//
	// Deprecated: ListWithContextFunc can be canceled.
	//
	//lint:ignore SA1019 the border has every name of client-go, deprecated ones too
	ListFunc = clientgo.ListFunc

	// ListWithContextFunc lists a collection until ctx ends.
	ListWithContextFunc = clientgo.ListWithContextFunc

	// WatchFunc starts a watch.
	//
	// Deprecated: WatchFuncWithContext can be canceled.
	//
	//lint:ignore SA1019 the border has every name of client-go, deprecated ones too
	WatchFunc = clientgo.WatchFunc

	// WatchFuncWithContext starts a watch that ends with ctx.
	WatchFuncWithContext = clientgo.WatchFuncWithContext

	// Getter starts a GET request; the REST client of any API group is one.
	Getter = clientgo.Getter
)

// NewListWatchFromClient returns a ListWatch over the objects of a resource that fieldSelector
// accepts, in one namespace or, if namespace is empty, in all.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	return clientgo.NewListWatchFromClient(c, resource, namespace, fieldSelector)
}

// NewFilteredListWatchFromClient is NewListWatchFromClient with a function that may change the
// options of every request, to set any selector.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	return clientgo.NewFilteredListWatchFromClient(c, resource, namespace, optionsModifier)
}

// ToListerWithContext returns l itself if it takes a context, else a wrapper that ignores the
// context.
func ToListerWithContext(l Lister) ListerWithContext { return clientgo.ToListerWithContext(l) }

// ToWatcherWithContext returns w itself if it takes a context, else a wrapper that ignores the
// context.
func ToWatcherWithContext(w Watcher) WatcherWithContext { return clientgo.ToWatcherWithContext(w) }

// ToListerWatcherWithContext returns lw itself if both requests take a context, else a wrapper that
// ignores the context where lw takes none. The wrapper does not report whether lw supports streamed lists.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	return clientgo.ToListerWatcherWithContext(lw)
}

// ToListWatcherWithWatchListSemantics returns lw with a method that reports whether client supports streaming
// the initial list over a watch. It asks client once. Without support, reflectors list instead.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return clientgo.ToListWatcherWithWatchListSemantics(lw, client)
}

// A reflector lists and watches a collection, and puts the received objects into a store.
type (
	// Reflector keeps a ReflectorStore equal, eventually, to a collection on the server. The
	// informers of this package run an engine of their own. The Reflector that a watch-error handler
	// receives has the name, the type and the last resource version, and must not be run.
	Reflector = clientgo.Reflector

	// ReflectorOptions are the options of NewReflectorWithOptions; the zero value works.
	ReflectorOptions = clientgo.ReflectorOptions

	// ReflectorStore is the store that a reflector writes to. Replace owns its argument afterwards.
	ReflectorStore = clientgo.ReflectorStore

	// ReflectorBookmarkStore is the optional interface of a ReflectorStore that takes bookmarks.
	ReflectorBookmarkStore = clientgo.ReflectorBookmarkStore

	// ResourceVersionUpdater is the optional interface of a ReflectorStore that takes each new
	// resource version.
	ResourceVersionUpdater = clientgo.ResourceVersionUpdater

	// TransformingStore is the optional interface of a ReflectorStore with a transform. The
	// reflector applies it to the collected objects before it writes to the store, so an object may be
	// transformed twice.
	TransformingStore = clientgo.TransformingStore
)

// Errors of list and watch, and the handlers that are called with them.
type (
	// WatchErrorHandler is called with an error that ended a round of list and watch. It must
	// return quickly; the next round comes after a backoff.
	WatchErrorHandler = clientgo.WatchErrorHandler

	// WatchErrorHandlerWithContext is WatchErrorHandler with the context of the run, which carries
	// its logger.
	WatchErrorHandlerWithContext = clientgo.WatchErrorHandlerWithContext

	// VeryShortWatchError is the error of a watch that was closed within one second and without an event.
	VeryShortWatchError = clientgo.VeryShortWatchError

	// RetryWithDeadline decides whether to try again: call After with each error, then ShouldRetry. It is
	// not safe for concurrent use.
	RetryWithDeadline = clientgo.RetryWithDeadline
)

// NewRetryWithDeadline returns a RetryWithDeadline that allows retries for maxRetryDuration after the first
// error that isRetryable accepts. The duration starts again after minResetPeriod without such an error. If
// maxRetryDuration is zero or less, no retry is allowed.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return clientgo.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}
