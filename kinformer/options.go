// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/table"
)

// Options are what can be set when an informer is made. The zero value is client-go's behavior.
//
// Invalid options, and options that exclude each other, do not panic: the informer does not run. Its
// Run logs the error and returns; inspect.StatusOf and WaitForSync return it from the beginning.
type Options struct {
	// Identifier names the informer for its metrics, which go to InformerMetricsProvider or, if that
	// is nil, to the provider of the process; see cache.SetInformerMetricsProvider.
	Identifier              cache.InformerNameAndResource
	InformerMetricsProvider cache.InformerMetricsProvider
	// ObjectDescription is the name of the objects in logs, unless Identifier has a resource. The default is
	// what the first request asks for, as far as inspect.Status knows that, else their type.
	ObjectDescription string
	// ResyncPeriod is how often handlers that name no period hear of all objects again; 0 is never.
	ResyncPeriod time.Duration
	// Indexers are copied.
	Indexers cache.Indexers

	Requests Requests
	Queue    Queue
	Decoding Decoding
	Errors   Errors
	// Delivery is that of all handlers that are added without Deliver, for instance by a framework.
	// Each handler keeps its own name, so that a Delivery with a Name is invalid here. With an invalid
	// Delivery the informer refuses handlers that are added without Deliver.
	Delivery Delivery

	// OnIndexFailure is called for each failure of an index function, after the write and with no
	// lock held, in the goroutine of the writer. Without it the failures of an index in one write are
	// reported together to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers, by the key of the
	// first, not by content.
	OnIndexFailure func(IndexFailure)
}

// IndexFailure says that an index function returned an error or panicked for an object. The object
// is stored all the same, and is in that index under no value; inspect.Status.Problems says how many
// there are.
type IndexFailure struct {
	Index  string // the name of the index
	Key    string // the key of the object
	Object any    // the object, shared with the store
	Err    error  // what the function returned, or an error that says it panicked
}

// Queue is about the way from the watch to the store.
type Queue struct {
	// Limit bounds how many changes wait there. At the bound the informer stops reading the watch
	// until some of them are in the store. The server may end the watch meanwhile; it then goes on
	// later from the last resourceVersion. Lists, resyncs, and bookmarks of a full queue exceed the
	// bound, and what is being processed does not count. inspect.QueueOf returns depth and pauses. 0
	// is no bound, as in client-go.
	Limit int
	// KeepCached makes a list succeed although the transform function fails for some of its objects.
	// These keep their cached version, or stay out of the store if there is none, until a later
	// version passes. Each is reported, and counted in inspect.Queue. Otherwise such a list fails as a
	// whole, and is requested again after a backoff.
	KeepCached bool
	// OnError is called when a batch could not be stored, in the goroutine that stores, which goes on
	// when it returns. Without it such errors are reported to
	// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers. Both ways, inspect.QueueOf counts them.
	OnError func(ctx context.Context, err error)
}

// New returns an informer for the objects of lw, which does nothing until it is run. It is
// cache.NewSharedIndexInformerWithOptions with more options.
func New(lw cache.ListerWatcher, exampleObject runtime.Object, options Options) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformerWithOptions(lw, exampleObject, cache.SharedIndexInformerOptions{
		ResyncPeriod: options.ResyncPeriod, Indexers: options.Indexers, ObjectDescription: options.ObjectDescription,
		Identifier: options.Identifier, InformerMetricsProvider: options.InformerMetricsProvider,
	})
	door.Of(informer).Configure(options.set)
	return informer
}

// Constructor returns a constructor with the signature of cache.NewSharedIndexInformer whose
// informers have the given options. It fits wherever a constructor is asked for: NewInformer of the
// options of controller-runtime's cache, InformerFor of generated factories. The informers have the indexers
// of the options and of the call; with two of the same name they do not run. A ResyncPeriod of the
// options replaces that of the call.
func Constructor(options Options) func(lw cache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return func(lw cache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		own, bad := options, door.Faults{}
		if own.ResyncPeriod == 0 {
			own.ResyncPeriod = resyncPeriod
		}
		own.Indexers = cache.Indexers{}
		maps.Copy(own.Indexers, indexers)
		for name, index := range options.Indexers {
			if _, twice := own.Indexers[name]; twice {
				bad.Add("Indexers: %q is an index of the constructor's caller as well: leave out one of them", name)
				continue
			}
			own.Indexers[name] = index
		}
		informer := New(lw, exampleObject, own)
		if len(bad) > 0 {
			door.Of(informer).Configure(func(c *door.Config) { c.Bad = append(c.Bad, bad...) })
		}
		return informer
	}
}

// set translates the options, and notes what is wrong with them.
func (o *Options) set(c *door.Config) {
	c.Limit, c.KeepCached, c.OnProcessError = o.Queue.Limit, o.Queue.KeepCached, o.Queue.OnError
	refuseNegative(&c.Bad, "Queue.Limit", o.Queue.Limit, "no bound")
	o.Requests.set(&c.Requests, &c.Bad)
	o.Decoding.set(c)
	o.Errors.set(&c.Requests)
	c.Standard = o.Delivery.asStandard(&c.Bad)
	if hook := o.OnIndexFailure; hook != nil {
		c.OnIndexFailure = func(f table.IndexFailure) { hook(IndexFailure(f)) }
	}
}

// refuseNegative adds a value below 0. zero says what 0 stands for.
func refuseNegative[T int | int64 | time.Duration](bad *door.Faults, name string, value T, zero string) {
	if value < 0 {
		bad.Add("%s is %v: use a positive value, or 0 for %s", name, fmt.Sprint(value), zero)
	}
}
