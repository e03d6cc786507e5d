// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/pipeline"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/switched"
)

// controller runs a reflector that fills a queue, and a loop that empties it.
type controller struct {
	informerHolder
	parts
	clock    clock.Clock
	observed door.Observed

	mu struct {
		sync.RWMutex
		reflector *reflector.Reflector // nil before Run
	}
}

// parts are the components of a controller.
type parts struct {
	config   Config
	identity InformerNameAndResource // may be zero
	requests reflector.Options       // options that client-go lacks

	queue    controllerQueue
	sink     reflector.Sink     // receives events and puts them into queue
	pipeline *pipeline.Pipeline // nil: the queue is the user's

	// take waits for an item of the queue and processes it. It returns ErrFIFOClosed when the queue
	// is closed and empty.
	take     func() error
	calls    string          // the user's functions that the goroutines of Run call, for a log line
	failures *queue.Failures // nil: its own

	follower door.Follower       // nil: a reflector follows the server
	unfit    error               // the reason why the controller cannot run, or nil
	report   *reflector.Journal  // nil: its own
	relister *reflector.Relister // nil: its own
}

// controllerQueue has the methods of a queue that a controller calls, other than pop.
type controllerQueue interface {
	Close()
	HasSynced() bool
	HasSyncedChecker() DoneChecker
}

// New returns a Controller that lists and watches with config.ListerWatcher into config.Queue. It passes
// popped items to config.ProcessBatch, or to config.Process if the queue or the configuration does not
// support batches. The queue may be any implementation. Both functions run in a goroutine of their own,
// one call at a time, never in the reflector's. Their errors and panics are counted (inspect.QueueOf) and
// reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers. A failed item is not retried; package
// retry does that.
//
// Run returns when its context has ended, the queue is closed and the last call has returned. If
// config.ListerWatcher is nil, Run logs an error and returns at once.
//
// With KINFORMER=off in the environment the Controller is client-go's; see docs/operating.md.
func New(config *Config) Controller {
	of := switched.Subject{Example: config.ObjectType}
	if why := switched.Decide(config.ListerWatcher, of, ""); why != "" {
		return switched.NewController(clientgo.New(config), nil, of, why)
	}
	c := newController(parts{
		config: *config,
		queue:  config.Queue, sink: sinkOf(config.Queue),
		calls: "the process function, or a function of the queue's or the store's",
	})
	c.take = c.popSingle
	if queue, ok := config.Queue.(QueueWithBatch); ok && config.ProcessBatch != nil {
		c.take = func() error { return c.popBatch(queue) }
	}
	return c
}

func newController(p parts) *controller {
	p.failures = cmp.Or(p.failures, &queue.Failures{})
	p.report = cmp.Or(p.report, reflector.NewJournal())
	p.relister = cmp.Or(p.relister, &reflector.Relister{})
	if p.unfit != nil {
		p.report.Refuse(p.unfit)
	}
	p.requests = about(p.requests, p.identity, p.config.ObjectDescription, p.config.ObjectType)
	p.requests.Describe(p.report)
	c := &controller{parts: p, clock: clock.RealClock{}}
	c.informerHolder = door.NewHolder(door.Look(c.look))
	return c
}

// look returns the controller as a door.Informer.
func (c *controller) look() *door.Informer {
	known := &door.Informer{
		Controller: c, Resource: c.report.Name(), Example: c.config.ObjectType, Identity: c.identity,
		Report: c.report, Relister: c.relister, Observed: &c.observed, ProcessErrors: c.failures.Known, Requests: c.reflectorOptions,
	}
	known.AddQueue(c.queue)
	if p := c.pipeline; p != nil {
		known.SetStore(p.Contents.Table, p.Applier, &p.Delivery)
	}
	return known
}

func (c *controller) popSingle() error {
	_, err := c.config.Queue.Pop(c.process)
	return err
}

func (c *controller) process(obj any, isInInitialList bool) error {
	defer c.failures.Panicking(obj)
	return c.config.Process(obj, isInInitialList)
}

func (c *controller) processBatch(deltas []Delta, isInInitialList bool) error {
	defer c.failures.Panicking(deltas)
	return c.config.ProcessBatch(deltas, isInInitialList)
}

func (c *controller) popBatch(queue QueueWithBatch) error {
	if !features.FeatureGates().Enabled(features.InOrderInformersBatchProcess) {
		return c.popSingle()
	}
	return queue.PopBatch(c.processBatch, c.process)
}

// Run is RunWithContext for a stop channel.
func (c *controller) Run(stopCh <-chan struct{}) { c.RunWithContext(wait.ContextForChannel(stopCh)) }

// RunWithContext runs until ctx ends, or until the error policy has stopped the reflector and all earlier
// events are processed. It must be called once.
func (c *controller) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	defer c.observed.Enter(c)()
	defer c.report.End()
	c.run(ctx)
}

