// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/pipeline"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/switched"
)

// NewSharedInformer returns a SharedInformer for the objects of lw; see
// NewSharedIndexInformerWithOptions.
func NewSharedInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, Indexers{})
}

// NewSharedIndexInformer returns a SharedIndexInformer for the objects of lw; see
// NewSharedIndexInformerWithOptions.
func NewSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions returns an informer that does nothing until it is run.
// exampleObject has the type of the objects; nil admits any type. Objects of other types are reported
// and dropped. Indexers are copied. Without a ListerWatcher, or with a nil index function, Run logs an
// error and returns.
//
// options.ResyncPeriod is the default period of handlers, and how often the informer checks which
// handlers are due; 0 means never.
//
// With KINFORMER=off in the environment, or with off: and a name of the objects, the informer is client-go's; see
// docs/operating.md.
func NewSharedIndexInformerWithOptions(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	if why := switched.Decide(lw, switched.SubjectOf(options.Identifier, exampleObject), ""); why != "" && !switched.HasNil(options.Indexers) {
		return switched.New(lw, exampleObject, options, why, func() SharedIndexInformer { return newSharedIndexInformer(lw, exampleObject, options) })
	}
	return newSharedIndexInformer(switched.Kept(lw), exampleObject, options)
}

func newSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) *sharedIndexInformer {
	s := &sharedIndexInformer{
		store: newStore(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
			storeOptions{identifier: options.Identifier, metrics: options.InformerMetricsProvider}),
		listerWatcher: lw,
		objectType:    exampleObject,
		options:       options,
		clock:         clock.RealClock{},
		synced:        make(chan struct{}),
		failures:      &queue.Failures{},
		report:        reflector.NewJournal(),
		relister:      &reflector.Relister{},
	}
	s.informerHolder = door.NewHolder(door.Look(s.look))
	s.processor = fanout.NewProcessor(s.HasSyncedChecker(), s.clock)
	s.mutations = mutations{report: s.report, processor: s.processor, enabled: detectsMutations}
	s.pipeline = pipeline.New(pipeline.Options{
		Contents: &s.store.contents, Failures: s.failures, Deliver: s.distribute, Room: s.processor.Room,
	})
	s.life.resyncCheckPeriod = options.ResyncPeriod
	checkIndexers(options.Indexers, &s.config.Bad)
	s.configure(func(*door.Config) {})
	s.mutations.detector = NewCacheMutationDetector(s.report.Name())
	return s
}

// configure changes options that client-go lacks. It must be called before the informer is shared.
func (s *sharedIndexInformer) configure(change func(*door.Config)) {
	change(&s.config)
	s.config.Requests.Resource = s.config.Resource
	known := about(s.config.Requests, s.options.Identifier, s.options.ObjectDescription, s.objectType)
	known.Describe(s.report)
	s.failures.Hook, s.store.onFailure = s.config.OnProcessError, s.config.OnIndexFailure
	if s.unfit = s.config.Bad.As(door.ErrBadOptions); s.unfit != nil {
		s.report.Refuse(s.unfit)
	}
}

// sharedIndexInformer is one reflector, queue and store for any number of handlers.
//
// Lock order: pipeline.Delivery, then life, then those of the processor and of its listeners.
type sharedIndexInformer struct {
	informerHolder
	store         *keyedStore
	pipeline      *pipeline.Pipeline
	processor     *fanout.Processor
	mutations     mutations
	listerWatcher ListerWatcher
	objectType    runtime.Object
	options       SharedIndexInformerOptions
	config        door.Config
	unfit         error // the reason why the informer cannot run, or nil
	clock         clock.Clock
	synced        chan struct{} // closed when the first list is in the store
	announced     sync.Once     // the closing of synced
	failures      *queue.Failures
	report        *reflector.Journal
	relister      *reflector.Relister
	observed      door.Observed

	// life has the informer's phase (new, started, stopped) and the fields that may only be set before the
	// start.
	life struct {
		sync.Mutex
		phase             phase
		controller        *controller // nil before the start
		watchErrorHandler WatchErrorHandlerWithContext
		transform         TransformFunc
		resyncCheckPeriod time.Duration
		badShard          error // the reason why the last shard selector cannot be used, or nil
	}
}

// phase is the phase of an informer's life. It only goes forward.
type phase uint8

const (
	phaseNew     phase = iota // handlers, transform and error handler may be set
	phaseStarted              // Run was called
	phaseStopped              // the controller has ended; handlers may still be finishing
)

var (
	errAlreadyStarted = errors.New("informer has already started")
	errAlreadyStopped = errors.New("it has stopped already")
)

