// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shims becomes part of client-go's tests of tools/cache: it has the helpers by which they
// look inside of an informer, and the rig, a type with the fields and methods of client-go's
// Reflector that they use. The rig drives our own reflector.
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

// closedMsg is the text of the error that a closed heap answers with.
var closedMsg = func() string {
	h := kinformer.NewHeap(kinformer.MetaNamespaceKeyFunc, func(any, any) bool { return false })
	h.Close()
	_, err := h.Pop()
	return err.Error()
}()

// rig stands for a Reflector. Fields count until the first run: the reflector is made then.
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

	source   clientgo.ListerWatcher // as given to a constructor
	expected any
	options  clientgo.ReflectorOptions

	mu struct {
		sync.Mutex
		reflector       *reflector.Reflector // nil until the first run
		resourceVersion string               // where it is to begin
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

// made makes a reflector by the fields as they stand. What a test stored in a field prevails over
// what a constructor was given.
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

// failed hands an error that ends a round to the handler, or to the usual one.
func (r *rig) failed(ctx context.Context, f reflector.Failure) {
	switch {
	case r.watchErrorHandler != nil:
		r.watchErrorHandler(ctx, nil, f.Err)
	case !f.Expected:
		clientgo.DefaultWatchErrorHandler(ctx, &clientgo.Reflector{}, f.Err)
	}
}

// running returns the reflector, made at the first call. It can only be kept from a watch-list.
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

// setLastSyncResourceVersion works until the first run.
func (r *rig) setLastSyncResourceVersion(rv string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.reflector != nil {
		panic("the rig cannot move a reflector that was started")
	}
	r.mu.resourceVersion = rv
}

// errListed ends a round of list where its watch would begin.
var errListed = errors.New("only a list was asked for")

// list runs the first half of a round on a reflector of its own: its watch is refused.
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

// withContext is a source that can only be called with a context.
type withContext struct {
	clientgo.ListerWatcherWithContext
}

var errNoContext = errors.New("the reflector called its source without a context")

func (withContext) List(v1.ListOptions) (runtime.Object, error)   { return nil, errNoContext }
func (withContext) Watch(v1.ListOptions) (watch.Interface, error) { return nil, errNoContext }

// noStreams is a source that says that it cannot stream lists.
type noStreams struct{ withContext }

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }

// listOnly is a source whose watches fail.
type listOnly struct{ noStreams }

func (listOnly) WatchWithContext(context.Context, v1.ListOptions) (watch.Interface, error) {
	return nil, errListed
}
