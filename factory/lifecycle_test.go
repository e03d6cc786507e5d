// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
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

// TestFactoryWithBadOptions: its informers do not run, and who waits for them is told at once, and
// why.
func TestFactoryWithBadOptions(t *testing.T) {
	for why, options := range map[string][]factory.Option{
		"WithPageSize is -1":   {factory.WithInformerOptions(cache.WithPageSize(-1))},
		"is nil":               {factory.WithInformerOptions(cache.WithPageSize(5), nil)},
		"option 4 of 4 is nil": {nil},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, began := bubbleContext(t), time.Now()
				client := fake.NewClientset()
				f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), options...)
				informer := f.Core().V1().Pods().Informer()
				f.StartWithContext(ctx)
				synced := f.WaitForCacheSyncWithContext(ctx)
				require.ErrorContains(t, synced.Err, why)
				assert.NotContains(t, synced.Synced, true)
				assert.ErrorContains(t, cache.WaitForSync(ctx, informer), why)
				status, err := cache.StatusOf(informer)
				require.NoError(t, err)
				assert.ErrorContains(t, status.LastError, why)
				assert.Empty(t, client.Actions())
				f.Shutdown()
				assert.Zero(t, time.Since(began))
			})
		})
	}
}

// startOf begins to follow pods, and returns their informer and a function that creates one.
type startOf func(ctx context.Context, option factory.Option) (pods cache.SharedIndexInformer, create func(name string), shutdown func())

// TestFactoryWithDelivery: handlers that are added to the informers of a factory are served as its
// option says.
func TestFactoryWithDelivery(t *testing.T) {
	for name, optionFor := range map[string]func(cache.Option) factory.Option{
		"WithInformerOptions": func(o cache.Option) factory.Option { return factory.WithInformerOptions(o) },
		"WithConstructor":     func(o cache.Option) factory.Option { return factory.WithConstructor(cache.InformerFunc(o)) },
	} {
		for kind, start := range map[string]startOf{"Wrap": startWrapped, "Dynamic": startDynamic} {
			t.Run(kind+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var why error
					disconnectsSlowHandler(t, start, optionFor(cache.WithDelivery(cache.Delivery{
						Overflow: cache.OverflowDisconnect, Max: 1, OnDisconnect: func(err error) { why = err },
					})))
					assert.ErrorIs(t, why, cache.ErrDisconnected)
				})
			})
		}
	}
}

// disconnectsSlowHandler adds a handler that does not return, and creates more than it may be
// behind.
func disconnectsSlowHandler(t *testing.T, start startOf, option factory.Option) {
	ctx, cancel := context.WithCancel(bubbleContext(t))
	pods, create, shutdown := start(ctx, option)
	defer shutdown()
	defer cancel()
	release := make(chan struct{})
	defer close(release)
	handle, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
	require.NoError(t, err)
	synctest.Wait()
	for i := range 3 {
		create(fmt.Sprint("p", i))
		synctest.Wait()
	}
	assert.Equal(t, cache.HandlerDisconnected, handle.(cache.MeasuredRegistration).Stats().State)
}

func startWrapped(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	client := fake.NewClientset()
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), option)
	pods := f.Core().V1().Pods().Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		_, err := client.CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}

func startDynamic(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	f := factory.Dynamic(client, 0, option)
	pods := f.ForResource(podsResource).Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &unstructured.Unstructured{}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		pod.SetNamespace("ns")
		pod.SetName(name)
		_, err := client.Resource(podsResource).Namespace("ns").Create(ctx, pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}

// TestInformersOfFactoriesAreInspected: they are found, with their handlers, without a line of the
// program's, and inspected as what the factory hands out.
func TestInformersOfFactoriesAreInspected(t *testing.T) {
	for name, tc := range map[string]struct {
		start startOf
		typ   string
	}{
		"typed":    {startWrapped, "*v1.Pod"},
		"dynamic":  {startDynamic, "*unstructured.Unstructured"},
		"metadata": {startMetadata, "*v1.PartialObjectMetadata"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(bubbleContext(t))
				pods, create, shutdown := tc.start(ctx, factory.WithInformerOptions())
				_, err := pods.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Name: "mine"}))
				require.NoError(t, err)
				synctest.Wait()
				create("a")
				synctest.Wait()
				var all []inspect.Inspection
				for informer := range inspect.Informers() {
					inspection, err := inspect.Of(informer)
					require.NoError(t, err)
					all = append(all, inspection)
				}
				require.Len(t, all, 1)
				assert.Equal(t, tc.typ, all[0].Type)
				assert.Equal(t, 1, all[0].Status.Objects)
				assert.Positive(t, all[0].Memory.Objects)
				handedOut, err := inspect.Of(pods)
				require.NoError(t, err)
				assert.Equal(t, all[0].ID, handedOut.ID)
				handlers, err := cache.HandlersOf(pods)
				require.NoError(t, err)
				require.Len(t, handlers, 1)
				assert.Equal(t, "mine", handlers[0].Name)
				assert.NoError(t, inspect.ReadyCheck(inspect.ReadyOptions{}, pods).Check(nil))
				cancel()
				shutdown()
				for range inspect.Informers() {
					t.Error("it does not run any more")
				}
			})
		})
	}
}

