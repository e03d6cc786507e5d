// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig becomes part of the rewritten tests: it declares what stands in for Reflector and its
// constructors. Its unexported names are those by which client-go's tests set up a Reflector from
// inside. Each target says which engine it drives.
//
//lint:file-ignore U1000 the rewritten tests use these names, nothing here does
package rig

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/conformance/internal/engine"
)

// engineOf makes the engine; the target's engine.go sets it.
var engineOf func(engine.Settings) engine.Engine

// rig has the fields and methods of client-go's Reflector that its tests use. Fields count until
// the first run: the engine is made then.
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
		engine          engine.Engine // nil until the first run
		resourceVersion string        // where the engine is to begin
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
	r.useWatchList = engineOf(engine.Settings{ListerWatcher: lw, ExpectedType: expected, Store: store, Options: options}).UsesWatchList()
	return r
}

// settings are the fields as they stand. What a test stored in a field prevails over what a
// constructor was given.
func (r *rig) settings() engine.Settings {
	watchList := r.useWatchList
	s := engine.Settings{
		ListerWatcher:                 r.source,
		ExpectedType:                  r.expected,
		Store:                         r.store,
		Options:                       r.options,
		WatchListPageSize:             r.WatchListPageSize,
		ShouldResync:                  r.ShouldResync,
		MaxInternalErrorRetryDuration: r.MaxInternalErrorRetryDuration,
		Delay:                         r.delayHandler,
		WatchList:                     &watchList,
		WatchErrorHandler:             r.watchErrorHandler,
	}
	if r.listerWatcher != nil {
		s.ListerWatcher = engine.ContextOnly{ListerWatcherWithContext: r.listerWatcher}
	}
	if r.name != "" {
		s.Options.Name = r.name
	}
	if r.clock != nil {
		s.Options.Clock = r.clock
	}
	return s
}

// running returns the engine, made at the first call.
func (r *rig) running() engine.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.engine == nil {
		s := r.settings()
		s.ResourceVersion = r.mu.resourceVersion
		r.mu.engine = engineOf(s)
	}
	return r.mu.engine
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
	if r.mu.engine == nil {
		return r.mu.resourceVersion
	}
	return r.mu.engine.LastSyncResourceVersion()
}

// setLastSyncResourceVersion works until the first run.
func (r *rig) setLastSyncResourceVersion(rv string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.engine != nil {
		panic("the rig cannot move an engine that was started")
	}
	r.mu.resourceVersion = rv
}

// errListed ends a round of list where its watch would begin.
var errListed = errors.New("only a list was asked for")

// list runs the first half of a round on an engine of its own: its watch is refused.
func (r *rig) list(ctx context.Context) error {
	s := r.settings()
	off := false
	s.WatchList = &off
	s.ListerWatcher = listOnly{engine.ContextOnly{ListerWatcherWithContext: clientgo.ToListerWatcherWithContext(s.ListerWatcher)}}
	if err := engineOf(s).ListAndWatch(ctx); !errors.Is(err, errListed) {
		return err
	}
	return nil
}

// listOnly is a source whose watches fail.
type listOnly struct {
	engine.ContextOnly
}

func (listOnly) WatchWithContext(context.Context, v1.ListOptions) (watch.Interface, error) {
	return nil, errListed
}
