// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// actor is a fake client that tells what was asked of it.
type actor interface{ Actions() []clienttesting.Action }

// podsOf runs an informer of pods of each kind of factory in a bubble until it watches, and has
// test look at it and at its client.
func podsOf(t *testing.T, test func(t *testing.T, pods informers.GenericInformer, client actor), options ...factory.Option) {
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: pod("ns", "a").ObjectMeta}
	for name, start := range map[string]func(t *testing.T, ctx context.Context) (informers.GenericInformer, actor, func()){
		"typed": func(t *testing.T, ctx context.Context) (informers.GenericInformer, actor, func()) {
			client := fake.NewClientset(pod("ns", "a"), pod("other", "a"))
			f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), options...)
			pods, err := f.ForResource(podsResource)
			require.NoError(t, err)
			f.StartWithContext(ctx)
			return pods, client, f.Shutdown
		},
		"dynamic": func(_ *testing.T, ctx context.Context) (informers.GenericInformer, actor, func()) {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"), pod("other", "a"))
			f := factory.Dynamic(client, 0, options...)
			pods := f.ForResource(podsResource)
			f.StartWithContext(ctx)
			return pods, client, f.Shutdown
		},
		"metadata": func(t *testing.T, ctx context.Context) (informers.GenericInformer, actor, func()) {
			client := metadatafake.NewSimpleMetadataClient(metadataScheme(t), partial)
			f := factory.Metadata(client, 0, options...)
			pods := f.ForResource(podsResource)
			f.StartWithContext(ctx)
			return pods, client, f.Shutdown
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(bubbleContext(t))
				pods, client, shutdown := start(t, ctx)
				defer shutdown()
				defer cancel()
				synctest.Wait()
				require.True(t, pods.Informer().HasSynced())
				test(t, pods, client)
			})
		})
	}
}

// asked returns the options of the first list and of the first watch.
func asked(t *testing.T, client actor) (list, watch metav1.ListOptions) {
	t.Helper()
	actions := client.Actions()
	require.Len(t, actions, 2)
	return actions[0].(clienttesting.ListActionImpl).ListOptions, actions[1].(clienttesting.WatchActionImpl).ListOptions
}

// TestTweakReachesEveryRequest: a watch without the selector of its list brings what the list has
// left out.
func TestTweakReachesEveryRequest(t *testing.T) {
	podsOf(t, func(t *testing.T, _ informers.GenericInformer, client actor) {
		list, watch := asked(t, client)
		assert.Equal(t, "app=a", list.LabelSelector)
		assert.Equal(t, "app=a", watch.LabelSelector)
	}, factory.WithTweakListOptions(selectA))
}

// TestInformersHaveTheNamespaceIndex, as client-go's have, under its name; and take more.
func TestInformersHaveTheNamespaceIndex(t *testing.T) {
	podsOf(t, func(t *testing.T, pods informers.GenericInformer, _ actor) {
		indexer := pods.Informer().GetIndexer()
		found, err := indexer.ByIndex(cache.NamespaceIndex, "ns")
		require.NoError(t, err)
		assert.Len(t, found, 1)
		require.NoError(t, pods.Informer().AddIndexers(cache.Indexers{"name": func(obj any) ([]string, error) {
			return []string{obj.(metav1.Object).GetName()}, nil
		}}))
		assert.Equal(t, []string{"a"}, indexer.ListIndexFuncValues("name"))
	})
}

// TestListersNameWhatTheyMiss: an error of theirs says which resource it is about, as those of
// client-go do.
func TestListersNameWhatTheyMiss(t *testing.T) {
	podsOf(t, func(t *testing.T, pods informers.GenericInformer, _ actor) {
		found, err := pods.Lister().ByNamespace("ns").Get("a")
		require.NoError(t, err)
		assert.Equal(t, "a", found.(metav1.Object).GetName())
		_, err = pods.Lister().ByNamespace("nowhere").Get("a")
		require.ErrorContains(t, err, `pods "a" not found`)
	})
}

