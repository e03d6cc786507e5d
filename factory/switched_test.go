// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// TestSwitchedTypes: KINFORMER knows the objects of every type that client-go has an informer for by their
// resource and group, their kind and their Go type, also where no factory says the resource.
func TestSwitchedTypes(t *testing.T) {
	f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	for _, gvr := range resourcesOfClientGo(t) {
		generic, err := f.ForResource(gvr)
		require.NoError(t, err)
		example := door.Of(generic.Informer()).Example.(runtime.Object)
		name := gvr.GroupResource().String()
		t.Setenv("KINFORMER", "off:"+name)
		server := &testkit.Server{}
		assert.False(t, isOurs(cache.NewSharedIndexInformer(server, example, 0, nil)), name)
		again := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
		generic, err = again.ForResource(gvr)
		require.NoError(t, err)
		assert.False(t, isOurs(generic.Informer()), "%s of a factory", name)
		t.Setenv("KINFORMER", "only:"+name)
		assert.True(t, isOurs(cache.NewSharedIndexInformer(server, example, 0, nil)), name)
		assert.False(t, isOurs(cache.NewSharedIndexInformer(server, &metav1.Status{}, 0, nil)), name)
		t.Setenv("KINFORMER", "")
	}
}

// TestSwitchedFactories: the informers of each factory are client-go's, with the transform and the dropped fields of
// the factory's options, and nothing is said about informers of other packages. TestWithShardSelector has their shard.
func TestSwitchedFactories(t *testing.T) {
	t.Setenv("KINFORMER", "off:pods")
	lines := testkit.CaptureLog(t)
	ofEachKind(t, func(t *testing.T, pods followed) {
		require.NoError(t, kinformer.WaitForSync(t.Context(), pods.Informer()))
		objects := pods.Informer().GetStore().List()
		require.Len(t, objects, 1)
		assert.Equal(t, map[string]string{"of": "the options"}, objects[0].(metav1.Object).GetLabels())
		pods.create("b")
		synctest.Wait()
		assert.Len(t, pods.Informer().GetStore().ListKeys(), 2)
	}, factory.WithTransform(func(obj any) (any, error) {
		assert.Empty(t, obj.(metav1.Object).GetAnnotations(), "dropped before the transform")
		obj.(metav1.Object).SetLabels(map[string]string{"of": "the options"})
		return obj, nil
	}), factory.WithInformerOptions(kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.annotations[x]"}}}))

	plain := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(pod("ns", "a")), 0, informers.WithNamespace("ns"), informers.WithTransform(func(any) (any, error) {
		return nil, assert.AnError
	}))
	f := factory.Wrap(plain, factory.WithTransform(func(obj any) (any, error) { return obj, nil }))
	assert.False(t, isOurs(f.Core().V1().Pods().Informer()))
	assert.True(t, isOurs(f.Core().V1().Services().Informer()))
	run(t, f)
	assert.Len(t, f.Core().V1().Pods().Informer().GetStore().List(), 1, "the transform of the option replaces that of the factory")
	assert.Empty(t, factory.Foreign(f))

	other := informers.NewSharedInformerFactory(fake.NewClientset(pod("ns", "a")), 0)
	taken := factory.Take(other.InformerFor, &corev1.Pod{}, func(c kubernetes.Interface, namespace string) typedcorev1.PodInterface {
		return c.CoreV1().Pods(namespace)
	})
	assert.False(t, isOurs(taken))
	all := lines.Take()
	assert.Empty(t, testkit.About("another package", all))
	assert.Empty(t, testkit.About("no counterpart", all))
}

// TestSwitchedConstruct: a constructor gets the ListerWatcher of the framework, and whatever it makes of it, the
// informer of several namespaces stays this module's, with what the constructor has set.
func TestSwitchedConstruct(t *testing.T) {
	for _, value := range []string{"", "off", "off:pods"} {
		t.Run("KINFORMER="+value, func(t *testing.T) {
			t.Setenv("KINFORMER", value)
			synctest.Test(t, func(t *testing.T) {
				var namespaces factory.Namespaces
				namespaces.Add("ns")
				given := testkit.NewPods(testkit.Pod("a", "1"))
				var failed atomic.Int32
				constructor := namespaces.Constructor(func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
					assert.Same(t, given, lw)
					of := cache.ToListerWatcherWithContext(lw)
					wrapped := &cache.ListWatch{ListWithContextFunc: of.ListWithContext, WatchFuncWithContext: of.WatchWithContext}
					informer := cache.NewSharedIndexInformer(wrapped, example, resync, indexers)
					require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
						obj.(*corev1.Pod).Labels = map[string]string{"transformed": "yes"}
						return obj, nil
					}))
					require.NoError(t, informer.AddIndexers(cache.Indexers{"later": cache.MetaNamespaceIndexFunc}))
					require.NoError(t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) { failed.Add(1) }))
					return informer
				}, func(runtime.Object, string) cache.ListerWatcher { return given })
				informer := constructor(given, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
				defer testkit.InBackground(t, informer.RunWithContext)()
				require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
				_, err := inspect.StatusOf(informer)
				require.NoError(t, err)
				for _, index := range []string{cache.NamespaceIndex, "later"} {
					found, err := informer.GetIndexer().ByIndex(index, "ns")
					require.NoError(t, err)
					require.Len(t, found, 1)
					assert.Equal(t, map[string]string{"transformed": "yes"}, found[0].(*corev1.Pod).Labels)
				}
				synctest.Wait() // until the watch is open
				given.Outage(assert.AnError)
				time.Sleep(time.Minute)
				assert.Positive(t, failed.Load())
			})
		})
	}
	t.Setenv("KINFORMER", "off")
	var namespaces factory.Namespaces
	informer := namespaces.Constructor(func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		informer := cache.NewSharedIndexInformer(lw, example, resync, indexers)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		return informer
	}, func(runtime.Object, string) cache.ListerWatcher { return testkit.NewPods() })(testkit.NewPods(), &corev1.Pod{}, 0, nil)
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	require.ErrorContains(t, status.LastError, "the informer is client-go's (KINFORMER=off) and has a handler already")
}

// TestSwitchedStop: the wait for informers of client-go's ends when one of them is stopped.
func TestSwitchedStop(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		refusePods(&client.Fake)
		f := factory.Dynamic(client, 0)
		ctx, stop := context.WithCancel(t.Context())
		f.ForResource(podsResource)
		f.StartWithContext(ctx)
		waited := make(chan factory.GVRSyncResult)
		go func() { waited <- f.WaitForCacheSyncWithContext(t.Context()) }()
		synctest.Wait()
		assert.True(t, f.Stop(podsResource))
		assert.Error(t, (<-waited).Err)
		stop()
		f.Shutdown()
	})
}

// TestSwitchedFor: For returns an informer of client-go's, and refuses what it refuses without the variable.
func TestSwitchedFor(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	_, err := factory.For[*corev1.Pod](t.Context(), podServer(t), nil)
	require.ErrorContains(t, err, "option 1 of 1 is nil")
	informer, err := factory.For[*corev1.Pod](t.Context(), podServer(t), factory.WithNamespace("web"))
	require.NoError(t, err)
	_, err = inspect.StatusOf(informer)
	require.ErrorIs(t, err, inspect.ErrForeign)
	ctx, cancel := context.WithCancel(boundedContext(t))
	defer testkit.InBackground(t, informer.RunWithContext)()
	defer cancel()
	require.NoError(t, kinformer.WaitForSync(ctx, informer))
	assert.Equal(t, []string{"web/a"}, informer.GetStore().ListKeys())
}