// Run is RunWithContext for a stop channel.
func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext follows the server until ctx ends or an ErrorPolicy stops the informer. It returns when
// no handler is running any more. Pending notifications are dropped. A second call only logs. An
// informer with invalid options, or without a ListerWatcher, logs an error and is stopped at once.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	controller := s.start(ctx)
	if controller == nil {
		event.Warn(klog.FromContext(ctx), 0, "An informer runs only once; this call does nothing")
		return
	}
	defer s.observed.Enter(s)()
	// Handlers go on until the controller has ended, also after the end of ctx.
	handling, stopHandling := context.WithCancel(context.WithoutCancel(ctx))
	var group wait.Group
	defer group.Wait()
	defer s.processor.Stop()
	defer stopHandling()
	group.StartWithContext(handling, s.mutations.run)
	group.StartWithContext(handling, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-controller.HasSyncedChecker().Done():
			s.announceSynced()
		}
	})
	defer s.ended(controller)
	controller.run(ctx)
}

// start makes the controller. It returns nil if the informer has a controller already.
func (s *sharedIndexInformer) start(ctx context.Context) *controller {
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.phase != phaseNew {
		return nil
	}
	if s.config.Transform != nil {
		s.life.transform = s.config.Transform
	}
	logger := klog.FromContext(ctx)
	s.processor.SetLogger(logger)
	s.pipeline.Open(s.report.Name(), s.options.InformerMetricsProvider, queue.Options{
		Logger: &logger, Transform: s.life.transform, Identifier: s.options.Identifier, KeepCached: s.config.KeepCached,
	})
	queue := s.pipeline.Queue
	queue.SetLimit(s.config.Limit)
	queue.Through = s.processor.MadeRoom
	s.life.phase = phaseStarted
	handle := s.pipeline.Handle // once: each method value is an allocation
	requests := s.requestsLocked()
	requests.WarnOfUnshared(logger, s.report.Name())
	s.life.controller = newController(parts{
		config: Config{
			ListerWatcher:                s.listerWatcher,
			ObjectType:                   s.objectType,
			ObjectDescription:            s.options.ObjectDescription,
			FullResyncPeriod:             s.life.resyncCheckPeriod,
			ShouldResync:                 s.processor.ShouldResync,
			WatchErrorHandlerWithContext: s.life.watchErrorHandler,
		},
		identity: s.options.Identifier,
		requests: requests,
		pipeline: s.pipeline, sink: s.pipeline, queue: queue,
		take:     func() error { return queue.PopAll(handle) },
		calls:    "the transform or an index function",
		follower: s.config.Follower, failures: s.failures, unfit: cmp.Or(s.unfit, s.life.badShard), report: s.report, relister: s.relister,
	})
	return s.life.controller
}

// requestsLocked returns the options of requests, without the decoding options that the transform
// function does not allow.
func (s *sharedIndexInformer) requestsLocked() reflector.Options {
	requests := s.config.Requests
	if s.config.GuardsWrites {
		requests = requests.Guarded(s.stored)
		s.store.owner = s
	}
	if s.life.transform == nil {
		return requests
	}
	return requests.Transformed(s.config.TransformCopies || event.KeepsParts(s.life.transform, s.objectType))
}

// stored returns the object of a name in the store.
func (s *sharedIndexInformer) stored(namespace, name string) (obj any, exists bool) {
	obj, exists, _ = s.store.GetByKey(NewObjectName(namespace, name).String())
	return obj, exists
}

// distribute passes changes of the store to the handlers and to the mutation detector.
func (s *sharedIndexInformer) distribute(changes []event.Change) {
	s.mutations.watch(changes)
	s.processor.Distribute(changes)
}

// look returns the informer as a door.Informer.
func (s *sharedIndexInformer) look() *door.Informer {
	known := &door.Informer{
		Controller: s, Resource: s.report.Name(), Example: s.objectType, Identity: s.options.Identifier,
		Keep:   s.config.Requests.Keeps(),
		Report: s.report, Relister: s.relister, Observed: &s.observed, Processor: s.processor, ProcessErrors: s.failures.Known,
		Configure: s.configure,
	}
	known.SetStore(s.store.table, s.pipeline.Applier, &s.pipeline.Delivery)
	if s.config.Follower != nil {
		of := s.config.Follower
		known.Follower, known.Parts, known.Together = of, of.Parts, of.Together
	}
	if c := s.started(); c != nil {
		known.Requests = c.reflectorOptions
		known.AddQueue(c.queue)
	}
	return known
}

// started returns the informer's controller, or nil before the start.
func (s *sharedIndexInformer) started() *controller {
	s.life.Lock()
	defer s.life.Unlock()
	return s.life.controller
}

// announceSynced announces that the first list is in the store and distributed.
func (s *sharedIndexInformer) announceSynced() {
	s.announced.Do(func() {
		close(s.synced)
		s.processor.UpstreamSynced()
	})
}

