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

// implementation is all that the suite uses of one implementation. All types in its interface are
// client-go's; kinformer's are aliases of them.
type implementation struct {
	// name is the name of the subtest.
	name string
	// reference marks client-go. Where the implementations differ on purpose, differs is called with
	// two expectations, of which the first is client-go's.
	reference bool
	stores    storeRig
	queues    queueRig
	informers informerRig
}

// storeFeatures holds the store options, whose types each implementation defines itself.
type storeFeatures struct {
	// transformer is used if it is not nil.
	transformer cache.TransformFunc
	// identifier and provider are used if provider is not nil.
	identifier cache.InformerNameAndResource
	provider   cache.InformerMetricsProvider
}

// storeRig holds the constructors of stores.
type storeRig struct {
	store      func(cache.KeyFunc, storeFeatures) cache.Store
	indexer    func(cache.KeyFunc, cache.Indexers, storeFeatures) cache.Indexer
	threadSafe func(cache.Indexers, storeFeatures) cache.ThreadSafeStore
}

// queueRig holds the constructors of queues.
type queueRig struct {
	delta func(cache.DeltaFIFOOptions) cache.Queue
	real  func(cache.RealFIFOOptions) cache.QueueWithBatch
	fifo  func(cache.KeyFunc) cache.Queue
	// The constructors with positional parameters.
	plainDelta func(cache.KeyFunc, cache.KeyListerGetter) cache.Queue
	plainReal  func(cache.KeyFunc, cache.KeyListerGetter, cache.TransformFunc) cache.QueueWithBatch
}

// informerRig holds the constructors of informers and of their controllers.
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

// implementations are the implementations under test, the reference first.
var implementations []implementation

// storeCase and queueCase are tests that do not depend on time.
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

// informerCase is a test of an informer or controller, run in a bubble once for each source mode.
type informerCase struct {
	name string
	run  func(*testing.T, *stage)
	// only, if not empty, restricts the case to one source mode.
	only sourceMode
	// since037 skips the reference if it is older than v0.37.
	since037 bool
}

// onStage runs the cases on every implementation in both source modes.
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

// differs returns the expectation for impl and logs the reason of an intended difference.
func differs[T any](t *testing.T, impl implementation, reason string, clientgo, ours T) T {
	t.Helper()
	if impl.reference {
		return clientgo
	}
	t.Logf("differs: %s", reason)
	return ours
}

// stage is the environment of an informer case: an implementation, a source, and the runs.
type stage struct {
	impl   implementation
	source *source
	runs   []*running
}

// running is a Run call in progress.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// shared returns a pod informer on the source.
func (s *stage) shared(opts cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return s.impl.informers.shared(s.source, &corev1.Pod{}, opts)
}

// start calls RunWithContext in a goroutine and waits until all goroutines of the bubble block.
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

// stop cancels the run and waits for its return.
func (r *running) stop() {
	r.cancel(nil)
	<-r.done
}

// returned reports whether Run has returned.
func (r *running) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// close stops all runs of the case.
func (s *stage) close() {
	for _, r := range s.runs {
		r.stop()
	}
}

// settle waits until all goroutines of the bubble block, without advancing time.
func settle() { synctest.Wait() }

// pass advances the fake time by d and settles.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// elapsed returns the fake time that f takes.
func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// recorder is a handler that records each notification as a short line:
//
//	add a@11 initial    add a@11    update a@11 a@12    delete a@13    delete gone(a@12)
//
// hook, if set, is called after the line was recorded, within the notification.
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

// take returns the lines since the last take. The result is never nil.
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

// times returns the time since start of each notification since the last take.
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

// addEvery registers the handler with its own resync period.
func addEvery(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler, period time.Duration) cache.ResourceEventHandlerRegistration {
	t.Helper()
	handle, err := informer.AddEventHandlerWithResyncPeriod(handler, period)
	require.NoError(t, err)
	return handle
}

// gate blocks pass until open is called. It belongs to the bubble that created it.
type gate chan struct{}

func newGate() gate { return make(chan struct{}) }

func (g gate) pass() { <-g }
func (g gate) open() { close(g) }

// sourceMode is the way in which a source offers its initial state.
type sourceMode string

const (
	// byList makes the reflector use LIST and WATCH.
	byList sourceMode = "list"
	// byStream makes the reflector use a watch-list.
	byStream sourceMode = "stream"
)

// source is a scripted API server for pods: its current state, the history since the start, and a log of
// requests. Unlike cachetest's source it need not behave like a server: objects have no UID and may have
// no version, writes may be hidden from open streams (miss) or get no version (keep), and events may be
// invalid. Its methods may be called concurrently. The hooks onList and onWatch are called before a
// request is answered, without the lock; their error is the answer.
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

