// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/testkit"
)

// implementation is all that the suite uses of one implementation. All types in its interface are
// client-go's; kinformer's are aliases of them.
type implementation struct {
	// name is the name of the subtest.
	name string
	// reference marks client-go, and kinformer with KINFORMER=off. Where the implementations differ on
	// purpose, differs is called with two expectations, of which the first is client-go's.
	reference bool
	stores    storeRig
	queues    queueRig
	informers informerRig
}

// storeFeatures holds the options of a store.
type storeFeatures struct {
	// transformer is used if it is not nil.
	transformer cache.TransformFunc
	// identifier and provider are used if provider is not nil.
	identifier cache.InformerNameAndResource
	provider   cache.InformerMetricsProvider
}

// storeOptions returns the options of a store, whose type each implementation defines itself.
func storeOptions[O any](
	with storeFeatures, transformer func(cache.TransformFunc) O, metrics func(cache.InformerNameAndResource, cache.InformerMetricsProvider) O,
) (opts []O) {
	if with.transformer != nil {
		opts = append(opts, transformer(with.transformer))
	}
	if with.provider != nil {
		opts = append(opts, metrics(with.identifier, with.provider))
	}
	return opts
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

// clientGo is the name of the implementation that is client-go's.
const clientGo = "clientgo"

// implementations are the implementations under test, the reference first.
var implementations []implementation

// directCase is a test that does not depend on time.
type directCase struct {
	name string
	run  func(*testing.T, implementation)
}

// onEach runs the cases on every implementation.
func onEach(t *testing.T, cases []directCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			testkit.Reports(t)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, impl) })
			}
		})
	}
}

// informerCase is a test of an informer or controller, run in a bubble once for each mode of a source.
type informerCase struct {
	name string
	run  func(*testing.T, *stage)
	// only, if not empty, restricts the case to one mode.
	only cachetest.Verb
	// since037 skips the reference if it is older than v0.37.
	since037 bool
}

