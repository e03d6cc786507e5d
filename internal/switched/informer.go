// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package switched

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/shard"
)

// Entry describes an informer or controller of client-go's in the place of one of this module's.
type Entry struct {
	What  string // the resource of its objects if it is known, otherwise their kind or their type
	Why   string // the rule of the environment, or the option, that has selected it
	Self  Syncer
	Store clientgo.Store // nil with a queue of the user's
	Ended chan struct{}  // closed when Run has returned
}

// Syncer is an informer or a controller.
type Syncer interface {
	HasSynced() bool
	HasSyncedChecker() clientgo.DoneChecker
	LastSyncResourceVersion() string
}

// entry is promoted to types that embed an Entry.
func (e *Entry) entry() *Entry { return e }

// Of returns the Entry of an informer or controller, also of a wrapper with a GetController method, and nil if it
// is not client-go's in the place of one of this module's.
func Of(informer any) *Entry {
	if of, ok := informer.(interface{ entry() *Entry }); ok {
		return of.entry()
	}
	if wrapper, ok := informer.(interface{ GetController() clientgo.Controller }); ok {
		if of, ok := wrapper.GetController().(interface{ entry() *Entry }); ok {
			return of.entry()
		}
	}
	return nil
}

// newEntry describes what is client-go's, and logs that once for the same objects and the same reason.
func newEntry(of Subject, why string) *Entry {
	e, t := &Entry{What: of.name(), Why: why, Ended: make(chan struct{})}, fmt.Sprintf("%T", of.Example)
	once("engine "+e.What+" "+t+" "+why, func() {
		klog.Background().Info("An informer is client-go's", "of", e.What, "type", t, "because", why)
	})
	return e
}

// running has the entries whose Run has not returned, in the order of their start.
var running struct {
	sync.Mutex
	entries []*Entry
}

// Running returns the informers and controllers of client-go's that run in the place of this module's.
func Running() []*Entry {
	running.Lock()
	defer running.Unlock()
	return slices.Clone(running.entries)
}

// run calls run, and records in Running that the entry runs. A second call, with which nothing runs, changes
// nothing.
func (e *Entry) run(run func()) {
	running.Lock()
	again := slices.Contains(running.entries, e) || e.HasEnded()
	if !again {
		running.entries = append(running.entries, e)
	}
	running.Unlock()
	if !again {
		defer e.leave()
	}
	run()
}

func (e *Entry) leave() {
	running.Lock()
	defer running.Unlock()
	running.entries = slices.DeleteFunc(running.entries, func(other *Entry) bool { return other == e })
	close(e.Ended)
}

// HasEnded reports whether Run has returned.
func (e *Entry) HasEnded() bool {
	select {
	case <-e.Ended:
		return true
	default:
		return false
	}
}

// Informer is an informer of client-go's in the place of one of this module's.
type Informer struct {
	clientgo.SharedIndexInformer
	*Entry
	source *selected
	ours   func() clientgo.SharedIndexInformer

	mu struct {
		sync.Mutex
		started bool
		handled bool                                 // a handler was added
		set     []func(clientgo.SharedIndexInformer) // repeats what was set, for Ours
		trim    func(any)                            // comes before the transform; may be nil
		fixed   clientgo.TransformFunc               // replaces those of SetTransform; may be nil
	}
}

// New returns an informer of client-go's. why is the result of Decide, and ours makes the informer in whose place
// it is.
func New(lw clientgo.ListerWatcher, example runtime.Object, options clientgo.SharedIndexInformerOptions, why string,
	ours func() clientgo.SharedIndexInformer,
) *Informer {
	s := &Informer{source: &selected{all: lw, part: lw}, ours: ours}
	options.Indexers = Copied(options.Indexers)
	s.SharedIndexInformer = clientgo.NewSharedIndexInformerWithOptions(s.source, example, options)
	s.Entry = newEntry(SubjectOf(options.Identifier, example), why)
	s.Self, s.Store = s, s.GetStore()
	return s
}

// HasNil reports whether an index function is nil. client-go's stores panic with it, and this module's refuse it.
func HasNil(indexers clientgo.Indexers) bool {
	for _, f := range indexers {
		if f == nil {
			return true
		}
	}
	return false
}

