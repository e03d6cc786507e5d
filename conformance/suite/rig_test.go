// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/minor"
)

// implementation is everything that the suite knows of one side. All types that cross the border
// are client-go's own; ours are aliases of them.
type implementation struct {
	// name is the subtest's name.
	name string
	// reference says that this is client-go: where the sides differ on purpose, the first
	// expectation is its.
	reference bool
	stores    storeRig
	queues    queueRig
	informers informerRig
}

// storeFeatures stands for the store options, whose types each implementation has for itself.
type storeFeatures struct {
	// transformer is passed on when not nil.
	transformer cache.TransformFunc
	// identifier and provider are passed on when provider is not nil.
	identifier cache.InformerNameAndResource
	provider   cache.InformerMetricsProvider
}

// storeRig makes stores.
type storeRig struct {
	store      func(cache.KeyFunc, storeFeatures) cache.Store
	indexer    func(cache.KeyFunc, cache.Indexers, storeFeatures) cache.Indexer
	threadSafe func(cache.Indexers, storeFeatures) cache.ThreadSafeStore
}

// queueRig makes queues.
type queueRig struct {
	delta func(cache.DeltaFIFOOptions) cache.Queue
	real  func(cache.RealFIFOOptions) cache.QueueWithBatch
	fifo  func(cache.KeyFunc) cache.Queue
	// The constructors with positional parameters.
	plainDelta func(cache.KeyFunc, cache.KeyListerGetter) cache.Queue
	plainReal  func(cache.KeyFunc, cache.KeyListerGetter, cache.TransformFunc) cache.QueueWithBatch
}

// informerRig makes informers and the controllers under them.
type informerRig struct {
	shared     func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	informer   func(cache.InformerOptions) (cache.Store, cache.Controller)
	controller func(*cache.Config) cache.Controller
	// The constructors with positional parameters.
	plainShared              func(cache.ListerWatcher, runtime.Object, time.Duration) cache.SharedInformer
	plainInformer            func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler) (cache.Store, cache.Controller)
	plainIndexer             func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.Indexers) (cache.Indexer, cache.Controller)
	plainTransforming        func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.TransformFunc) (cache.Store, cache.Controller)
	plainTransformingIndexer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.Indexers, cache.TransformFunc) (cache.Indexer, cache.Controller)
}

// implementations is what the suite runs on, the reference first.
var implementations []implementation

// storeCase and queueCase are behaviors that need no time.
type (
	storeCase struct {
		name string
		run  func(*testing.T, implementation)
	}
	queueCase = storeCase
)

// onEach runs the cases on every implementation.
func onEach(t *testing.T, cases []storeCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					reported.reset()
					c.run(t, impl)
				})
			}
		})
	}
}

// informerCase is a behavior of an informer or controller, run in a bubble once for each source
// mode.
type informerCase struct {
	name string
	run  func(*testing.T, *stage)
	// only restricts the case to one source mode.
	only sourceMode
	// since037 leaves the reference out if it is older than v0.37.
	since037 bool
}

// onStage runs the cases on every implementation with either source.
func onStage(t *testing.T, cases []informerCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, mode := range []sourceMode{byList, byStream} {
				t.Run(string(mode), func(t *testing.T) {
					for _, c := range cases {
						if c.only != "" && c.only != mode || c.since037 && minor.Own && impl.reference {
							continue
						}
						t.Run(c.name, func(t *testing.T) { inBubble(t, impl, mode, c.run) })
					}
				})
			}
		})
	}
}

func inBubble(t *testing.T, impl implementation, mode sourceMode, run func(*testing.T, *stage)) {
	synctest.Test(t, func(t *testing.T) {
		reported.reset()
		s := &stage{impl: impl, source: newSource(mode)}
		defer s.close()
		run(t, s)
	})
}

// differs chooses between what the reference does and what ours does on purpose, and prints why.
func differs[T any](t *testing.T, impl implementation, reason string, clientgo, ours T) T {
	t.Helper()
	if impl.reference {
		return clientgo
	}
	t.Logf("differs: %s", reason)
	return ours
}

// stage is what an informer case works with: one implementation, a source, and whatever it runs.
type stage struct {
	impl   implementation
	source *source
	runs   []*running
}

