// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/internal/table"
)

// Options configures a new informer. The zero value is client-go's behavior.
//
// Invalid options, and options that exclude each other, do not panic: the informer does not run. Its
// Run logs the error and returns; inspect.StatusOf and WaitForSync return it from the beginning.
type Options struct {
	// Identifier names the informer for its metrics, which go to InformerMetricsProvider or, if that
	// is nil, to the provider of the process; see cache.SetInformerMetricsProvider.
	Identifier              cache.InformerNameAndResource
	InformerMetricsProvider cache.InformerMetricsProvider
	// ObjectDescription is the name of the objects in logs, unless Identifier has a resource. The
	// default is the resource of the first request, if inspect.Status knows it, otherwise the type of
	// the objects.
	ObjectDescription string
	// ResyncPeriod is the period of resyncs of handlers that name no period; 0 means never.
	ResyncPeriod time.Duration
	// Indexers is copied.
	Indexers cache.Indexers

	// Engine is "" for an informer of this module, or "client-go" for one of client-go's. That one honors
	// the fields above, Decoding.Keep, Whole, PartialWrites and Drop, and the log names the other fields
	// that are set. Engine is for a flag of the program. KINFORMER in the environment takes precedence: see
	// docs/operating.md.
	Engine string

	// For has the options of informers of some kinds, instead of these, by an example object of each kind: the
	// same Go type, and for unstructured and metadata objects the same apiVersion and kind. It is for Constructor;
	// factories have factory.WithOptionsFor.
	For map[runtime.Object]Options

	Requests Requests
	Queue    Queue
	Decoding Decoding
	Errors   Errors
	// Delivery applies to all handlers that are added without Deliver, for instance by a framework. A
	// Delivery with a Name is invalid here, because each handler keeps its own name. With an invalid
	// Delivery the informer refuses handlers that are added without Deliver.
	Delivery Delivery

	// OnIndexFailure is called for each failure of an index function, after the write, by the goroutine of
	// the writer. It may read the store; it must not add a handler to the informer, which waits for the
	// write. A panic of it is handled by k8s.io/apimachinery/pkg/util/runtime.HandleCrash. If it is nil,
	// the failures of one index in one write are reported together to
	// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers, with the key of the first object and without
	// content.
	OnIndexFailure func(IndexFailure)
}

// IndexFailure reports that an index function returned an error or panicked for an object. The object
// is stored nevertheless, under no value of that index; inspect.Status.Problems counts such objects.
type IndexFailure struct {
	Index  string // the name of the index
	Key    string // the key of the object
	Object any    // the object, shared with the store
	Err    error  // the error of the function, or one that reports its panic
}

// Queue configures the queue between the watch and the store.
type Queue struct {
	// Limit is the maximum number of changes in the queue. At the limit the informer stops reading the
	// watch until some of the changes are stored. If the server ends the watch meanwhile, the informer
	// later opens another from the last resourceVersion. Lists, resyncs, and bookmarks of a full queue
	// exceed the limit, as may several sources (see docs/sources.md), and changes that are being processed
	// do not count. inspect.QueueOf returns the depth and the pauses. 0 means no limit.
	Limit int
	// KeepCached makes a list succeed even if the transform function fails for some of its objects.
	// Such an object keeps its cached version, or is not stored if there is none, until a later version
	// passes the function. Each failure is reported, and counted in inspect.Queue. Without KeepCached
	// such a list fails, and is requested again after a backoff.
	KeepCached bool
	// OnError is called when the processing of a batch panics, by the goroutine that processes it. The
	// store may have the batch, but its handlers do not get the changes. OnError may add handlers. Then
	// the panic goes on: it ends the process, unless k8s.io/apimachinery/pkg/util/runtime.ReallyCrash is
	// false. If OnError is nil, these errors are reported to ErrorHandlers of that package.
	// inspect.QueueOf counts them in both cases.
	OnError func(ctx context.Context, err error)
}

// New returns an informer for the objects of lw. It is cache.NewSharedIndexInformerWithOptions with
// more options. The informer does nothing until it is run.
func New(lw cache.ListerWatcher, exampleObject runtime.Object, options Options) cache.SharedIndexInformer {
	options = options.of(exampleObject)
	shared := cache.SharedIndexInformerOptions{
		ResyncPeriod: options.ResyncPeriod, Indexers: options.Indexers, ObjectDescription: options.ObjectDescription,
		Identifier: options.Identifier, InformerMetricsProvider: options.InformerMetricsProvider,
	}
	if why := options.switched(lw, exampleObject); why != "" {
		return options.newSwitched(lw, exampleObject, shared, why)
	}
	return options.newOurs(lw, exampleObject, shared)
}