// run is RunWithContext without the report of the end, which the caller makes.
func (c *controller) run(ctx context.Context) {
	if c.refused(ctx) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follow := c.start(ctx)
	working, workDone := context.WithCancel(context.Background())
	defer workDone()
	var begun atomic.Bool
	closed := make(chan struct{})
	var group, naming wait.Group
	closeQueue := func() { // once: that of a user may not bear another Close
		if begun.CompareAndSwap(false, true) {
			defer close(closed)
			// before Close, which may wait for a process function that runs under the queue's lock
			naming.Start(func() { c.nameSlowStop(ctx, working.Done()) })
			c.queue.Close()
		}
	}
	defer context.AfterFunc(ctx, closeQueue)() // no goroutine waits for the end
	stopped := make(chan struct{})
	group.Start(func() { c.follow(ctx, follow, stopped, closeQueue) })
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		c.processLoop(ctx)
		select {
		case <-stopped:
			cancel()
		default:
		}
	}, time.Second)
	<-stopped // not deferred: a panic on its way out must not wait for ctx
	workDone()
	closeQueue()
	<-closed
	group.Wait()
	naming.Wait()
}

// follow calls its argument, and then closes stopped and the queue, also after a panic.
func (c *controller) follow(ctx context.Context, follow func(context.Context), stopped chan<- struct{}, closeQueue func()) {
	defer closeQueue()
	defer close(stopped)
	follow(ctx)
}

// nameSlowStop logs the reason for the wait if done is not closed soon after ctx ends.
func (c *controller) nameSlowStop(ctx context.Context, done <-chan struct{}) {
	patience := time.NewTimer(fanout.StopPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		event.Warn(klog.FromContext(ctx), 0, "The informer has stopped, and Run waits until a call returns",
			"type", c.report.Name(), "of", c.calls)
	}
}

// errNoListerWatcher is the error of a controller without a source.
var errNoListerWatcher = errors.New("the ListerWatcher is nil, so nothing can be listed or watched")

// refused reports whether the controller cannot run. If so, it logs the reason.
func (c *controller) refused(ctx context.Context) bool {
	if c.unfit == nil && c.follower == nil && event.IsNil(c.config.ListerWatcher) {
		c.unfit = errNoListerWatcher
	}
	if c.unfit == nil {
		return false
	}
	c.report.Refuse(c.unfit)
	c.report.End()
	if c.follower != nil {
		c.follower.Refuse(c.unfit)
	}
	c.queue.Close()
	event.Report(ctx, c.unfit, "The informer does not run", "type", c.report.Name())
	c.requests.TellStopped(ctx, c.report.Name(), c.unfit)
	return true
}

// about returns o with the description of the objects: identity, name and example.
func about(o reflector.Options, id InformerNameAndResource, description string, example any) reflector.Options {
	o.TypeDescription, o.ExpectedType = description, example
	o.Resource = cmp.Or(o.Resource, id.GroupVersionResource())
	return o
}

// reflectorOptions returns the options of the reflector.
func (c *controller) reflectorOptions() reflector.Options {
	o := c.requests
	o.ListerWatcher = c.config.ListerWatcher
	o.Name = fmt.Sprintf("%s (%s)", c.report.Name(), reflector.CallsiteName())
	return o
}

// start makes the reflector. It returns a function that follows the server until its context ends.
func (c *controller) start(ctx context.Context) (follow func(context.Context)) {
	logger := klog.FromContext(ctx)
	o := c.reflectorOptions()
	o.Sink = c.sink
	o.ResyncPeriod = c.config.FullResyncPeriod
	o.ShouldResync = c.config.ShouldResync
	o.MinWatchTimeout = c.config.MinWatchTimeout
	o.PageSize = cmp.Or(o.PageSize, c.config.WatchListPageSize)
	o.OnError = errorsTo(watchErrorHandlerOf(&c.config))
	o.Clock, o.Logger, o.Journal, o.Relister = c.clock, &logger, c.report, c.relister
	if c.follower != nil {
		return func(ctx context.Context) { c.follower.Follow(ctx, o, c.pipeline.Queue) }
	}
	r := reflector.New(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.reflector = r
	return r.Run
}

// watchErrorHandlerOf returns the configured handler, or nil for the default. A handler without a
// context takes precedence.
func watchErrorHandlerOf(config *Config) WatchErrorHandlerWithContext {
	if config.WatchErrorHandler == nil {
		return config.WatchErrorHandlerWithContext
	}
	return func(_ context.Context, r *Reflector, err error) { config.WatchErrorHandler(r, err) }
}

// processLoop runs until the queue is closed or ctx ends. A panic of a process function
// ends it. The popped items are lost, and RunWithContext starts the loop again after a second.
func (c *controller) processLoop(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.take()
		if errors.Is(err, ErrFIFOClosed) {
			return
		}
		if err != nil {
			c.failures.Report(ctx, err)
		}
	}
}

// HasSynced reports whether the first list was popped completely.
func (c *controller) HasSynced() bool {
	if c.follower != nil {
		return IsDone(c.follower.HasSyncedChecker())
	}
	return c.queue.HasSynced()
}

// HasSyncedChecker returns a checker whose channel is closed once HasSynced returns true.
func (c *controller) HasSyncedChecker() DoneChecker {
	if c.follower != nil {
		return c.follower.HasSyncedChecker()
	}
	return c.queue.HasSyncedChecker()
}

// LastSyncResourceVersion returns the last resourceVersion that the reflector received, or "".
func (c *controller) LastSyncResourceVersion() string {
	if c.follower != nil {
		return c.follower.Version()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.mu.reflector == nil {
		return ""
	}
	return c.mu.reflector.Version()
}