func startMetadata(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	known := metadatafake.NewTestScheme()
	utilruntime.Must(metav1.AddMetaToScheme(known))
	client := metadatafake.NewSimpleMetadataClient(known)
	f := factory.Metadata(client, 0, option)
	pods := f.ForResource(podsResource).Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		namespace := client.Resource(podsResource).Namespace("ns").(metadatafake.MetadataClient)
		_, err := namespace.CreateFake(pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}

func selectA(o *metav1.ListOptions) { o.LabelSelector = "app=a" }

// wrappedPods runs a wrapper until it has synced, and returns the keys of its pods, and what Wrap
// has logged.
func wrappedPods(t *testing.T, inner informers.SharedInformerFactory, options ...factory.Option) (keys, logged []string) {
	t.Helper()
	var f informers.SharedInformerFactory
	logged = processLog.about("factory.Wrap", func() { f = factory.Wrap(inner, options...) })
	informer := f.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(boundedContext(t))
	f.StartWithContext(ctx)
	synced := f.WaitForCacheSyncWithContext(ctx)
	cancel()
	f.Shutdown()
	require.NoError(t, synced.AsError())
	return informer.GetStore().ListKeys(), logged
}

func twoNamespaces() *fake.Clientset {
	return fake.NewClientset(pod("ns", "a"), pod("ns", "b"), pod("other", "a"))
}

func TestNamespaceOfTheWrappedFactory(t *testing.T) {
	limited := func() informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithNamespace("ns"))
	}
	all := []string{"ns/a", "ns/b", "other/a"}
	for name, tc := range map[string]struct {
		inner   informers.SharedInformerFactory
		options []factory.Option
		want    []string
	}{
		"is taken over":                  {limited(), nil, []string{"ns/a", "ns/b"}},
		"also by a wrapper's wrapper":    {factory.Wrap(limited()), nil, []string{"ns/a", "ns/b"}},
		"and what Wrap was told":         {factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), factory.WithNamespace("ns")), nil, []string{"ns/a", "ns/b"}},
		"unless another one is given":    {limited(), []factory.Option{factory.WithNamespace("other")}, []string{"other/a"}},
		"or all":                         {limited(), []factory.Option{factory.WithNamespace(metav1.NamespaceAll)}, all},
		"where there is none, it is all": {informers.NewSharedInformerFactory(twoNamespaces(), 0), nil, all},
	} {
		t.Run(name, func(t *testing.T) {
			keys, logged := wrappedPods(t, tc.inner, tc.options...)
			assert.ElementsMatch(t, tc.want, keys)
			assert.Empty(t, logged)
		})
	}
}

func TestTweakOfTheWrappedFactoryIsSaid(t *testing.T) {
	tweaking := func() informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithTweakListOptions(selectA))
	}
	all := []string{"ns/a", "ns/b", "other/a"}
	keys, logged := wrappedPods(t, tweaking())
	assert.ElementsMatch(t, all, keys)
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "factory.WithTweakListOptions")

	keys, logged = wrappedPods(t, tweaking(), factory.WithTweakListOptions(selectA))
	assert.ElementsMatch(t, []string{"ns/a", "other/a"}, keys)
	assert.Empty(t, logged)

	keys, logged = wrappedPods(t, tweaking(), factory.WithTweakListOptions(nil))
	assert.ElementsMatch(t, all, keys)
	assert.Empty(t, logged, "this is how to have it so")
}

// opaque is a factory of somebody else, whose accessors are not client-go's.
type opaque struct {
	informers.SharedInformerFactory
	group core.Interface
}

func (o opaque) Core() core.Interface { return o.group }

func TestWrapOfAFactoryThatCannotBeReadSaysSo(t *testing.T) {
	type otherFields struct {
		core.Interface
		namespace, tweakListOptions int
	}
	type noFields struct{ core.Interface }
	for name, group := range map[string]core.Interface{"no fields": noFields{}, "other fields": otherFields{nil, 1, 2}, "none": nil} {
		t.Run(name, func(t *testing.T) { testUnreadable(t, group) })
	}
}

func testUnreadable(t *testing.T, group core.Interface) {
	foreign := func() informers.SharedInformerFactory {
		return opaque{informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithNamespace("ns")), group}
	}
	keys, logged := wrappedPods(t, foreign())
	assert.Len(t, keys, 3)
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "factory.WithNamespace")
	assert.Contains(t, logged[0], "factory.WithTweakListOptions")

	_, logged = wrappedPods(t, foreign(), factory.WithNamespace("ns"))
	require.Len(t, logged, 1, "the list options are not known")
	keys, logged = wrappedPods(t, foreign(), factory.WithNamespace("ns"), factory.WithTweakListOptions(nil))
	assert.Len(t, keys, 2)
	assert.Empty(t, logged)
}

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
