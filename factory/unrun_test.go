// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// TestWaitForARemovedNamespace: a wait for a namespace that is not in the set, or no longer, is an error.
func TestWaitForARemovedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		unknown := func(name string) {
			t.Helper()
			err := namespaces.WaitForSync(t.Context(), name)
			require.ErrorIs(t, err, sources.ErrUnknown)
			assert.ErrorContains(t, err, `namespace "`+name+`" was not added, or was removed`)
		}
		unknown("ns")
		namespaces.Add("ns")
		require.NoError(t, namespaces.WaitForSync(t.Context(), "ns"), "nothing follows it")
		namespaces.Remove("ns")
		unknown("ns")

		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(podsResource.GroupResource(), "", errors.New("not you"))
		})
		f := factory.Dynamic(client, 0, factory.WithNamespaces(&namespaces))
		f.ForResource(podsResource)
		f.ForResource(servicesResource)
		f.StartWithContext(bubbleContext(t, f))
		wait := func() <-chan error {
			namespaces.Add("ns")
			result := make(chan error, 1)
			go func() { result <- namespaces.WaitForSync(t.Context(), "ns") }()
			synctest.Wait()
			require.Empty(t, result)
			return result
		}
		removed := wait()
		namespaces.Remove("ns")
		require.ErrorIs(t, <-removed, sources.ErrUnknown)

		stopped := wait()
		f.Stop(podsResource)
		err := <-stopped
		require.ErrorContains(t, err, "has not synced")
		require.NotErrorIs(t, err, sources.ErrUnknown)
	})
}

// requested is a factory with an informer of pods that has not been started.
type requested struct {
	pods     func() cache.SharedIndexInformer // requests the informer
	start    func(context.Context)
	shutdown func()
	stop     func() bool // nil if the factory cannot stop a single informer
}

// eachRequested calls test for factories of each kind that follow namespaces.
func eachRequested(t *testing.T, test func(t *testing.T, namespaces *factory.Namespaces, f requested)) {
	typed := func(f informers.SharedInformerFactory) requested {
		return requested{pods: func() cache.SharedIndexInformer { return f.Core().V1().Pods().Informer() }, start: f.StartWithContext, shutdown: f.Shutdown}
	}
	ofResources := func(f *factory.ResourceFactory) requested {
		return requested{
			pods:  func() cache.SharedIndexInformer { return f.ForResource(podsResource).Informer() },
			start: f.StartWithContext, shutdown: f.Shutdown, stop: func() bool { return f.Stop(podsResource) },
		}
	}
	inner := func() informers.SharedInformerFactory {
		return informers.NewSharedInformerFactory(fake.NewClientset(pod("ns", "a")), 0)
	}
	for name, made := range map[string]func(*factory.Namespaces) requested{
		"typed": func(n *factory.Namespaces) requested { return typed(factory.Wrap(inner(), factory.WithNamespaces(n))) },
		"of the inner of two": func(n *factory.Namespaces) requested {
			within := factory.Wrap(inner(), factory.WithNamespaces(n))
			f := typed(factory.Wrap(within))
			f.pods = typed(within).pods
			return f
		},
		"dynamic": func(n *factory.Namespaces) requested {
			return ofResources(factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0, factory.WithNamespaces(n)))
		},
		"metadata": func(n *factory.Namespaces) requested {
			return ofResources(factory.Metadata(metadatafake.NewSimpleMetadataClient(metadataScheme(t)), 0, factory.WithNamespaces(n)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var namespaces factory.Namespaces
				namespaces.Add("ns")
				test(t, &namespaces, made(&namespaces))
			})
		})
	}
}

// unrunIsOver requires that an informer is not waited for, and cannot be run.
func unrunIsOver(t *testing.T, namespaces *factory.Namespaces, informer cache.SharedIndexInformer) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, namespaces.WaitForSync(ctx, "ns"))
	require.ErrorContains(t, kinformer.WaitForSync(ctx, informer), "ended before it had synced")
	assert.True(t, informer.IsStopped())
	assert.Len(t, logged(t, "runs only once", func() { informer.RunWithContext(ctx) }), 1)
	assert.Empty(t, informer.GetStore().ListKeys())
	assert.Zero(t, time.Since(began))
}

// TestStopBeforeStart: an informer that is stopped before its start is not waited for, and the next one
// of the resource is.
func TestStopBeforeStart(t *testing.T) {
	eachRequested(t, func(t *testing.T, namespaces *factory.Namespaces, f requested) {
		if f.stop == nil {
			t.Skip("the factory cannot stop a single informer")
		}
		first := f.pods()
		assert.True(t, f.stop())
		unrunIsOver(t, namespaces, first)
		second := f.pods()
		ctx, cancel := context.WithCancel(t.Context())
		f.start(ctx)
		require.NoError(t, namespaces.WaitForSync(ctx, "ns"))
		require.NoError(t, kinformer.WaitForSync(ctx, second))
		cancel()
		f.shutdown()
	})
}

// TestShutdownBeforeStart: informers that a factory did not start before its Shutdown, or that are
// requested later, are not waited for. An informer that its user runs is.
func TestShutdownBeforeStart(t *testing.T) {
	eachRequested(t, func(t *testing.T, namespaces *factory.Namespaces, f requested) {
		before := f.pods()
		f.shutdown()
		unrunIsOver(t, namespaces, before)
		assert.Empty(t, logged(t, "runs only once", f.shutdown))
		f.start(t.Context())
		unrunIsOver(t, namespaces, f.pods())
	})
	eachRequested(t, func(t *testing.T, namespaces *factory.Namespaces, f requested) {
		f.shutdown()
		unrunIsOver(t, namespaces, f.pods())
	})
	eachRequested(t, func(t *testing.T, namespaces *factory.Namespaces, f requested) {
		users := f.pods()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go users.RunWithContext(ctx)
		synctest.Wait()
		assert.Empty(t, logged(t, "runs only once", f.shutdown))
		assert.False(t, users.IsStopped())
		namespaces.Add("other")
		require.NoError(t, namespaces.WaitForSync(ctx, "other"))
	})
}

// TestShutdownWithoutNamespaces: an informer of a factory without Namespaces may be run by its user after
// a Shutdown, as with client-go.
func TestShutdownWithoutNamespaces(t *testing.T) {
	for _, f := range []interface {
		Shutdown()
		StartWithContext(context.Context)
	}{factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0)), factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme), 0)} {
		var informer cache.SharedIndexInformer
		switch f := f.(type) {
		case informers.SharedInformerFactory:
			informer = f.Core().V1().Pods().Informer()
		case *factory.ResourceFactory:
			informer = f.ForResource(podsResource).Informer()
		}
		f.Shutdown()
		assert.False(t, informer.IsStopped())
		stop := testkit.InBackground(t, informer.RunWithContext)
		require.NoError(t, kinformer.WaitForSync(boundedContext(t), informer))
		stop()
	}
}

// TestStopBeforeStartSendsNothing: an informer that is stopped before its start sends no request, and
// nobody waits for it, also without Namespaces.
func TestStopBeforeStartSendsNothing(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
	f := factory.Dynamic(client, 0)
	informer := f.ForResource(podsResource).Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	require.NoError(t, err)
	assert.True(t, f.Stop(podsResource))
	require.ErrorContains(t, kinformer.WaitForSync(t.Context(), informer), "ended before it had synced")
	require.Error(t, kinformer.WaitForSync(t.Context(), registration))
	assert.Empty(t, client.Actions())
}