// running is a Run call on its way.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// shared makes a pod informer over the source.
func (s *stage) shared(opts cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return s.impl.informers.shared(s.source, &corev1.Pod{}, opts)
}

// start calls RunWithContext in a goroutine and waits until nothing moves any more.
func (s *stage) start(runner interface{ RunWithContext(context.Context) }) *running {
	return s.startWith(context.Background(), runner)
}

func (s *stage) startWith(ctx context.Context, runner interface{ RunWithContext(context.Context) }) *running {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{cancel: cancel, done: make(chan struct{})}
	s.runs = append(s.runs, r)
	go func() {
		defer close(r.done)
		runner.RunWithContext(ctx)
	}()
	synctest.Wait()
	return r
}

// stop cancels the run and waits for it to return.
func (r *running) stop() {
	r.cancel(nil)
	<-r.done
}

// returned says whether Run has returned.
func (r *running) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// close stops everything that the case started.
func (s *stage) close() {
	for _, r := range s.runs {
		r.stop()
	}
}

// settle waits until nothing moves; time stands still meanwhile.
func settle() { synctest.Wait() }

// pass lets fake time go by and settles.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// elapsed is the fake time that f takes.
func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// recorder is a handler that writes down its notifications, each as one short line:
//
//	add a@11 initial    add a@11    update a@11 a@12    delete a@13    delete gone(a@12)
//
// hook, when set, runs inside the callback after the line was written.
type recorder struct {
	mu struct {
		sync.Mutex
		lines []string
		when  []time.Time
		raw   []any
	}
	hook func(line string)
}

func (r *recorder) note(obj any, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.mu.lines = append(r.mu.lines, line)
	r.mu.when = append(r.mu.when, time.Now())
	r.mu.raw = append(r.mu.raw, obj)
	r.mu.Unlock()
	if r.hook != nil {
		r.hook(line)
	}
}

// OnAdd implements ResourceEventHandler.
func (r *recorder) OnAdd(obj any, initial bool) {
	if initial {
		r.note(obj, "add %s initial", label(obj))
		return
	}
	r.note(obj, "add %s", label(obj))
}

// OnUpdate implements ResourceEventHandler.
func (r *recorder) OnUpdate(old, obj any) { r.note(obj, "update %s %s", label(old), label(obj)) }

// OnDelete implements ResourceEventHandler.
func (r *recorder) OnDelete(obj any) { r.note(obj, "delete %s", label(obj)) }

// take returns the lines since the last take, never nil.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]string{}, r.mu.lines...)
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// takeRaw returns the objects of the notifications since the last take.
func (r *recorder) takeRaw() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.mu.raw
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// times returns when each notification since the last take came, counted from start.
func (r *recorder) times(start time.Time) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []time.Duration{}
	for _, t := range r.mu.when {
		out = append(out, t.Sub(start))
	}
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// add registers the handler with the informer's default resync period.
func add(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	t.Helper()
	handle, err := informer.AddEventHandler(handler)
	require.NoError(t, err)
	return handle
}

// listen registers a recorder with the informer.
func listen(t *testing.T, informer cache.SharedInformer) *recorder {
	t.Helper()
	rec := &recorder{}
	add(t, informer, rec)
	return rec
}

// addEvery registers the handler with a resync period of its own.
func addEvery(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler, period time.Duration) cache.ResourceEventHandlerRegistration {
	t.Helper()
	handle, err := informer.AddEventHandlerWithResyncPeriod(handler, period)
	require.NoError(t, err)
	return handle
}

// gate blocks whoever passes until it is opened. It belongs to the bubble that made it.
type gate chan struct{}

func newGate() gate { return make(chan struct{}) }

func (g gate) pass() { <-g }
func (g gate) open() { close(g) }

// sourceMode says how a source offers its initial state.
type sourceMode string

const (
	// byList makes the reflector use LIST and WATCH.
	byList sourceMode = "list"
	// byStream makes it use a watch-list stream.
	byStream sourceMode = "stream"
)

