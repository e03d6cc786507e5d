// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// TestStopWaitsForItsHandlers: when it returns, no call of a handler runs, and none will.
func TestStopWaitsForItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
		f := factory.Dynamic(client, 0)
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		calls := 0
		_, err := f.ForResource(podsResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			time.Sleep(time.Minute)
			calls++
		}})
		require.NoError(t, err)
		f.StartWithContext(ctx)
		synctest.Wait()
		began := time.Now()
		assert.True(t, f.Stop(podsResource))
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Equal(t, 1, calls)
		create(t, client, "b")
		time.Sleep(time.Hour)
		assert.Equal(t, 1, calls)
	})
}

func create(t *testing.T, client *dynamicfake.FakeDynamicClient, name string) {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("Pod")
	obj.SetName(name)
	_, err := client.Resource(podsResource).Namespace("ns").Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestResourceThatIsFollowedAgain: after Stop the next informer begins with what there is then, for
// handlers that were added to it; those of the one before hear of nothing any more.
func TestResourceThatIsFollowedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
		f := factory.Dynamic(client, 0)
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		var heard []string
		follow := func(round string) {
			_, err := f.ForResource(podsResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				heard = append(heard, round+" "+obj.(metav1.Object).GetName())
			}})
			require.NoError(t, err)
			f.StartWithContext(ctx)
			_, err = f.WaitForCacheSyncWithContext(ctx)
			require.NoError(t, err)
			synctest.Wait()
		}
		follow("first")
		first := f.ForResource(podsResource)
		f.Stop(podsResource)
		create(t, client, "b")
		follow("second")
		assert.Equal(t, "first a", heard[0])
		assert.ElementsMatch(t, []string{"second a", "second b"}, heard[1:])
		_, err := first.Lister().ByNamespace("ns").Get("b")
		require.ErrorContains(t, err, `"b" not found`, "a lister stays with its informer")
		_, err = f.ForResource(podsResource).Lister().ByNamespace("ns").Get("b")
		require.NoError(t, err)
	})
}

// TestStopOfWhatWasNotStarted forgets it, at once; it is not started later.
func TestStopOfWhatWasNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		f := factory.Dynamic(client, 0)
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		assert.False(t, f.Stop(podsResource), "nobody asked for it")
		f.ForResource(podsResource)
		assert.True(t, f.Stop(podsResource))
		f.StartWithContext(ctx)
		synced, err := f.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, err, "nothing to wait for")
		assert.Empty(t, synced)
		assert.Empty(t, client.Actions())
	})
}

// TestInformerWhoseContextEnded is not run again, as no informer can be. Stop makes room for
// another.
func TestInformerWhoseContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0)
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		short, end := context.WithCancel(ctx)
		ended := f.ForResource(podsResource).Informer()
		f.StartWithContext(short)
		synctest.Wait()
		end()
		synctest.Wait()
		require.True(t, ended.IsStopped())
		assert.Empty(t, processLog.about("has started", func() { f.StartWithContext(ctx) }))
		assert.Same(t, ended, f.ForResource(podsResource).Informer())
		synced, err := f.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, err)
		assert.True(t, synced[podsResource], "it has its first list, and keeps it")

		assert.True(t, f.Stop(podsResource))
		again := f.ForResource(podsResource).Informer()
		f.StartWithContext(ctx)
		require.NoError(t, cache.WaitForSync(ctx, again))
		assert.False(t, again.IsStopped())
	})
}

// TestShutdownWaits until the handlers of all informers have returned, and releases no name before.
func TestShutdownWaits(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-shutdown")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		f := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0, factory.WithInformerName(name))
		ctx, cancel := context.WithCancel(bubbleContext(t))
		_, err := f.ForResource(podsResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			time.Sleep(time.Minute)
			_, taken := cache.NewInformerName("factory-test-shutdown")
			assert.Error(t, taken)
		}})
		require.NoError(t, err)
		f.StartWithContext(ctx)
		synctest.Wait()
		cancel()
		began := time.Now()
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(f.Shutdown)
		}
		callers.Wait()
		assert.Equal(t, time.Minute, time.Since(began))
	})
	again, err := cache.NewInformerName("factory-test-shutdown")
	require.NoError(t, err)
	again.Release()
}

// TestEveryInformerAsksForItsResource: also where the plural is none that can be guessed, such as
// endpoints and ingresses.
func TestEveryInformerAsksForItsResource(t *testing.T) {
	resources := resourcesOfClientGo(t)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
		want := map[schema.GroupVersionResource]bool{}
		for _, gvr := range resources {
			want[gvr] = true
			_, err := f.ForResource(gvr)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		f.StartWithContext(ctx)
		synced := f.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, synced.AsError())
		got := map[schema.GroupVersionResource]bool{}
		for _, action := range client.Actions() {
			got[action.GetResource()] = true
		}
		assert.Equal(t, want, got)
	})
}

