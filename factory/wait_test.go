// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// refusePods has a fake client answer 403 to all that is asked about pods.
func refusePods(client interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
	PrependWatchReactor(resource string, reaction clienttesting.WatchReactionFunc)
}) {
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(podsResource.GroupResource(), "", errors.New("not you"))
	})
}

// waited is what a wait has returned.
type waited[K comparable] struct {
	synced map[K]bool
	err    error
}

// bubbleContext ends after a day of a bubble's time, so that what should end before fails instead
// of hanging.
func bubbleContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// TestWaitIsOverWhenAnInformerStops: an informer that has stopped will not sync, and the others are
// still waited for.
func TestWaitIsOverWhenAnInformerStops(t *testing.T) {
	type stopper = func(f *factory.ResourceFactory, stopPods context.CancelFunc)
	stoppers := map[string]stopper{
		"by Stop":        func(f *factory.ResourceFactory, _ context.CancelFunc) { f.Stop(podsResource) },
		"by its context": func(_ *factory.ResourceFactory, stopPods context.CancelFunc) { stopPods() },
	}
	for how, stop := range stoppers {
		for library, construct := range map[string]factory.Constructor{"ours": nil, "client-go": clientgo.NewSharedIndexInformer} {
			t.Run(how+" "+library, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
					refusePods(client)
					f := factory.Dynamic(client, 0, factory.WithConstructor(construct))
					ctx, cancel := context.WithCancel(bubbleContext(t))
					defer f.Shutdown()
					defer cancel()
					podsCtx, stopPods := context.WithCancel(ctx)
					f.ForResource(podsResource)
					f.StartWithContext(podsCtx)
					f.ForResource(nodesResource)
					f.StartWithContext(ctx)
					result := make(chan waited[schema.GroupVersionResource], 1)
					go func() {
						synced, err := f.WaitForCacheSyncWithContext(ctx)
						result <- waited[schema.GroupVersionResource]{synced, err}
					}()
					synctest.Wait()
					require.Empty(t, result, "pods may still sync")

					stop(f, stopPods)
					got := <-result
					require.Error(t, got.err)
					assert.NotErrorIs(t, got.err, context.DeadlineExceeded)
					assert.ErrorContains(t, got.err, "stopped before")
					assert.Equal(t, map[schema.GroupVersionResource]bool{podsResource: false, nodesResource: true}, got.synced)
				})
			})
		}
	}
}

// TestWaitSaysWhatThePolicyStopped: the error has what the server said.
func TestWaitSaysWhatThePolicyStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		refusePods(client)
		f := factory.Dynamic(client, 0, factory.WithInformerOptions(cache.WithErrorPolicy(cache.StopOnForbidden)))
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		f.ForResource(podsResource)
		f.ForResource(nodesResource)
		f.StartWithContext(ctx)
		synced, err := f.WaitForCacheSyncWithContext(ctx)
		assert.True(t, apierrors.IsForbidden(err), err)
		assert.ErrorContains(t, err, "pods")
		assert.NotContains(t, err.Error(), "nodes")
		assert.Equal(t, map[schema.GroupVersionResource]bool{podsResource: false, nodesResource: true}, synced)
		assert.Equal(t, synced, f.WaitForCacheSync(ctx.Done()))
	})
}

// TestTypedWaitIsOverWhenAnInformerStops: an informer of a typed factory is stopped by the context
// that it was run with.
func TestTypedWaitIsOverWhenAnInformerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		refusePods(client)
		f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		podsCtx, stopPods := context.WithCancel(ctx)
		pods := f.Core().V1().Pods().Informer()
		f.Core().V1().Nodes().Informer()
		go pods.RunWithContext(podsCtx)
		synctest.Wait()
		f.StartWithContext(ctx)
		f.Core().V1().Services().Informer() // is not started, and not waited for
		result := make(chan cache.SyncResult, 1)
		go func() { result <- f.WaitForCacheSyncWithContext(ctx) }()
		synctest.Wait()
		require.Empty(t, result, "pods may still sync")

		stopPods()
		got := <-result
		want := map[reflect.Type]bool{reflect.TypeFor[*corev1.Pod](): false, reflect.TypeFor[*corev1.Node](): true}
		assert.Equal(t, want, got.Synced)
		require.ErrorContains(t, got.AsError(), "*v1.Pod")
		assert.NotErrorIs(t, got.Err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsForbidden(got.Err), got.Err)
		assert.Equal(t, want, f.WaitForCacheSync(ctx.Done()))
	})
}

// TestTypedWaitEndsWithItsContext: the cause of its end is in the error.
func TestTypedWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		refusePods(client)
		f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
		ctx, cancel := context.WithCancel(bubbleContext(t))
		defer f.Shutdown()
		defer cancel()
		f.Core().V1().Pods().Informer()
		f.StartWithContext(ctx)
		late := errors.New("too late")
		short, end := context.WithTimeoutCause(ctx, time.Minute, late)
		defer end()
		got := f.WaitForCacheSyncWithContext(short)
		require.ErrorIs(t, got.Err, late)
		assert.Equal(t, map[reflect.Type]bool{reflect.TypeFor[*corev1.Pod](): false}, got.Synced)
	})
}