// source is a scripted API server for pods: a current state, the history since the start, and a log
// of the requests. It is not cachetest's, which is held to what a server does: here objects have no
// UID and perhaps no version, writes are kept from open streams (miss) or get no version (keep),
// and events say what no server says. Every method is safe for concurrent use. The hooks onList and
// onWatch are asked before a request is answered; an error of theirs is the answer. They are called
// without the lock.
type source struct {
	mode sourceMode
	mu   struct {
		sync.Mutex
		rv       int
		pods     map[string]*corev1.Pod
		history  []watch.Event
		streams  []*stream
		requests []request
		onList   func(context.Context, metav1.ListOptions) error
		onWatch  func(context.Context, metav1.ListOptions) error
	}
}

// request is one call of the reflector: verb is "list", "watch" or "stream" (a watch that asks for
// the initial events).
type request struct {
	verb string
	opts metav1.ListOptions
}

func newSource(mode sourceMode) *source {
	s := &source{mode: mode}
	s.mu.rv = 10
	s.mu.pods = map[string]*corev1.Pod{}
	return s
}

// IsWatchListSemanticsUnSupported keeps reflectors from streaming when the source is to be listed.
func (s *source) IsWatchListSemanticsUnSupported() bool { return s.mode == byList }

// List is only there for the interface; reflectors prefer the form with a context.
func (s *source) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

// Watch is only there for the interface.
func (s *source) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

// ListWithContext answers the state, ordered by name.
func (s *source) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	if err := s.ask(ctx, "list", opts); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.mu.rv)}}
	for _, name := range slices.Sorted(maps.Keys(s.mu.pods)) {
		list.Items = append(list.Items, *s.mu.pods[name].DeepCopy())
	}
	return list, nil
}

// WatchWithContext opens a stream: the initial events and their bookmark if asked for, else what
// happened since the resource version.
func (s *source) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	verb := "watch"
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb = "stream"
	}
	if err := s.ask(ctx, verb, opts); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := newStream()
	if verb == "stream" {
		s.sendStateLocked(w)
	} else {
		s.sendHistoryLocked(w, opts.ResourceVersion)
	}
	s.mu.streams = append(s.mu.streams, w)
	return w, nil
}

func (s *source) ask(ctx context.Context, verb string, opts metav1.ListOptions) error {
	s.mu.Lock()
	s.mu.requests = append(s.mu.requests, request{verb, opts})
	hook := s.mu.onWatch
	if verb == "list" {
		hook = s.mu.onList
	}
	s.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(ctx, opts)
}

func (s *source) sendStateLocked(w *stream) {
	for _, name := range slices.Sorted(maps.Keys(s.mu.pods)) {
		w.send(watch.Event{Type: watch.Added, Object: s.mu.pods[name].DeepCopy()})
	}
	w.send(bookmark(strconv.Itoa(s.mu.rv), true))
}

func (s *source) sendHistoryLocked(w *stream, since string) {
	from, err := strconv.Atoi(since)
	if err != nil {
		return
	}
	for _, e := range s.mu.history {
		if rv, err := strconv.Atoi(e.Object.(*corev1.Pod).ResourceVersion); err == nil && rv > from {
			w.send(watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()})
		}
	}
}

// onList and onWatch set the hooks; nil removes them.
func (s *source) onList(hook func(context.Context, metav1.ListOptions) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onList = hook
}

func (s *source) onWatch(hook func(context.Context, metav1.ListOptions) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onWatch = hook
}

// fail makes every request answer the error, nil lets them through again.
func (s *source) fail(err error) {
	s.failLists(err)
	s.failWatches(err)
}

// failLists makes every LIST answer the error, nil lets them through again.
func (s *source) failLists(err error) {
	s.onList(func(context.Context, metav1.ListOptions) error { return err })
}

// failWatches does the same for watches and streams.
func (s *source) failWatches(err error) {
	s.onWatch(func(context.Context, metav1.ListOptions) error { return err })
}

// put writes the pod at the next resource version and sends the event. It returns the resource
// version.
func (s *source) put(p *corev1.Pod) string {
	return s.change(p, true)
}