// TestPluralsAreTheServers: the resource of an accessor's informer is what the API calls it.
func TestPluralsAreTheServers(t *testing.T) {
	f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	for resource, informer := range map[string]cache.SharedIndexInformer{
		"endpoints.v1":                         f.Core().V1().Endpoints().Informer(),
		"networkpolicies.v1.networking.k8s.io": f.Networking().V1().NetworkPolicies().Informer(),
		"ingresses.v1.networking.k8s.io":       f.Networking().V1().Ingresses().Informer(),
		"ingressclasses.v1.networking.k8s.io":  f.Networking().V1().IngressClasses().Informer(),
		"priorityclasses.v1.scheduling.k8s.io": f.Scheduling().V1().PriorityClasses().Informer(),
		"endpointslices.v1.discovery.k8s.io":   f.Discovery().V1().EndpointSlices().Informer(),
	} {
		gvr, group := schema.ParseResourceArg(resource)
		if gvr == nil {
			gvr = &schema.GroupVersionResource{Version: group.Group, Resource: group.Resource}
		}
		generic, err := f.ForResource(*gvr)
		require.NoError(t, err, resource)
		assert.Same(t, informer.GetIndexer(), generic.Informer().GetIndexer(), resource)
		_, err = generic.Lister().Get("x")
		assert.ErrorContains(t, err, gvr.Resource, resource)
	}
}

// TestUnknownResourceIsNamed: with its group and version, one of which is most often what is wrong.
func TestUnknownResourceIsNamed(t *testing.T) {
	inner := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	f := factory.Wrap(inner)
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v2", Resource: "deployments"}, {Version: "v1", Resource: "deployments"}, {Version: "v1", Resource: "pod"}, {},
	} {
		_, err := f.ForResource(gvr)
		require.ErrorContains(t, err, fmt.Sprint(gvr))
		_, theirs := inner.ForResource(gvr)
		assert.EqualError(t, err, theirs.Error(), "as client-go says it")
	}
}

// TestWrapOfAWrapper: the outer one decides what it is asked for first, and both have the same
// informers.
func TestWrapOfAWrapper(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-wrappers")
	require.NoError(t, err)
	defer name.Release()
	inner := factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), factory.WithNamespace("ns"), factory.WithInformerName(name))
	outer := factory.Wrap(inner, factory.WithTweakListOptions(selectA))
	assert.Same(t, name, outer.InformerName(), "taken over, as the namespace is")
	pods, nodes := outer.Core().V1().Pods().Informer(), inner.Core().V1().Nodes().Informer()
	assert.Same(t, pods.GetIndexer(), inner.Core().V1().Pods().Informer().GetIndexer())
	assert.Same(t, nodes.GetIndexer(), outer.Core().V1().Nodes().Informer().GetIndexer())
	run(t, boundedContext(t), outer)
	assert.Equal(t, []string{"ns/a"}, pods.GetStore().ListKeys())
	assert.True(t, nodes.HasSynced(), "the outer one starts all")
}

// TestTypedFactoryConcurrently: whoever asks, there is one informer of a type, and all methods may
// be called at once.
func TestTypedFactoryConcurrently(t *testing.T) {
	f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(pod("ns", "a")), 0))
	ctx, cancel := context.WithCancel(boundedContext(t))
	const callers = 16
	var stores [callers]cache.Indexer
	var working sync.WaitGroup
	for i := range callers {
		working.Go(func() {
			if i%2 == 0 {
				stores[i] = f.Core().V1().Pods().Informer().GetIndexer()
			} else if generic, err := f.ForResource(podsResource); assert.NoError(t, err) {
				stores[i] = generic.Informer().GetIndexer()
			}
			f.Apps().V1().Deployments().Lister()
			f.StartWithContext(ctx)
			assert.NoError(t, f.WaitForCacheSyncWithContext(ctx).Err)
			assert.Equal(t, []string{"ns/a"}, stores[i].ListKeys())
		})
	}
	working.Wait()
	for _, store := range stores {
		assert.Same(t, stores[0], store)
	}
	cancel()
	f.Shutdown()
	var started []string
	for informer := range f.WaitForCacheSync(nil) {
		started = append(started, informer.String())
	}
	assert.ElementsMatch(t, []string{"*v1.Pod", "*v1.Deployment"}, started)
}