// TestOptionsAddUp: options of informers that are given at several places are all applied, after
// those of the factory, and of others the last one counts.
func TestOptionsAddUp(t *testing.T) {
	var nobody *cache.InformerName
	others := nobody.WithResource(schema.GroupVersionResource{Version: "v9", Resource: "others"})
	var limit atomic.Int64 // not every client keeps it
	podsOf(t, func(t *testing.T, pods informers.GenericInformer, client actor) {
		list, _ := asked(t, client)
		assert.EqualValues(t, 9, limit.Swap(0))
		assert.Empty(t, list.LabelSelector)
		assert.Equal(t, "SharedIndexInformer others.v9", pods.Informer().HasSyncedChecker().Name())
		assert.Equal(t, []string{"ns/a"}, pods.Informer().GetStore().ListKeys())
	},
		factory.WithInformerOptions(cache.WithPageSize(7), cache.WithIdentifier(others, nil)), factory.WithInformerOptions(cache.WithPageSize(9)),
		factory.WithNamespace("other"), factory.WithNamespace("ns"),
		factory.WithTweakListOptions(selectA), factory.WithTweakListOptions(func(o *metav1.ListOptions) { limit.CompareAndSwap(0, o.Limit) }),
		factory.WithTransform(func(any) (any, error) { return nil, assert.AnError }), factory.WithTransform(nil))
}

// hanging is a dynamic client whose requests go on until their context ends.
type hanging struct {
	dynamic.Interface
	dynamic.NamespaceableResourceInterface
	lists  bool // a list is answered
	begun  chan context.Context
	closed chan struct{} // when a request has seen the end of its context
}

func (h *hanging) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return h
}

func (h *hanging) Namespace(string) dynamic.ResourceInterface { return h }

func (*hanging) IsWatchListSemanticsUnSupported() bool { return true }

func (h *hanging) hang(ctx context.Context) error {
	h.begun <- ctx
	<-ctx.Done()
	close(h.closed)
	return ctx.Err()
}

func (h *hanging) List(ctx context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if h.lists {
		return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "5"}}}, nil
	}
	return nil, h.hang(ctx)
}

func (h *hanging) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	return nil, h.hang(ctx)
}

// TestRequestsEndWithTheirInformer: a request that hangs is given up when the informer is stopped,
// and carries what the context of the start carries, such as a logger.
func TestRequestsEndWithTheirInformer(t *testing.T) {
	type key struct{}
	for request, lists := range map[string]bool{"list": false, "watch": true} {
		t.Run(request, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &hanging{lists: lists, begun: make(chan context.Context, 1), closed: make(chan struct{})}
				f := factory.Dynamic(client, 0)
				ctx, cancel := context.WithCancel(context.WithValue(bubbleContext(t), key{}, "carried"))
				defer f.Shutdown()
				defer cancel()
				f.ForResource(podsResource)
				f.StartWithContext(ctx)
				assert.Equal(t, "carried", (<-client.begun).Value(key{}))
				assert.True(t, f.Stop(podsResource))
				<-client.closed
			})
		})
	}
}

// TestResyncPeriodOfAFactory: handlers without one of their own hear of every object again each
// time it is over.
func TestResyncPeriodOfAFactory(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: pod("ns", "a").ObjectMeta}
	for name, make := range map[string]func(t *testing.T) *factory.ResourceFactory{
		"dynamic": func(*testing.T) *factory.ResourceFactory {
			return factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), time.Minute)
		},
		"metadata": func(t *testing.T) *factory.ResourceFactory {
			return factory.Metadata(metadatafake.NewSimpleMetadataClient(metadataScheme(t), []runtime.Object{partial}...), time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := make(t)
				ctx, cancel := context.WithCancel(bubbleContext(t))
				defer f.Shutdown()
				defer cancel()
				heard := 0
				_, err := f.ForResource(podsResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
					UpdateFunc: func(old, current any) {
						assert.Same(t, old, current)
						heard++
					},
				})
				require.NoError(t, err)
				f.StartWithContext(ctx)
				time.Sleep(3*time.Minute + time.Second)
				synctest.Wait()
				assert.Equal(t, 3, heard)
			})
		})
	}
}