// miss writes the pods and removes the names without any event: what an informer misses while
// disconnected.
func (s *source) miss(pods []*corev1.Pod, removed ...string) {
	for _, p := range pods {
		s.change(p, false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range removed {
		delete(s.mu.pods, name)
		s.mu.rv++
	}
}

// keep writes the pod without moving any resource version and without an event.
func (s *source) keep(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.pods[p.Name] = p.DeepCopy()
}

func (s *source) change(p *corev1.Pod, tell bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rv++
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(s.mu.rv)
	kind := watch.Added
	if _, there := s.mu.pods[p.Name]; there {
		kind = watch.Modified
	}
	s.mu.pods[p.Name] = p
	if tell {
		s.tellLocked(watch.Event{Type: kind, Object: p})
	}
	return p.ResourceVersion
}

// remove deletes the pod, sending its last state at the resource version of the deletion.
func (s *source) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rv++
	last := s.mu.pods[name].DeepCopy()
	delete(s.mu.pods, name)
	last.ResourceVersion = strconv.Itoa(s.mu.rv)
	s.tellLocked(watch.Event{Type: watch.Deleted, Object: last})
}

func (s *source) tellLocked(e watch.Event) {
	s.mu.history = append(s.mu.history, e)
	for _, w := range s.mu.streams {
		w.send(watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()})
	}
}

// send puts any event on the open streams without changing the state.
func (s *source) send(e watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.send(e)
	}
}

// cut closes the open streams, as a broken connection does.
func (s *source) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.Stop()
	}
	s.mu.streams = nil
}

// expire tells the open streams that their resource version is too old, which makes the reflector
// list again.
func (s *source) expire() {
	s.send(failure(apierrors.NewResourceExpired("too old")))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.streams = nil
}

// open counts the streams that nobody stopped.
func (s *source) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.mu.streams {
		if !w.stopped() {
			n++
		}
	}
	return n
}

// takeRequests returns the requests since the last call.
func (s *source) takeRequests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.mu.requests
	s.mu.requests = nil
	return out
}

// verbs writes requests as "list@rv".
func verbs(requests []request) []string {
	out := make([]string, 0, len(requests))
	for _, r := range requests {
		out = append(out, r.verb+"@"+r.opts.ResourceVersion)
	}
	return out
}

// stream is a watch with room for more events than any case sends.
type stream struct {
	events chan watch.Event
	mu     struct {
		sync.Mutex
		stopped bool
	}
}

func newStream() *stream { return &stream{events: make(chan watch.Event, 4096)} }

func (w *stream) ResultChan() <-chan watch.Event { return w.events }

func (w *stream) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.stopped {
		w.mu.stopped = true
		close(w.events)
	}
}

func (w *stream) stopped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.stopped
}

// send drops the event when the stream was stopped.
func (w *stream) send(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.stopped {
		w.events <- e
	}
}

// bookmark is a bookmark event; initialEnd marks the end of the initial events.
func bookmark(rv string, initialEnd bool) watch.Event {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv}}
	if initialEnd {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// failure is the error event that the API error travels in.
func failure(err *apierrors.StatusError) watch.Event {
	status := err.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}

// pod makes a pod called name in namespace "ns" at the resource version, which may be empty.
func pod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: rv}}
}

// labelled is a pod with one label per "key=value" pair given as key, value, key, value ...
func labelled(name, rv string, pairs ...string) *corev1.Pod {
	p := pod(name, rv)
	p.Labels = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		p.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// label writes an object as name@rv; tombstones are gone(name@rv), keys and foreign objects stand
// for themselves.
func label(obj any) string {
	switch o := obj.(type) {
	case nil:
		return "nil"
	case cache.DeletedFinalStateUnknown:
		return fmt.Sprintf("gone(%s)", label(o.Obj))
	case cache.Deltas:
		return fmt.Sprint(deltaLabels(o))
	case cache.ReplacedAllInfo:
		return fmt.Sprintf("all@%s%v", o.ResourceVersion, labels(o.Objects))
	case cache.SyncAllInfo:
		return "all"
	case cache.BookmarkInfo:
		return "@" + o.ResourceVersion
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprint(obj)
	}
	return m.GetName() + "@" + m.GetResourceVersion()
}

// labels writes objects in the order given.
func labels[T any](objs []T) []string {
	out := make([]string, 0, len(objs))
	for _, o := range objs {
		out = append(out, label(o))
	}
	return out
}

// sorted is labels in alphabetical order, for calls whose order is not promised.
func sorted[T any](objs []T) []string {
	out := labels(objs)
	slices.Sort(out)
	return out
}

// deltaLabels writes deltas as "Type name@rv".
func deltaLabels(deltas []cache.Delta) []string {
	out := make([]string, 0, len(deltas))
	for _, d := range deltas {
		out = append(out, string(d.Type)+" "+label(d.Object))
	}
	return out
}

// errUnkeyable is what keyOrRefuse answers for anything without metadata.
var errUnkeyable = errors.New("no key in this")

// keyOrRefuse is DeletionHandlingMetaNamespaceKeyFunc with an error that a test can recognize.
func keyOrRefuse(obj any) (string, error) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return "", errUnkeyable
	}
	return key, nil
}

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// reservedName reserves an informer name for the test.
func reservedName(t *testing.T, name string) cache.InformerNameAndResource {
	t.Helper()
	n, err := cache.NewInformerName(name)
	require.NoError(t, err)
	t.Cleanup(n.Release)
	return n.WithResource(podsResource)
}

