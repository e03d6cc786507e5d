// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shims becomes part of client-go's tests of tools/cache. It has the helpers that inspect an
// informer, and the rig, a type with those fields and methods of client-go's Reflector that the tests
// use. The rig drives kinformer's reflector.
//
//lint:file-ignore U1000 the rewritten tests use these names, nothing here does
package shims

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/reflector"
)

func isStarted(i kinformer.SharedInformer) bool {
	return i.(interface{ HasStarted() bool }).HasStarted()
}

func eventHandlerCount(i kinformer.SharedInformer) int {
	return i.(interface{ EventHandlerCount() int }).EventHandlerCount()
}

func isRegistered(i kinformer.SharedInformer, h kinformer.ResourceEventHandlerRegistration) bool {
	return i.(interface {
		IsRegistered(kinformer.ResourceEventHandlerRegistration) bool
	}).IsRegistered(h)
}

// closedMsg is the text of the error of a closed heap.
var closedMsg = func() string {
	h := kinformer.NewHeap(kinformer.MetaNamespaceKeyFunc, func(any, any) bool { return false })
	h.Close()
	_, err := h.Pop()
	return err.Error()
}()

// rig replaces a Reflector. The reflector is created at the first run, from the fields at that time.
type rig struct {
	WatchListPageSize             int64
	ShouldResync                  func() bool
	MaxInternalErrorRetryDuration time.Duration

	name              string
	listerWatcher     clientgo.ListerWatcherWithContext
	store             clientgo.ReflectorStore
	delayHandler      wait.DelayFunc
	clock             clock.Clock
	watchErrorHandler clientgo.WatchErrorHandlerWithContext
	useWatchList      bool

	source   clientgo.ListerWatcher // argument of a constructor
	expected any
	options  clientgo.ReflectorOptions

	mu struct {
		sync.Mutex
		reflector       *reflector.Reflector // nil until the first run
		resourceVersion string               // where the reflector begins
	}
}

func newRig(lw clientgo.ListerWatcher, expected any, store clientgo.ReflectorStore, resync time.Duration) *rig {
	return newRigWithOptions(lw, expected, store, clientgo.ReflectorOptions{ResyncPeriod: resync})
}

func newNamedRig(name string, lw clientgo.ListerWatcher, expected any, store clientgo.ReflectorStore, resync time.Duration) *rig {
	return newRigWithOptions(lw, expected, store, clientgo.ReflectorOptions{Name: name, ResyncPeriod: resync})
}

func newRigWithOptions(lw clientgo.ListerWatcher, expected any, store clientgo.ReflectorStore, options clientgo.ReflectorOptions) *rig {
	r := &rig{source: lw, store: store, expected: expected, options: options}
	r.useWatchList = r.made(lw, "").Streams()
	return r
}

// made returns a reflector with the current fields. A field set by a test overrides the argument of a
// constructor.
func (r *rig) made(lw clientgo.ListerWatcher, version string) *reflector.Reflector {
	o := reflector.Options{
		Name: cmp.Or(r.name, r.options.Name), TypeDescription: r.options.TypeDescription,
		ListerWatcher: lw, ExpectedType: r.expected, Sink: reflector.Foreign(r.store),
		ResyncPeriod: r.options.ResyncPeriod, MinWatchTimeout: r.options.MinWatchTimeout,
		Backoff: r.options.Backoff, Clock: r.options.Clock, Logger: r.options.Logger,
		PageSize: r.WatchListPageSize, ShouldResync: r.ShouldResync, MaxInternalErrorRetry: r.MaxInternalErrorRetryDuration,
		Delay: r.delayHandler, Reached: version, OnError: r.failed,
	}
	if r.clock != nil {
		o.Clock = r.clock
	}
	return reflector.New(o)
}

// failed passes an error that ends a round to the handler, or to the default handler.
func (r *rig) failed(ctx context.Context, f reflector.Failure) {
	switch {
	case r.watchErrorHandler != nil:
		r.watchErrorHandler(ctx, nil, f.Err)
	case !f.Expected:
		clientgo.DefaultWatchErrorHandler(ctx, &clientgo.Reflector{}, f.Err)
	}
}

// running returns the reflector, created at the first call. useWatchList can only disable watch-lists.
func (r *rig) running() *reflector.Reflector {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.reflector == nil {
		lw := r.source
		if r.listerWatcher != nil {
			lw = withContext{r.listerWatcher}
		}
		if !r.useWatchList {
			lw = noStreams{withContext{clientgo.ToListerWatcherWithContext(lw)}}
		}
		r.mu.reflector = r.made(lw, r.mu.resourceVersion)
		if r.useWatchList != r.mu.reflector.Streams() {
			panic("the reflector does not do a watch-list where the test asks for one")
		}
	}
	return r.mu.reflector
}

func (r *rig) ListAndWatchWithContext(ctx context.Context) error {
	return r.running().ListAndWatch(ctx)
}

func (r *rig) ListAndWatch(stop <-chan struct{}) error {
	return r.ListAndWatchWithContext(wait.ContextForChannel(stop))
}

func (r *rig) RunWithContext(ctx context.Context) { r.running().Run(ctx) }

func (r *rig) Run(stop <-chan struct{}) { r.RunWithContext(wait.ContextForChannel(stop)) }

func (r *rig) LastSyncResourceVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.reflector == nil {
		return r.mu.resourceVersion
	}
	return r.mu.reflector.Version()
}

// setLastSyncResourceVersion must be called before the first run.
func (r *rig) setLastSyncResourceVersion(rv string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.reflector != nil {
		panic("the rig cannot move a reflector that was started")
	}
	r.mu.resourceVersion = rv
}

// errListed ends list where its watch would begin.
var errListed = errors.New("only a list was asked for")

// list lists on a separate reflector, whose watch is refused.
func (r *rig) list(ctx context.Context) error {
	lw := r.listerWatcher
	if lw == nil {
		lw = clientgo.ToListerWatcherWithContext(r.source)
	}
	if err := r.made(listOnly{noStreams{withContext{lw}}}, r.LastSyncResourceVersion()).ListAndWatch(ctx); !errors.Is(err, errListed) {
		return err
	}
	return nil
}

// withContext is a source that must be called with a context.
type withContext struct {
	clientgo.ListerWatcherWithContext
}

var errNoContext = errors.New("the reflector called its source without a context")

func (withContext) List(v1.ListOptions) (runtime.Object, error)   { return nil, errNoContext }
func (withContext) Watch(v1.ListOptions) (watch.Interface, error) { return nil, errNoContext }

// noStreams is a source without support for watch-lists.
type noStreams struct{ withContext }

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }

// listOnly is a source whose watches fail.
type listOnly struct{ noStreams }

func (listOnly) WatchWithContext(context.Context, v1.ListOptions) (watch.Interface, error) {
	return nil, errListed
}
