// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	kit "github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// keysOf waits until all goroutines are idle and returns the keys in a store in their order.
func keysOf(informer cache.SharedIndexInformer) []string {
	synctest.Wait()
	keys := informer.GetStore().ListKeys()
	slices.Sort(keys)
	return keys
}

// listedBy returns a function that returns the ListerWatcher of a client's pods in a namespace.
func listedBy(client kubernetes.Interface) func(example runtime.Object, namespace string) cache.ListerWatcher {
	return func(_ runtime.Object, namespace string) cache.ListerWatcher {
		return clientgo.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(client.CoreV1().Pods(namespace)), client)
	}
}

// TestNamespaces: the informers of factories, and those of a constructor, follow the current
// namespaces, which are added and removed before the informers are made and while they run, also if
// KINFORMER makes other informers client-go's.
func TestNamespaces(t *testing.T) {
	for _, value := range []string{"", "off"} {
		t.Run("KINFORMER="+value, func(t *testing.T) {
			t.Setenv("KINFORMER", value)
			testNamespaces(t)
		})
	}
}

func testNamespaces(t *testing.T) {
	objects := func() []runtime.Object {
		return []runtime.Object{pod("ns", "a"), pod("ns", "b"), pod("other", "a"), pod("third", "a")}
	}
	for name, informerOf := range map[string]func(*factory.Namespaces) cache.SharedIndexInformer{
		"typed": func(n *factory.Namespaces) cache.SharedIndexInformer {
			f := factory.Wrap(informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(objects()...), 0, informers.WithNamespace("third")), factory.WithNamespaces(n))
			return f.Core().V1().Pods().Informer()
		},
		"wrapped twice": func(n *factory.Namespaces) cache.SharedIndexInformer {
			f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(objects()...), 0), factory.WithNamespace("third"), factory.WithNamespaces(n))
			return factory.Wrap(f).Core().V1().Pods().Informer()
		},
		"dynamic": func(n *factory.Namespaces) cache.SharedIndexInformer {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, objects()...)
			return factory.Dynamic(client, 0, factory.WithNamespaces(n)).ForResource(podsResource).Informer()
		},
		"constructor": func(n *factory.Namespaces) cache.SharedIndexInformer {
			construct := n.Constructor(cache.NewSharedIndexInformer, listedBy(fake.NewClientset(objects()...)))
			return construct(nil, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var namespaces factory.Namespaces
				namespaces.Add("ns")
				namespaces.Add("gone")
				informer := informerOf(&namespaces)
				namespaces.Remove("gone")
				namespaces.Remove("never")
				namespaces.Add("ns")
				t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
				require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
				assert.Equal(t, []string{"ns/a", "ns/b"}, keysOf(informer))
				namespaces.Add("other")
				require.NoError(t, namespaces.WaitForSync(t.Context(), "other"))
				assert.Equal(t, []string{"ns/a", "ns/b", "other/a"}, keysOf(informer))
				indexed, err := informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "other")
				require.NoError(t, err)
				assert.Equal(t, []string{"other/a"}, indexed)
				require.ErrorIs(t, namespaces.WaitForSync(t.Context(), "tyop"), sources.ErrUnknown)
				namespaces.Remove("ns")
				assert.Equal(t, []string{"other/a"}, keysOf(informer))
				assert.Equal(t, inspect.PhaseWatching, kit.Status(t, informer).Phase)
			})
		})
	}
}

// TestNamespacesTogether: several informers follow the same namespaces, an informer that has stopped is
// removed, and the error of a wait has the reason why a namespace has not synced.
func TestNamespacesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		f := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"), pod("other", "a")), 0, factory.WithNamespaces(&namespaces))
		before, stays := f.ForResource(podsResource).Informer(), f.ForResource(servicesResource).Informer()
		ctx, stop := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		namespaces.Add("ns")
		require.NoError(t, namespaces.WaitForSync(t.Context(), "ns"))
		assert.Equal(t, []string{"ns/a"}, keysOf(before))
		assert.True(t, f.Stop(podsResource))
		again := f.ForResource(podsResource).Informer()
		namespaces.Add("other")
		assert.Equal(t, []string{"ns/a"}, keysOf(before), "it has stopped")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, namespaces.WaitForSync(short, "other"), "of source other has not synced: never run")
		f.StartWithContext(ctx)
		require.NoError(t, namespaces.WaitForSync(t.Context(), "other"))
		assert.Equal(t, []string{"ns/a", "other/a"}, keysOf(again))
		assert.True(t, stays.HasSynced())
		stop()
		f.Shutdown()
		namespaces.Add("third")
		require.NoError(t, namespaces.WaitForSync(t.Context(), "third"), "nobody follows it")
	})
}