// Copied returns a copy of indexers. client-go's stores do not copy them, and panic if more are added to nil.
func Copied(indexers clientgo.Indexers) clientgo.Indexers {
	copied := clientgo.Indexers{}
	maps.Copy(copied, indexers)
	return copied
}

// SubjectOf returns the Subject of an informer.
func SubjectOf(id clientgo.InformerNameAndResource, example any) Subject {
	return Subject{id.GroupVersionResource(), example}
}

// Run is RunWithContext for a stop channel.
func (s *Informer) Run(stop <-chan struct{}) { s.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext runs client-go's informer. Only the first call does: of two at once, client-go's may run both.
func (s *Informer) RunWithContext(ctx context.Context) {
	s.mu.Lock()
	again := s.mu.started
	s.mu.started, s.mu.set = true, nil
	s.mu.Unlock()
	if again {
		event.Warn(klog.FromContext(ctx), 0, "An informer runs only once; this call does nothing")
		return
	}
	s.run(func() { s.SharedIndexInformer.RunWithContext(ctx) })
}

// Ours returns the informer in whose place s is, with what was set in s. It returns an error if s has a handler,
// whose registration would be lost, or was run.
func (s *Informer) Ours() (clientgo.SharedIndexInformer, error) {
	s.mu.Lock()
	refused, all := s.mu.started || s.mu.handled, slices.Clone(s.mu.set)
	s.mu.Unlock()
	if refused {
		return nil, fmt.Errorf("the informer is client-go's (%s) and has a handler already, or runs", s.Why)
	}
	stays("informers of several sources, and those that cannot run", s.Why)
	ours := s.ours()
	for _, set := range all {
		set(ours)
	}
	return ours, nil
}

// again records something to be set in Ours, unless that failed.
func (s *Informer) again(err error, set func(clientgo.SharedIndexInformer)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && !s.mu.started {
		s.mu.set = append(s.mu.set, set)
	}
	return err
}

// SetWatchErrorHandler is that of client-go's informer.
func (s *Informer) SetWatchErrorHandler(handler clientgo.WatchErrorHandler) error {
	return s.again(s.SharedIndexInformer.SetWatchErrorHandler(handler), func(i clientgo.SharedIndexInformer) { _ = i.SetWatchErrorHandler(handler) })
}

// SetWatchErrorHandlerWithContext is that of client-go's informer.
func (s *Informer) SetWatchErrorHandlerWithContext(handler clientgo.WatchErrorHandlerWithContext) error {
	return s.again(s.SharedIndexInformer.SetWatchErrorHandlerWithContext(handler),
		func(i clientgo.SharedIndexInformer) { _ = i.SetWatchErrorHandlerWithContext(handler) })
}

// AddIndexers is that of client-go's informer. It refuses a nil function.
func (s *Informer) AddIndexers(indexers clientgo.Indexers) error {
	if HasNil(indexers) {
		return errNilIndexFunc
	}
	return s.again(s.SharedIndexInformer.AddIndexers(indexers), func(i clientgo.SharedIndexInformer) { _ = i.AddIndexers(indexers) })
}

var errNilIndexFunc = errors.New("an index function is nil")

// HasStarted reports whether Run was called.
func (s *Informer) HasStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.started
}

// GetController returns client-go's, by which Of finds the informer behind a wrapper.
func (s *Informer) GetController() clientgo.Controller {
	return struct {
		clientgo.Controller
		*Entry
	}{s.SharedIndexInformer.GetController(), s.Entry}
}

