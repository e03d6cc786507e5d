// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
)

// sinkOf returns a store as a sink. Queues of this package are recognized by their exact types, because a
// user's type that embeds one has the same methods and may override some that the sink would bypass.
func sinkOf(store ReflectorStore) reflector.Sink {
	switch own := store.(type) {
	case *RealFIFO:
		return queueSink{own, own.queue}
	case *DeltaFIFO:
		return queueSink{own, own.queue}
	}
	if own := door.QueueOf(store); own != nil {
		return embeddedSink{reflector.Foreign(store), own}
	}
	return reflector.Foreign(store)
}

// embeddedSink is the sink of a type that embeds a queue of this package, and may have methods of its own.
type embeddedSink struct {
	reflector.Sink
	queue *queue.Queue
}

// Room returns the sink's room, and none while the queue has none.
func (s embeddedSink) Room() (int, <-chan struct{}) {
	if _, freed := s.queue.Room(); freed != nil {
		return 0, freed
	}
	return s.Sink.Room()
}

// queueSink is a sink that puts into a single queue of this package.
type queueSink struct {
	store ReflectorStore
	queue *queue.Queue
}

func (s queueSink) Put(changes []event.Record) []event.Refused { return s.queue.PutBatch(changes) }

func (s queueSink) Stage(o event.Staging) reflector.Stage {
	return reflector.NewStage(o, s.store.Replace)
}

func (s queueSink) Settle(context.Context) {}

func (s queueSink) Resync() error { return s.store.Resync() }

func (s queueSink) Room() (int, <-chan struct{}) { return s.queue.Room() }

// NewReflector returns client-go's Reflector, which runs client-go's loop, not this package's. Its
// name is the file:line of the nearest caller outside of this package and of client-go's. See
// NewReflectorWithOptions.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is NewReflector with a name.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions returns client-go's Reflector, which runs client-go's loop, not this
// package's. It is here for code that holds a *Reflector. Only objects of the type of expectedType, and of
// its kind if expectedType is unstructured, reach the store; nil admits all objects. An empty options.Name
// becomes the file:line of the nearest caller outside of this package and of client-go's.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	if options.Name == "" {
		options.Name = reflector.CallsiteName()
	}
	return clientgo.NewReflectorWithOptions(lw, expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector returns an Indexer, as from NewIndexer, with an index by namespace, and
// a Reflector, as from NewReflector, that fills the Indexer.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// errorsTo returns the function that a reflector calls with its errors. The function calls handler, or
// DefaultWatchErrorHandler if handler is nil and the error is not expected.
func errorsTo(handler WatchErrorHandlerWithContext) func(context.Context, reflector.Failure) {
	id := &standIn{}
	return func(ctx context.Context, f reflector.Failure) {
		switch {
		case handler != nil:
			handler(ctx, id.at(f.Of, f.Version), f.Err)
		case !f.Expected:
			DefaultWatchErrorHandler(ctx, id.at(f.Of, f.Version), f.Err)
		}
	}
}

// DefaultWatchErrorHandler is the watch-error handler of informers without one. It logs an expected err at a
// level that fits its kind, and reports others to the ErrorHandlers of k8s.io/apimachinery/pkg/util/runtime,
// except for apimachinery's handler that sleeps.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || err == io.EOF || err == io.ErrUnexpectedEOF {
		clientgo.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	event.Report(ctx, err, "Failed to watch", "reflector", r.Name(), "type", r.TypeDescription())
}

// standIn has the Reflector that a watch-error handler receives, made on first use, and is the ListerWatcher
// of that Reflector. Its list is empty and has a version; its Watch fails.
type standIn struct {
	mu struct {
		sync.Mutex
		reflector *Reflector
		version   string
	}
}

// at returns a client-go Reflector that does not run, with the name, the type description and the settings of
// a reflector that is at version. Calls for the same reflector return the same value. Writing to the fields
// of the value, or running it, does not change the reflector.
func (s *standIn) at(o *reflector.Options, version string) *Reflector {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.reflector == nil || s.mu.reflector.Name() != o.Name {
		s.mu.version = ""
		s.mu.reflector = clientgo.NewReflectorWithOptions(s, nil, &FakeCustomStore{}, ReflectorOptions{
			Logger: &klog.Logger{}, Name: o.Name, TypeDescription: o.Journal.Name(),
		})
		s.mu.reflector.WatchListPageSize, s.mu.reflector.ShouldResync = o.PageSize, o.ShouldResync
		s.mu.reflector.MaxInternalErrorRetryDuration = o.MaxInternalErrorRetry
	}
	if err := s.stampLocked(version); err != nil {
		event.Report(context.Background(), err, "Watch-error handlers see an older version of the reflector", "reflector", o.Name)
	}
	return s.mu.reflector
}

// errStandIn ends the round by which a stand-in learns its version.
var errStandIn = errors.New("this reflector is a stand-in and does not run")

// stampLocked makes the stand-in report version as its last one, by a round of client-go's loop over
// the empty collection.
func (s *standIn) stampLocked(version string) error {
	if s.mu.version == version {
		return nil
	}
	s.mu.version = version
	silent := klog.NewContext(context.Background(), klog.Logger{})
	if err := s.mu.reflector.ListAndWatchWithContext(silent); !errors.Is(err, errStandIn) {
		return err
	}
	return nil
}

// List is called by stampLocked only.
func (s *standIn) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: s.mu.version}}, nil
}

func (s *standIn) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errStandIn }

// IsWatchListSemanticsUnSupported returns true, so that client-go calls List.
func (s *standIn) IsWatchListSemanticsUnSupported() bool { return true }