// TestNamespacesAddedAgain: a wait for a namespace that is removed and added again in the meantime is for the new
// sources of all informers, also of those that had synced before.
func TestNamespacesAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		servers, heal := [2]*cachetest.Source{}, [2]func(){}
		for i := range servers {
			servers[i] = cachetest.New(cachetest.Options{Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} }})
			informer := namespaces.Constructor(cache.NewSharedIndexInformer, func(runtime.Object, string) cache.ListerWatcher {
				return servers[i]
			})(nil, &corev1.Pod{}, 0, cache.Indexers{})
			defer testkit.InBackground(t, informer.RunWithContext)()
		}
		heal[1] = servers[1].Partition()
		namespaces.Add("ns")
		synctest.Wait()
		returned := make(chan error, 1)
		go func() { returned <- namespaces.WaitForSync(t.Context(), "ns") }()
		synctest.Wait()
		heal[0] = servers[0].Partition()
		namespaces.Remove("ns")
		namespaces.Add("ns")
		heal[1]()
		synctest.Wait()
		assert.Empty(t, returned)
		heal[0]()
		assert.NoError(t, <-returned)
	})
}

// TestNamespacesRefused: informers that cannot follow namespaces do not follow all of them instead, and
// one that already follows namespaces does not follow others as well.
func TestNamespacesRefused(t *testing.T) {
	var namespaces factory.Namespaces
	namespaces.Add("ns")
	nilNamespaces := factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), factory.WithNamespaces(nil))
	listed := listedBy(twoNamespaces())
	foreign := namespaces.Constructor(clientgo.NewSharedIndexInformer, listed)
	var others factory.Namespaces
	others.Add("other")
	both := namespaces.Constructor(others.Constructor(cache.NewSharedIndexInformer, listed), listed)
	for want, informer := range map[string]cache.SharedIndexInformer{
		"makes informers of another package":      foreign(nil, &corev1.Pod{}, 0, cache.Indexers{}),
		"the informer follows Namespaces already": both(nil, &corev1.Pod{}, 0, cache.Indexers{}),
		"Namespaces of WithNamespaces are":        nilNamespaces.Core().V1().Pods().Informer(),
	} {
		informer.RunWithContext(t.Context())
		require.ErrorContains(t, kinformer.WaitForSync(t.Context(), informer), want)
		assert.Empty(t, informer.GetStore().List())
	}
	require.NotErrorIs(t, namespaces.WaitForSync(t.Context(), "ns"), sources.ErrUnknown)
}

// TestNamespacesForget: informers that are made one after the other, while no namespace is added or
// removed, are removed when they have stopped.
func TestNamespacesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		namespaces.Add("ns")
		f := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0, factory.WithNamespaces(&namespaces))
		once := func() weak.Pointer[unstructured.Unstructured] {
			informer := f.ForResource(podsResource).Informer()
			f.StartWithContext(t.Context())
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			stored := informer.GetStore().List()[0].(*unstructured.Unstructured)
			assert.True(t, f.Stop(podsResource))
			synctest.Wait()
			return weak.Make(stored)
		}
		first := once()
		once()
		goruntime.GC()
		goruntime.GC()
		assert.Nil(t, first.Value())
		goruntime.KeepAlive(&namespaces)
	})
}

// TestNamespacesOfOptions: the last option applies, and informers that are made later do not follow a removed
// namespace.
func TestNamespacesOfOptions(t *testing.T) {
	var namespaces factory.Namespaces
	namespaces.Add("gone")
	namespaces.Add("ns")
	namespaces.Remove("gone")
	wrapped := func(options ...factory.Option) informers.SharedInformerFactory {
		return factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), options...)
	}
	for _, c := range []struct {
		f         informers.SharedInformerFactory
		sources   int
		namespace string
	}{
		{wrapped(factory.WithNamespace("other"), factory.WithNamespaces(&namespaces)), 1, ""},
		{wrapped(factory.WithNamespaces(&namespaces), factory.WithNamespace("other")), 0, "other"},
	} {
		all, err := inspect.Of(c.f.Core().V1().Pods().Informer())
		require.NoError(t, err)
		assert.Len(t, all.Sources, c.sources)
		assert.Equal(t, c.namespace, all.Status.Namespace)
	}
}