// metrics is a provider that remembers what was asked of it. It hands out the same gauge for each
// kind.
type metrics struct {
	queued, latency, version *series
	mu                       struct {
		sync.Mutex
		made []string
		ids  []cache.InformerNameAndResource
	}
}

func newMetrics() *metrics {
	return &metrics{queued: &series{}, latency: &series{}, version: &series{}}
}

func (m *metrics) note(kind string, id cache.InformerNameAndResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.made = append(m.mu.made, kind)
	m.mu.ids = append(m.mu.ids, id)
}

// made counts how often a metric of the kind was asked for.
func (m *metrics) made(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, k := range m.mu.made {
		if k == kind {
			n++
		}
	}
	return n
}

// ids returns the identifiers that metrics were asked for with.
func (m *metrics) ids() []cache.InformerNameAndResource {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]cache.InformerNameAndResource(nil), m.mu.ids...)
}

// NewQueuedItemMetric implements InformerMetricsProvider.
func (m *metrics) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("queued", id)
	return m.queued
}

// NewProcessingLatencyMetric implements InformerMetricsProvider.
func (m *metrics) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	m.note("latency", id)
	return m.latency
}

// NewStoreResourceVersionMetric implements InformerMetricsProvider.
func (m *metrics) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("version", id)
	return m.version
}

// series is a gauge and a histogram: the values in the order they came.
type series struct {
	mu     sync.Mutex
	values []float64
}

// Set implements GaugeMetric.
func (s *series) Set(v float64) { s.Observe(v) }

// Observe implements HistogramMetric.
func (s *series) Observe(v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, v)
}

// last returns the latest value, -1 when there is none.
func (s *series) last() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values) == 0 {
		return -1
	}
	return s.values[len(s.values)-1]
}

// count returns how many values came.
func (s *series) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{reported.record}
	utilruntime.PanicHandlers = []func(context.Context, any){reported.panicked}
	goleak.VerifyTestMain(m)
}

// reported collects what an implementation hands to utilruntime's global hooks: errors that nobody
// returns, and panics. Tests do not run in parallel.
var reported reports

type reports struct {
	mu struct {
		sync.Mutex
		errors []string
		panics []any
	}
}

func (r *reports) record(_ context.Context, err error, msg string, keysAndValues ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.errors = append(r.mu.errors, fmt.Sprint(msg, " ", err, " ", keysAndValues))
}

func (r *reports) panicked(_ context.Context, what any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.panics = append(r.mu.panics, what)
}

func (r *reports) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.errors, r.mu.panics = nil, nil
}

// errors returns the errors reported since the case began.
func (r *reports) errors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.mu.errors...)
}

// mentions says whether a reported error contains the text.
func (r *reports) mentions(text string) bool {
	for _, e := range r.errors() {
		if strings.Contains(e, text) {
			return true
		}
	}
	return false
}

// panics returns the values of the panics caught since the case began.
func (r *reports) panics() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]any(nil), r.mu.panics...)
}

// survivePanics makes utilruntime.HandleCrash swallow panics until the test ends, as processes that
// opt out of crashing do.
func survivePanics(t *testing.T) {
	before := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash = before })
}
