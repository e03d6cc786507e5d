// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// TestRefusedHandlerLeavesTheResyncPeriod: a handler that is refused does not shorten the resync period
// of others.
func TestRefusedHandlerLeavesTheResyncPeriod(t *testing.T) {
	informer := NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, time.Hour, nil).(*sharedIndexInformer)
	_, err := informer.AddEventHandlerWithResyncPeriod(fanout.Delivered{ResourceEventHandler: &testkit.Journal{}, Err: fanout.ErrBadDelivery}, time.Minute)
	require.ErrorIs(t, err, fanout.ErrBadDelivery)
	assert.Equal(t, time.Hour, informer.life.resyncCheckPeriod)
	_, err = informer.AddEventHandlerWithResyncPeriod(&testkit.Journal{}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, time.Minute, informer.life.resyncCheckPeriod)
}

// TestStopByPolicyNamesTheRunningFunction: a stopping informer names the function that it waits for, also if
// its policy stops it.
func TestStopByPolicyNamesTheRunningFunction(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches(testkit.ErrForbidden)}
		release, lines := make(chan struct{}), &testkit.Logged{}
		queue := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
		c := New(&Config{Queue: queue, ListerWatcher: server, Process: func(any, bool) error { <-release; return nil }}).(*controller)
		c.requests.Decide = func(context.Context, reflector.Undecided) reflector.Decision { return reflector.Decision{Stop: true} }
		time.AfterFunc(time.Minute, func() { close(release) })
		c.RunWithContext(klog.NewContext(t.Context(), funcr.New(lines.Write, funcr.Options{})))
		assert.Equal(t, 1, lines.Count("Run waits until a call returns"))
	})
}

// TestScarcity: memory is scarce if there is a limit, and the memory in use does not fit into it twice.
func TestScarcity(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	assert.False(t, store.MemoryIsScarce())
	debug.SetMemoryLimit(1 << 50)
	assert.False(t, store.MemoryIsScarce())
	debug.SetMemoryLimit(1 << 20)
	assert.True(t, store.MemoryIsScarce())
}

// TestNamesOfInformers: an informer, its handlers, its queue and its reflector are named by the
// resource if that is known, as errors such as that of a very short watch have no other information.
// The type does not distinguish informers of unstructured objects.
func TestNamesOfInformers(t *testing.T) {
	nobody, widget := (*InformerName)(nil), &unstructured.Unstructured{}
	pods := nobody.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	widgets := nobody.WithResource(schema.GroupVersionResource{Group: "g.example", Version: "v2", Resource: "widgets"})
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "g.example", Version: "v2", Kind: "Widget"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	named := func(t *testing.T, want string, c *controller) {
		c.RunWithContext(ended)
		assert.Regexp(t, "FIFO "+regexp.QuoteMeta(want)+"$", c.HasSyncedChecker().Name())
		assert.Regexp(t, "^"+regexp.QuoteMeta(want)+` \(.*shared_informer_test\.go:\d+\)$`, c.mu.reflector.Name())
	}
	queue := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Name: "FIFO *v1.Pod"})
	named(t, "*v1.Pod", New(&Config{Queue: queue, ListerWatcher: &testkit.Server{}, ObjectType: &corev1.Pod{}}).(*controller))
	_, simple := NewInformerWithOptions(InformerOptions{ListerWatcher: &testkit.Server{}, ObjectType: &corev1.Pod{}, Identifier: pods})
	named(t, "pods.v1", simple.(*controller))
	for name, tc := range map[string]struct {
		want    string
		example runtime.Object
		options SharedIndexInformerOptions
	}{
		"by resource":        {"pods.v1", &unstructured.Unstructured{}, SharedIndexInformerOptions{Identifier: pods, ObjectDescription: "d"}},
		"by resource, group": {"widgets.v2.g.example", &corev1.Pod{}, SharedIndexInformerOptions{Identifier: widgets}},
		"by description":     {"d", &unstructured.Unstructured{}, SharedIndexInformerOptions{ObjectDescription: "d"}},
		"by kind":            {"g.example/v2, Kind=Widget", widget, SharedIndexInformerOptions{}},
		"by type":            {"*v1.Pod", &corev1.Pod{}, SharedIndexInformerOptions{}},
		"without anything":   {"<unspecified>", nil, SharedIndexInformerOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			informer := NewSharedIndexInformerWithOptions(&testkit.Server{}, tc.example, tc.options).(*sharedIndexInformer)
			assert.Equal(t, "SharedIndexInformer "+tc.want, informer.HasSyncedChecker().Name())
			registration, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(any) {}})
			require.NoError(t, err)
			assert.Contains(t, registration.HasSyncedChecker().Name(), "SharedIndexInformer "+tc.want+" + event handler ")
			informer.RunWithContext(ended)
			named(t, tc.want, informer.life.controller)
		})
	}
}