// newOurs returns an informer of this module's.
func (o *Options) newOurs(lw cache.ListerWatcher, exampleObject runtime.Object, shared cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformerWithOptions(switched.Keep(lw), exampleObject, shared)
	door.Of(informer).Configure(func(c *door.Config) { o.set(c, exampleObject) })
	return informer
}

// Constructor returns a constructor with the signature of cache.NewSharedIndexInformer whose informers
// have the given options. It can be NewInformer in the options of controller-runtime's cache; for a
// generated factory, use factory.Wrap with factory.WithInformerOptions. The informers have the indexers
// of the options and of the call; if a name occurs in both, the informer does not run. A ResyncPeriod of
// the options replaces that of the call.
func Constructor(options Options) func(lw cache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return func(lw cache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		own, bad := options.of(exampleObject), door.Faults{}
		if own.ResyncPeriod == 0 {
			own.ResyncPeriod = resyncPeriod
		}
		given := own.Indexers
		own.Indexers = cache.Indexers{}
		maps.Copy(own.Indexers, indexers)
		for name, index := range given {
			if _, twice := own.Indexers[name]; twice {
				bad.Add("Indexers: %q is an index of the constructor's caller as well: leave out one of them", name)
				continue
			}
			own.Indexers[name] = index
		}
		if len(bad) == 0 {
			return New(lw, exampleObject, own)
		}
		informer := New(switched.Keep(lw), exampleObject, own)
		door.Of(informer).Configure(func(c *door.Config) { c.Bad = append(c.Bad, bad...) })
		return informer
	}
}

// of returns the options of an informer of objects like example. Those that cannot be chosen are left for set.
func (o Options) of(example runtime.Object) Options {
	chosen, found := o, 0
	chosen.For = nil
	for other, options := range o.For {
		if event.IsNil(other) {
			return o
		}
		if isSameKind(other, example) {
			chosen, found = options, found+1
		}
	}
	if found > 1 || chosen.For != nil {
		return o
	}
	return chosen
}

// isSameKind reports whether two examples are of the same Go type, and if that is one for many kinds, of the same kind.
func isSameKind(a, b runtime.Object) bool {
	if event.IsNil(a) || event.IsNil(b) || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	_, metadata := a.(*metav1.PartialObjectMetadata)
	return !metadata && !isUntyped(a) || a.GetObjectKind().GroupVersionKind() == b.GetObjectKind().GroupVersionKind()
}

// set applies the options of an informer of objects like example to c, and adds their faults to c.Bad.
func (o *Options) set(c *door.Config, example runtime.Object) {
	c.Limit, c.KeepCached, c.OnProcessError = o.Queue.Limit, o.Queue.KeepCached, o.Queue.OnError
	refuseNegative(&c.Bad, "Queue.Limit", o.Queue.Limit, "no bound")
	if o.Engine != "" && o.Engine != switched.ClientGo {
		c.Bad.Add("Engine: there is no engine %q: use %q, or leave it out", o.Engine, switched.ClientGo)
	}
	if o.For != nil {
		c.Bad.Add("For: it has a nil example, two examples of one kind, or options with a For of their own: leave out one of them")
	}
	o.Requests.set(&c.Requests, &c.Bad)
	o.Decoding.set(c)
	o.Decoding.setKeep(c, example)
	o.Errors.set(&c.Requests)
	if o.Errors.SkipUndecodable && o.Decoding.Off {
		c.Bad.Add("Errors.SkipUndecodable is for objects that the informer decodes, and with Decoding.Off the client decodes all: leave out one of them")
	}
	c.Standard = o.Delivery.asStandard(&c.Bad)
	if hook := o.OnIndexFailure; hook != nil {
		c.OnIndexFailure = func(f table.IndexFailure) { hook(IndexFailure(f)) }
	}
}

// refuseNegative adds a fault if value is negative. zero describes the meaning of 0.
func refuseNegative[T int | int64 | time.Duration](bad *door.Faults, name string, value T, zero string) {
	if value < 0 {
		bad.Add("%s is %v: use a positive value, or 0 for %s", name, fmt.Sprint(value), zero)
	}
}