// TestObjectsOfAnotherTypeAreLeftOut: who reads the stores of these factories may rely on the type
// of what is there.
func TestObjectsOfAnotherTypeAreLeftOut(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) (*factory.ResourceFactory, *clienttesting.Fake){
		"dynamic": func(*testing.T) (*factory.ResourceFactory, *clienttesting.Fake) {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
			return factory.Dynamic(client, 0), &client.Fake
		},
		"metadata": func(t *testing.T) (*factory.ResourceFactory, *clienttesting.Fake) {
			client := metadatafake.NewSimpleMetadataClient(metadataScheme(t))
			return factory.Metadata(client, 0), &client.Fake
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, client := make(t)
				stream := watch.NewFake()
				client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(stream, nil))
				ctx, cancel := context.WithCancel(bubbleContext(t))
				defer f.Shutdown()
				defer cancel()
				pods := f.ForResource(podsResource).Informer()
				f.StartWithContext(ctx)
				stream.Add(pod("ns", "a"))
				synctest.Wait()
				assert.Empty(t, pods.GetStore().ListKeys())
				status, err := cache.StatusOf(pods)
				require.NoError(t, err)
				assert.EqualValues(t, 1, status.Dropped)
			})
		})
	}
}

// askedFor is the provider of the whole process: the first one that is set stays.
var askedFor recorder

// recorder is a provider that counts what is published, by name and resource, and by metric.
type recorder struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

// published returns how often each metric of "name resource" was set since the last call.
func (r *recorder) published(informer string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts[informer]
	delete(r.counts, informer)
	return counts
}

func (r *recorder) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return metric{r, id, "depth"}
}

func (r *recorder) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	return metric{r, id, "latency"}
}

func (r *recorder) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return metric{r, id, "version"}
}

// metric publishes only while its identity is reserved.
type metric struct {
	to   *recorder
	id   cache.InformerNameAndResource
	name string
}

func (m metric) Observe(value float64) { m.Set(value) }

func (m metric) Set(float64) {
	if !m.id.Reserved() {
		return
	}
	m.to.mu.Lock()
	defer m.to.mu.Unlock()
	informer := m.id.Name() + " " + m.id.GroupVersionResource().Resource
	if m.to.counts == nil {
		m.to.counts = map[string]map[string]int{}
	}
	if m.to.counts[informer] == nil {
		m.to.counts[informer] = map[string]int{}
	}
	m.to.counts[informer][m.name]++
}

// TestInformerNameByOption: metrics carry the name of the option, and of a resource what
// client-go's informers call it.
func TestInformerNameByOption(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-option")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(boundedContext(t))
	typed := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), factory.WithInformerName(name))
	typed.Networking().V1().NetworkPolicies().Informer()
	generic := resourceFactories(t, factory.WithInformerName(name))["dynamic"]
	generic.ForResource(podsResource)
	typed.StartWithContext(ctx)
	generic.StartWithContext(ctx)
	synced := typed.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, synced.AsError())
	_, err = generic.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, err)
	cancel()
	typed.Shutdown()
	generic.Shutdown()
	assert.Contains(t, askedFor.published("factory-test-option networkpolicys"), "depth")
	assert.Contains(t, askedFor.published("factory-test-option pods"), "depth")
	again, err := cache.NewInformerName("factory-test-option")
	require.NoError(t, err, "Shutdown has released the name")
	again.Release()
}

// TestMetricsGoOnAfterStop: the next informer of a resource publishes under the same name as the
// one that was stopped.
func TestMetricsGoOnAfterStop(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-stop")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(boundedContext(t))
	f := resourceFactories(t, factory.WithInformerName(name))["dynamic"]
	for range 3 {
		f.ForResource(podsResource)
		f.ForResource(nodesResource)
		f.StartWithContext(ctx)
		_, err = f.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, err)
		assert.True(t, f.Stop(podsResource))
		published := askedFor.published("factory-test-stop pods")
		for _, metric := range []string{"depth", "latency", "version"} {
			assert.Positive(t, published[metric], metric)
		}
	}
	cancel()
	f.Shutdown()
	again, err := cache.NewInformerName("factory-test-stop")
	require.NoError(t, err, "Shutdown has released the name")
	again.Release()
}

// TestNameIsNotReservedForAConstructor: informers that the name does not reach leave their
// resources to others.
func TestNameIsNotReservedForAConstructor(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-constructor")
	require.NoError(t, err)
	defer name.Release()
	for _, f := range resourceFactories(t, factory.WithInformerName(name), factory.WithConstructor(cache.NewSharedIndexInformer)) {
		f.ForResource(podsResource)
	}
	assert.True(t, name.WithResource(podsResource).Reserved())
}