// Trim makes trim remove fields from each object before a transform function sees it.
func (s *Informer) Trim(trim func(any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.trim = trim
	_ = s.setLocked(nil) // it has not started
}

// Through makes requests go through what wrap returns for the ListerWatcher. It must be called before the informer is
// shared.
func (s *Informer) Through(wrap func(clientgo.ListerWatcherWithContext) clientgo.ListerWatcherWithContext) {
	s.source.through = wrap
}

// Fix makes transform replace those of SetTransform, unless it is nil.
func (s *Informer) Fix(transform clientgo.TransformFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.fixed = transform
	_ = s.setLocked(nil)
}

// SetTransform is that of client-go's informer, after what Trim and Fix have set.
func (s *Informer) SetTransform(transform clientgo.TransformFunc) error {
	s.mu.Lock()
	err := s.setLocked(transform)
	s.mu.Unlock()
	return s.again(err, func(i clientgo.SharedIndexInformer) { _ = i.SetTransform(transform) })
}

func (s *Informer) setLocked(transform clientgo.TransformFunc) error {
	if s.mu.fixed != nil {
		transform = s.mu.fixed
	}
	trim := s.mu.trim
	if trim == nil {
		return s.SharedIndexInformer.SetTransform(transform)
	}
	return s.SharedIndexInformer.SetTransform(func(obj any) (any, error) {
		trim(obj)
		if transform == nil {
			return obj, nil
		}
		return transform(obj)
	})
}

// AddEventHandler is AddEventHandlerWithOptions without options.
func (s *Informer) AddEventHandler(handler clientgo.ResourceEventHandler) (clientgo.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientgo.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is AddEventHandlerWithOptions with a resync period.
func (s *Informer) AddEventHandlerWithResyncPeriod(handler clientgo.ResourceEventHandler, resync time.Duration) (clientgo.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientgo.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions adds a handler, as client-go does. It refuses what this module's informers refuse,
// and logs that a delivery has no effect.
func (s *Informer) AddEventHandlerWithOptions(handler clientgo.ResourceEventHandler, options clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	if fanout.HasDelivered(handler) {
		LeftOut(s.What, "the Delivery of a handler")
	}
	if delivered, is := handler.(fanout.Delivered); is {
		if handler = delivered.ResourceEventHandler; delivered.Err != nil {
			return nil, delivered.Err
		}
	}
	if handler == nil {
		return nil, fanout.ErrNilHandler
	}
	s.mu.Lock()
	s.mu.handled = true
	s.mu.Unlock()
	return s.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

// LeftOut logs, once in the process, that something has no effect on informers of client-go's.
func LeftOut(of, what string) {
	once("left out "+what, func() {
		event.Warn(klog.Background(), 1, "An informer is client-go's, which has no counterpart of some of its options: they have no effect",
			"of", of, "without", what)
	})
}

// SetShardSelector makes the informer follow only the objects that the selector matches, as that of this
// module's informers does. With a selector that is refused each request fails.
func (s *Informer) SetShardSelector(selector sharding.Selector) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.started {
		return errStarted
	}
	_, bad := shard.Select(selector)
	s.source.part = shard.NewSelected(s.source.all, selector)
	s.mu.set = append(s.mu.set, func(i clientgo.SharedIndexInformer) {
		_ = i.(interface {
			SetShardSelector(sharding.Selector) error
		}).SetShardSelector(selector)
	})
	return bad
}

var errStarted = errors.New("informer has already started")

// selected is a ListerWatcher of which a shard may be selected before the first request.
type selected struct {
	all, part clientgo.ListerWatcher
	through   func(clientgo.ListerWatcherWithContext) clientgo.ListerWatcherWithContext // nil: nothing
}

// lists returns what requests go to.
func (l *selected) lists() clientgo.ListerWatcherWithContext {
	lists := clientgo.ToListerWatcherWithContext(l.part)
	if l.through == nil {
		return lists
	}
	return l.through(lists)
}

// List is ListWithContext without a context.
func (l *selected) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext without a context.
func (l *selected) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext lists.
func (l *selected) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return l.lists().ListWithContext(ctx, o)
}

// WatchWithContext watches.
func (l *selected) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return l.lists().WatchWithContext(ctx, o)
}

// IsWatchListSemanticsUnSupported reports whether the ListerWatcher does not support streaming lists.
func (l *selected) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.all)
}

// Controller is a controller of client-go's in the place of one of this module's.
type Controller struct {
	clientgo.Controller
	*Entry
}

// NewController returns a controller of client-go's for objects like example, with its store if that is known.
func NewController(c clientgo.Controller, store clientgo.Store, of Subject, why string) *Controller {
	s := &Controller{c, newEntry(of, why)}
	s.Self, s.Store = s, store
	return s
}

// Run is RunWithContext for a stop channel.
func (c *Controller) Run(stop <-chan struct{}) { c.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext runs client-go's controller.
func (c *Controller) RunWithContext(ctx context.Context) {
	c.run(func() { c.Controller.RunWithContext(ctx) })
}