// sourceLineAt returns the line of this package's source for a name of the form package/file:line.
func sourceLineAt(t *testing.T, name string) string {
	file, line, ok := strings.Cut(strings.TrimPrefix(name, "github.com/kinformer/cache/"), ":")
	require.True(t, ok, name)
	number, err := strconv.Atoi(line)
	require.NoError(t, err, name)
	text, err := os.ReadFile(file)
	require.NoError(t, err, name)
	return strings.Split(string(text), "\n")[number-1]
}

func TestFunctionsAreNamedByFileAndLine(t *testing.T) {
	add := func(any) {}                                  // the add function
	update := func(any, any) {}                          // the update function
	typed := func(*corev1.Pod) {}                        // the typed function
	typedAdd := func(p *corev1.Pod, _ bool) { typed(p) } // the detailed function
	for name, handler := range map[string]ResourceEventHandler{
		"add":            ResourceEventHandlerFuncs{AddFunc: add},
		"delete":         &ResourceEventHandlerFuncs{DeleteFunc: add},
		"one file":       ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: update, DeleteFunc: func(any) {}},
		"detailed":       ResourceEventHandlerDetailedFuncs{DeleteFunc: add},
		"filtered":       FilteringResourceEventHandler{FilterFunc: func(any) bool { return true }, Handler: ResourceEventHandlerFuncs{AddFunc: add}},
		"twice filtered": &FilteringResourceEventHandler{Handler: &FilteringResourceEventHandler{Handler: ResourceEventHandlerFuncs{AddFunc: add}}},
		"delivered":      fanout.Delivered{ResourceEventHandler: ResourceEventHandlerFuncs{AddFunc: add}},
	} {
		assert.Contains(t, sourceLineAt(t, fanout.NameOf(handler)), "// the add function", name)
	}
	assert.Contains(t, sourceLineAt(t, fanout.NameOf(updateFunc(update))), "// the update function")
	for comment, handler := range map[string]TypedResourceEventHandler[*corev1.Pod]{
		"// the typed function":    TypedResourceEventHandlerFuncs[*corev1.Pod]{DeleteFunc: nil, AddFunc: typed},
		"// the detailed function": &TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{AddFunc: typedAdd},
	} {
		filtered := TypedFilteringResourceEventHandler[*corev1.Pod]{Handler: handler}
		for _, untyped := range []ResourceEventHandler{fanout.Delivered{ResourceEventHandler: fanout.Typed[*corev1.Pod]{Handler: handler}}, testkit.AsClientGoAdaptsIt(t, handler), testkit.AsClientGoAdaptsIt(t, filtered)} {
			assert.Contains(t, sourceLineAt(t, fanout.NameOf(untyped)), comment)
		}
	}
}

// updateFunc is a handler that is a function.
type updateFunc func(_, _ any)

func (updateFunc) OnAdd(any, bool) {}

func (f updateFunc) OnUpdate(o, n any) { f(o, n) }

func (updateFunc) OnDelete(any) {}

func (f updateFunc) method(any) {}

func (f updateFunc) updateMethod(_, _ any) {}

// handlerOf is like controller-runtime's EventHandler, whose name is longer than a line.
type handlerOf[T, R any] struct{ ResourceEventHandlerFuncs }