// request is one call by the reflector. verb is "list", "watch" or "stream" (a watch that requests the
// initial events).
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

// IsWatchListSemanticsUnSupported reports whether reflectors must list.
func (s *source) IsWatchListSemanticsUnSupported() bool { return s.mode == byList }

// List implements the interface; reflectors call ListWithContext.
func (s *source) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

// Watch implements the interface; reflectors call WatchWithContext.
func (s *source) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

// ListWithContext returns the state, ordered by name.
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

// WatchWithContext opens a stream of the initial events and their bookmark, if requested, or else of the
// events since the resource version.
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

// fail makes every request return err; nil ends that.
func (s *source) fail(err error) {
	s.failLists(err)
	s.failWatches(err)
}

// failLists makes every LIST return err; nil ends that.
func (s *source) failLists(err error) {
	s.onList(func(context.Context, metav1.ListOptions) error { return err })
}

// failWatches does the same for watches and streams.
func (s *source) failWatches(err error) {
	s.onWatch(func(context.Context, metav1.ListOptions) error { return err })
}

// put stores the pod at the next resource version, sends the event, and returns the version.
func (s *source) put(p *corev1.Pod) string {
	return s.change(p, true)
}

// miss stores the pods and removes the names without an event, as if the informer was disconnected.
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

// keep stores the pod without a new resource version or an event.
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

// remove deletes the pod and sends its last state at the resource version of the deletion.
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

// send sends the event on the open streams without changing the state.
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

// expire sends the open streams the error that their resource version is too old, so that the reflector
// lists again.
func (s *source) expire() {
	s.send(failure(apierrors.NewResourceExpired("too old")))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.streams = nil
}

// open returns the number of streams that were not stopped.
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

// verbs formats requests as "list@rv".
func verbs(requests []request) []string {
	out := make([]string, 0, len(requests))
	for _, r := range requests {
		out = append(out, r.verb+"@"+r.opts.ResourceVersion)
	}
	return out
}

// stream is a watch with a buffer for more events than any case sends.
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

// send discards the event if the stream was stopped.
func (w *stream) send(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.stopped {
		w.events <- e
	}
}

// bookmark returns a bookmark event. initialEnd marks the end of the initial events.
func bookmark(rv string, initialEnd bool) watch.Event {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv}}
	if initialEnd {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// failure returns the error event for err.
func failure(err *apierrors.StatusError) watch.Event {
	status := err.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}

// pod returns a pod in namespace "ns". rv may be empty.
func pod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: rv}}
}

// labelled returns a pod with labels, given as key, value, key, value ...
func labelled(name, rv string, pairs ...string) *corev1.Pod {
	p := pod(name, rv)
	p.Labels = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		p.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// label formats an object as name@rv and a tombstone as gone(name@rv). Keys and other objects are
// formatted as themselves.
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

// labels formats objects in order.
func labels[T any](objs []T) []string {
	out := make([]string, 0, len(objs))
	for _, o := range objs {
		out = append(out, label(o))
	}
	return out
}

// sorted formats objects in alphabetical order, for calls without a guaranteed order.
func sorted[T any](objs []T) []string {
	out := labels(objs)
	slices.Sort(out)
	return out
}

// deltaLabels formats deltas as "Type name@rv".
func deltaLabels(deltas []cache.Delta) []string {
	out := make([]string, 0, len(deltas))
	for _, d := range deltas {
		out = append(out, string(d.Type)+" "+label(d.Object))
	}
	return out
}

// errUnkeyable is the error of keyOrRefuse for objects without metadata.
var errUnkeyable = errors.New("no key in this")

// keyOrRefuse is DeletionHandlingMetaNamespaceKeyFunc with an error that tests can recognize.
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

// metrics is a provider that records its calls. It returns the same metric for each kind.
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

// made returns the number of requests for metrics of the kind.
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

// ids returns the identifiers with which metrics were requested.
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

// series is a gauge and a histogram that records its values in order.
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

// last returns the latest value, -1 if there is none.
func (s *series) last() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values) == 0 {
		return -1
	}
	return s.values[len(s.values)-1]
}

// count returns the number of values.
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

// reported records what an implementation passes to utilruntime's global hooks: errors that are not
// returned, and panics. Tests must not run in parallel.
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

// mentions reports whether a reported error contains the text.
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

// survivePanics makes utilruntime.HandleCrash swallow panics until the test ends, as in processes that
// opt out of crashing.
func survivePanics(t *testing.T) {
	before := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash = before })
}