// ended reports the end of the informer. If the first list is in the store, ended announces that
// before.
func (s *sharedIndexInformer) ended(c *controller) {
	if c.HasSynced() {
		s.announceSynced()
	}
	s.report.End()
	s.life.Lock()
	defer s.life.Unlock()
	s.life.phase = phaseStopped
}

// HasStarted reports whether Run was called.
func (s *sharedIndexInformer) HasStarted() bool {
	s.life.Lock()
	defer s.life.Unlock()
	return s.life.phase != phaseNew
}

// IsStopped reports whether the informer has stopped following the server. Handlers may still be
// finishing.
func (s *sharedIndexInformer) IsStopped() bool {
	s.life.Lock()
	defer s.life.Unlock()
	return s.life.phase == phaseStopped
}

// HasSynced reports whether the first list is in the store. Whether a handler has been called for the
// list, its registration reports.
func (s *sharedIndexInformer) HasSynced() bool { return IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker returns a checker whose channel is closed once HasSynced returns true.
func (s *sharedIndexInformer) HasSyncedChecker() DoneChecker {
	return informerSynced{s.report, s.synced}
}

// informerSynced is the DoneChecker of an informer. It does not keep the informer in memory.
type informerSynced struct {
	report *reflector.Journal
	synced <-chan struct{}
}

func (c informerSynced) Name() string { return "SharedIndexInformer " + c.report.Name() }

func (c informerSynced) Done() <-chan struct{} { return c.synced }

// LastSyncResourceVersion returns the last resourceVersion that the reflector received, or "".
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.controller == nil {
		return ""
	}
	return s.life.controller.LastSyncResourceVersion()
}

// GetStore returns the informer's store, for reading only.
func (s *sharedIndexInformer) GetStore() Store { return s.store }

// GetIndexer returns the informer's store, for reading only.
func (s *sharedIndexInformer) GetIndexer() Indexer { return s.store }

// AddIndexers adds indices, before or after the start. It fails on a stopped informer and for a
// name that exists.
//
// The watch continues meanwhile. Its events reach the store and the handlers when the indices are complete.
func (s *sharedIndexInformer) AddIndexers(indexers Indexers) error {
	// life is not held while index functions run: they may be slow, and may call IsStopped.
	if s.IsStopped() {
		return fmt.Errorf("indexers were not added to the shared informer because %w", errAlreadyStopped)
	}
	return s.store.AddIndexers(indexers)
}

// GetController returns a view of the informer: its Run does nothing, the rest is live.
func (s *sharedIndexInformer) GetController() Controller { return &controllerView{s.informerHolder, s} }

// controllerView is an informer as a Controller that cannot be run. Only its pointers can be compared.
type controllerView struct {
	informerHolder
	informer *sharedIndexInformer
}

func (controllerView) Run(<-chan struct{}) {}

func (controllerView) RunWithContext(context.Context) {}

func (v controllerView) HasSynced() bool { return v.informer.HasSynced() }

func (v controllerView) HasSyncedChecker() DoneChecker { return v.informer.HasSyncedChecker() }

func (v controllerView) LastSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.InformerResourceVersion) {
		return ""
	}
	return v.informer.LastSyncResourceVersion()
}

// SetWatchErrorHandler sets the function that is called with errors of list and watch, before the start
// only. The last call counts.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets the function that is called with errors of list and watch, before
// the start only. The last call counts.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	return s.beforeStart(func() { s.life.watchErrorHandler = handler })
}

// SetTransform sets the function that transforms every object before it is stored. It must be called before the
// start. The last call counts, unless the informer's factory has factory.WithTransform. The function owns its
// argument, must be idempotent, and gets no tombstones. A nil result of any type without an error counts as an error.
func (s *sharedIndexInformer) SetTransform(transform TransformFunc) error {
	return s.beforeStart(func() { s.life.transform = transform })
}

// SetShardSelector makes the informer follow only the objects that the selector matches. It must be called
// before the start. The last call counts. Each source of an informer of several sources is restricted; a
// source that is a shard itself keeps the objects of both. Servers that do not support the selector send
// all objects, of which the informer leaves the others out, as far as possible before it decodes them.
//
// If the error says that the selector is none of ranges of one field, as those of apimachinery are, the
// informer does not run: generated factories ignore the error.
func (s *sharedIndexInformer) SetShardSelector(selector sharding.Selector) error {
	part, bad := shard.Select(selector)
	err := s.beforeStart(func() {
		s.config.Requests.Part, s.life.badShard = part, nil
		if bad != nil {
			s.life.badShard = fmt.Errorf("%w: %w", door.ErrBadOptions, bad)
		}
	})
	return cmp.Or(err, bad)
}

func (s *sharedIndexInformer) beforeStart(set func()) error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.phase != phaseNew {
		return errAlreadyStarted
	}
	set()
	return nil
}