// TestNamesOfOtherHandlers: method values have no file, so they are named by their method; handlers
// that are not functions are named by their type.
func TestNamesOfOtherHandlers(t *testing.T) {
	one := func(any) {} // the only function
	receiver, place := updateFunc(nil), fanout.NameOf(ResourceEventHandlerFuncs{AddFunc: one})
	assert.Contains(t, sourceLineAt(t, place), "// the only function")
	for want, handler := range map[string]ResourceEventHandler{
		"internal/testkit.Journal":                           &testkit.Journal{},
		"github.com/kinformer/cache.updateFunc.method":       ResourceEventHandlerFuncs{AddFunc: receiver.method, DeleteFunc: one},
		"github.com/kinformer/cache.updateFunc.updateMethod": ResourceEventHandlerFuncs{UpdateFunc: receiver.updateMethod},
		place:                                   ResourceEventHandlerFuncs{AddFunc: one, UpdateFunc: receiver.updateMethod},
		"tools/cache.ResourceEventHandlerFuncs": ResourceEventHandlerFuncs{},
		"tools/cache.FilteringResourceEventHandler": FilteringResourceEventHandler{},
		"kinformer/cache.handlerOf":                 &handlerOf[*corev1.Pod, map[string]int]{},
		"struct { *testkit.Journal }":               struct{ *testkit.Journal }{},
	} {
		assert.Equal(t, want, fanout.NameOf(handler))
	}
	assert.Equal(t, "internal/testkit.Journal", fanout.NameOf(fanout.Delivered{ResourceEventHandler: FilteringResourceEventHandler{Handler: &testkit.Journal{}}}))
	assert.Equal(t, "internal/testkit.Journal", fanout.NameOf(fanout.Delivered{ResourceEventHandler: &testkit.Journal{}}))
	assert.Equal(t, "given", fanout.NameOf(fanout.Delivered{ResourceEventHandler: &testkit.Journal{}, Options: fanout.Options{Name: "given"}}))
	assert.Equal(t, "<nil>", fanout.NameOf(nil))
}

// TestNamespaceIndexByWhateverName: stores recognize the usual index function, and call a cheaper one
// instead. The index equals that of an equivalent function that they do not recognize.
func TestNamespaceIndexByWhateverName(t *testing.T) {
	unknown := func(obj any) ([]string, error) { return MetaNamespaceIndexFunc(obj) }
	require.Nil(t, singleValued(unknown))
	indexers := Indexers{"ours": MetaNamespaceIndexFunc, "client-go's": clientgo.MetaNamespaceIndexFunc, "unknown": unknown}
	require.NotNil(t, singleValued(indexers["ours"]))
	require.NotNil(t, singleValued(indexers["client-go's"]))

	object := func(t *draw.T) any {
		name := draw.Of(t, "a", "b", "c", "d")
		if name == "d" {
			return struct{ Name string }{name} // without metadata
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: draw.Of(t, "", "x", "y")}}
	}
	name := func(obj any) (string, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return pod.Name, nil // the same in all namespaces, so that objects move
		}
		return "d", nil
	}
	draw.Check(t, func(t *draw.T) {
		store := newStore(name, indexers, storeOptions{})
		store.onFailure = func(table.IndexFailure) {}
		t.Repeat(map[string]func(*draw.T){
			"add":    func(t *draw.T) { require.NoError(t, store.Add(object(t))) },
			"delete": func(t *draw.T) { require.NoError(t, store.Delete(object(t))) },
			"replace": func(t *draw.T) {
				require.NoError(t, store.Replace(draw.Slice(t, 0, 6, func() any { return object(t) }), ""))
			},
			"": func(t *draw.T) {
				for _, index := range []string{"ours", "client-go's"} {
					assert.ElementsMatch(t, store.ListIndexFuncValues("unknown"), store.ListIndexFuncValues(index))
					for _, namespace := range []string{"", "x", "y"} {
						want, err := store.ByIndex("unknown", namespace)
						require.NoError(t, err)
						got, err := store.ByIndex(index, namespace)
						require.NoError(t, err)
						assert.ElementsMatch(t, want, got)
					}
				}
				failures := map[string]uint64{}
				for _, ix := range beside.TableOf(store).Survey().Indexes {
					failures[ix.Name] = ix.Failures
				}
				assert.Equal(t, failures["unknown"], failures["ours"])
			},
		})
	})
}