// onStage runs the cases on every implementation in both modes of a source.
func onStage(t *testing.T, cases []informerCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, mode := range []cachetest.Verb{byList, byStream} {
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

func inBubble(t *testing.T, impl implementation, mode cachetest.Verb, run func(*testing.T, *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{impl: impl, source: newSource(mode), reported: testkit.Reports(t)}
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

// guards reports whether impl copies the indexers that it is given, and refuses nil handlers, as kinformer does with
// KINFORMER=off as well.
func (impl implementation) guards() bool { return impl.name != clientGo }

// stage is the environment of an informer case: an implementation, a source, and the runs. reported
// returns the errors that were passed to utilruntime.HandleError instead of being returned.
type stage struct {
	impl     implementation
	source   *source
	reported func() []string
	runs     []*running
}

// running is a Run call in progress.
type running struct {
	cancel context.CancelFunc
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
	ctx, cancel := context.WithCancel(ctx)
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
	r.cancel()
	<-r.done
}

// close stops all runs of the case.
func (s *stage) close() {
	for _, r := range s.runs {
		r.stop()
	}
}

// mentions reports whether a reported error contains the text.
func (s *stage) mentions(text string) bool { return len(testkit.About(text, s.reported())) > 0 }

// closed reports whether the channel, to which nothing is sent, is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
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
	mu    sync.Mutex
	calls []call
	hook  func(line string)
}

// call is a notification: its line, its newest object and its time.
type call struct {
	line string
	obj  any
	at   time.Time
}

func (c call) text() string { return c.line }

func (r *recorder) note(obj any, line string) {
	r.mu.Lock()
	r.calls = append(r.calls, call{line, obj, time.Now()})
	r.mu.Unlock()
	if r.hook != nil {
		r.hook(line)
	}
}

func (r *recorder) OnAdd(obj any, initial bool) {
	line := "add " + label(obj)
	if initial {
		line += " initial"
	}
	r.note(obj, line)
}

func (r *recorder) OnUpdate(old, obj any) { r.note(obj, "update "+label(old)+" "+label(obj)) }

func (r *recorder) OnDelete(obj any) { r.note(obj, "delete "+label(obj)) }

// takeCalls returns the notifications since the last take.
func (r *recorder) takeCalls() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// take returns the lines since the last take. The result is never nil.
func (r *recorder) take() []string { return each(r.takeCalls(), call.text) }

// takeRaw returns the objects of the notifications since the last take.
func (r *recorder) takeRaw() []any {
	return each(r.takeCalls(), func(c call) any { return c.obj })
}

// times returns the time since start of each notification since the last take.
func (r *recorder) times(start time.Time) []time.Duration {
	return each(r.takeCalls(), func(c call) time.Duration { return c.at.Sub(start) })
}

// each returns the results of f for the items. It is never nil.
func each[T, U any](items []T, f func(T) U) []U {
	results := make([]U, 0, len(items))
	for _, item := range items {
		results = append(results, f(item))
	}
	return results
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

// The modes of a source are the verbs with which reflectors ask it for the whole state.
const (
	byList   = cachetest.VerbList
	byStream = cachetest.VerbWatchList
)

// source is cachetest's source of pods, with resource versions from 11 on. Its answers and streams
// outlive the contexts of their requests: a stream that the reflector does not stop stays open.
type source struct {
	*cachetest.Source
	mode   cachetest.Verb
	hooks  atomic.Pointer[hooks]
	writes atomic.Int64
	known  int // the number of requests that asked has returned
}

// hooks change the answers of a source.
type hooks struct {
	// request is called before each request with its verb and resource version. Its error is the answer.
	request func(context.Context, cachetest.Verb, string) error
	// list changes each list.
	list func(*corev1.PodList)
}

func newSource(mode cachetest.Verb) *source {
	options := cachetest.Options{ResourceVersion: 10, Buffer: 4096, NewList: func() runtime.Object { return &corev1.PodList{} }}
	if mode == byList {
		options.WatchList = cachetest.WatchListUnsupported
	}
	s := &source{Source: cachetest.New(options), mode: mode}
	s.hooks.Store(&hooks{})
	return s
}

func (s *source) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	s.ask(ctx, cachetest.VerbList, opts)
	list, err := s.Source.ListWithContext(context.WithoutCancel(ctx), opts)
	if change := s.hooks.Load().list; err == nil && change != nil {
		change(list.(*corev1.PodList))
	}
	return list, err
}

func (s *source) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	verb := cachetest.VerbWatch
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb = cachetest.VerbWatchList
	}
	s.ask(ctx, verb, opts)
	return s.Source.WatchWithContext(context.WithoutCancel(ctx), opts)
}

func (s *source) ask(ctx context.Context, verb cachetest.Verb, opts metav1.ListOptions) {
	if hook := s.hooks.Load().request; hook != nil {
		if err := hook(ctx, verb, opts.ResourceVersion); err != nil {
			s.FailNext(verb, err)
		}
	}
}

// fail makes every request of the verbs, or of all if there are none, return err; nil ends that.
func (s *source) fail(err error, verbs ...cachetest.Verb) {
	s.hooks.Store(&hooks{request: func(_ context.Context, verb cachetest.Verb, _ string) error {
		if len(verbs) > 0 && !slices.Contains(verbs, verb) {
			return nil
		}
		return err
	}})
}

// put writes the pod and returns its resource version. The generation makes every call a change.
func (s *source) put(p *corev1.Pod) string {
	p.Generation = s.writes.Add(1)
	return s.Put(p).(*corev1.Pod).ResourceVersion
}

// remove deletes the pod.
func (s *source) remove(name string) { s.Delete("ns", name) }

// miss writes the pods and deletes the names without an event, as if the informer was disconnected.
func (s *source) miss(pods []*corev1.Pod, removed ...string) {
	defer s.Lose()()
	for _, p := range pods {
		s.put(p)
	}
	for _, name := range removed {
		s.remove(name)
	}
}

// expire sends the open streams the error that their resource version is too old, so that the reflector
// asks for the whole state.
func (s *source) expire() { s.Inject(cachetest.ErrorEvent(cachetest.Expired())) }

// asked returns the requests since the last call as "list@11".
func (s *source) asked() []string {
	all := s.Requests()
	recent := all[s.known:]
	s.known = len(all)
	return each(recent, func(r cachetest.Request) string { return string(r.Verb) + "@" + r.Options.ResourceVersion })
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
func labels[T any](objs []T) []string { return each(objs, func(obj T) string { return label(obj) }) }

// sorted formats objects in alphabetical order, for calls without a guaranteed order.
func sorted[T any](objs []T) []string {
	out := labels(objs)
	slices.Sort(out)
	return out
}

// deltaLabels formats deltas as "Type name@rv".
func deltaLabels(deltas []cache.Delta) []string {
	return each(deltas, func(d cache.Delta) string { return string(d.Type) + " " + label(d.Object) })
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

// metrics is testkit.Gauges with a record of the requests for metrics.
type metrics struct {
	testkit.Gauges
	made []string // the kinds
	ids  []cache.InformerNameAndResource
}

func (m *metrics) note(kind string, id cache.InformerNameAndResource) {
	m.made = append(m.made, kind)
	m.ids = append(m.ids, id)
}

func (m *metrics) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("queued", id)
	return m.Gauges.NewQueuedItemMetric(id)
}

func (m *metrics) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	m.note("latency", id)
	return m.Gauges.NewProcessingLatencyMetric(id)
}

func (m *metrics) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("version", id)
	return m.Gauges.NewStoreResourceVersionMetric(id)
}

func TestMain(m *testing.M) { testkit.RunTests(m) }

// survivePanics makes utilruntime.HandleCrash swallow panics until the test ends, as in processes that
// opt out of crashing. The returned function returns the values of the panics.
func survivePanics(t *testing.T) func() []any {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	var mu sync.Mutex
	var values []any
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) {
		mu.Lock()
		defer mu.Unlock()
		values = append(values, value)
	}}
	return func() []any {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(values)
	}
}