// TestAddIndexersHoldsNoLockOfTheInformer: an index function that AddIndexers calls may call the
// informer, and other callers of the informer need not wait for it.
func TestAddIndexersHoldsNoLockOfTheInformer(t *testing.T) {
	informer := NewSharedIndexInformer(&testkit.Server{}, &corev1.Pod{}, 0, nil).(*sharedIndexInformer)
	require.NoError(t, informer.store.Add(testkit.PodAt("a", "1")))
	asked := 0
	require.NoError(t, informer.AddIndexers(Indexers{"asks": func(any) ([]string, error) {
		asked++
		_, err := inspect.StatusOf(informer)
		require.NoError(t, err)
		assert.False(t, informer.IsStopped() || informer.HasStarted())
		_, err = informer.AddEventHandler(ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		return nil, nil
	}}))
	assert.Equal(t, 1, asked)
}

// TestProducerHandsOverWhatCannotBeDoneAtOnce: the producer leaves a batch to the consumer if an item
// is already waiting, a handler is being added, or the queue is closed.
func TestProducerHandsOverWhatCannotBeDoneAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *sharedIndexInformer, q *queue.Queue)
		waiting int
	}{
		"something waits":    {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { _ = q.Put(Added, testkit.Pod("x", "1")) }, waiting: 4},
		"a handler is added": {prepare: func(s *sharedIndexInformer, _ *queue.Queue) { s.pipeline.Delivery.Lock() }, waiting: 3},
		"closed":             {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { q.Close() }, waiting: 3},
	} {
		s, q := informerAndQueue()
		test.prepare(s, q)
		require.Empty(t, q.PutBatch(updatesOf(3)), name)
		assert.Equal(t, test.waiting, q.Waiting.Len(), name)
		s.pipeline.Delivery.TryLock()
		s.pipeline.Delivery.Unlock()
		require.NoError(t, q.PopAll(s.pipeline.Handle), name)
		assert.Len(t, s.store.List(), test.waiting, name)
	}
}

// updatesOf returns updates of n pods in the form that a reflector collects.
func updatesOf(n int) []event.Record {
	batch := make([]event.Record, n)
	for i := range batch {
		p := testkit.Pod(fmt.Sprint("p", i), "1")
		p.Namespace, p.ResourceVersion = "default", fmt.Sprint(i+1)
		batch[i] = event.Record{Type: Updated, Object: p, Version: p.ResourceVersion}
	}
	return batch
}

// informerAndQueue returns an informer with the namespace index, started as far as its controller, and
// its queue.
func informerAndQueue() (*sharedIndexInformer, *queue.Queue) {
	s := NewSharedIndexInformerWithOptions(nil, &corev1.Pod{}, SharedIndexInformerOptions{
		Indexers: Indexers{NamespaceIndex: MetaNamespaceIndexFunc},
	}).(*sharedIndexInformer)
	s.start(context.Background())
	return s, s.pipeline.Queue
}

// TestAllocationsOfAnUpdate: a single event, from the reflector to the store, with the namespace index
// and without handlers, allocates nothing.
func TestAllocationsOfAnUpdate(t *testing.T) {
	s, q := informerAndQueue()
	take := s.life.controller.take
	events, batch, next := updatesOf(100), make([]event.Record, 1), 0
	for _, event := range events { // every object is known before
		batch[0] = event
		require.Empty(t, q.PutBatch(batch))
	}
	require.NoError(t, take())
	perEvent := testing.AllocsPerRun(1000, func() {
		batch[0] = events[next%len(events)]
		next++
		require.Empty(t, q.PutBatch(batch))
		require.NoError(t, take())
	})
	assert.Zero(t, q.Waiting.Len())
	assert.Zero(t, perEvent)
}

// TestUsualKeys: keys equal those of MetaNamespaceKeyFunc, regardless of how they are obtained.
func TestUsualKeys(t *testing.T) {
	cluster := testkit.PodAt("node", "1")
	cluster.Namespace = ""
	for name, keyFunc := range map[string]KeyFunc{
		"none": nil, "ours": MetaNamespaceKeyFunc, "client-go's": clientgo.DeletionHandlingMetaNamespaceKeyFunc,
		"another": func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj) },
	} {
		r := &event.Keys{Opens: event.OpensDeltas}
		r.Init(keyFunc, isMetaNamespaceKeyFunc(keyFunc))
		assert.Equal(t, name != "another", r.Usual, name)
		for _, obj := range []any{testkit.PodAt("a", "1"), cluster, ExplicitKey("x/y/z"), testkit.PodAt("a", "2")} {
			want, err := MetaNamespaceKeyFunc(obj)
			require.NoError(t, err)
			for _, again := range []bool{false, true} {
				got, err := r.KeyOf(obj, again)
				require.NoError(t, err)
				assert.Equal(t, want, got, name)
			}
		}
		for _, bad := range []any{nil, "no metadata", 7, (*corev1.Pod)(nil), Deltas{}, Delta{}} {
			_, err := r.KeyOf(bad, true)
			assert.ErrorAs(t, err, &KeyError{}, "%s: %T", name, bad)
		}
		key, err := r.KeyOf(Deltas{{Type: Added, Object: testkit.PodAt("a", "1")}, {Type: Deleted, Object: DeletedFinalStateUnknown{Key: "ns/b"}}}, true)
		require.NoError(t, err)
		assert.Equal(t, "ns/b", key)
	}
}
