// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
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

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	kit "github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// bubbleContext ends after a day of a bubble's time, so that an operation that should end earlier fails
// instead of hanging, and at the end of the test, which then waits for the end of f.
func bubbleContext(t *testing.T, f interface{ Shutdown() }) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(func() { cancel(); f.Shutdown() })
	return ctx
}

// followed is a running informer of pods of a factory, and its fake server.
type followed struct {
	informers.GenericInformer
	*clienttesting.Fake
	create func(name string)
	stop   func()
}

// annotated returns a pod with an annotation, x.
func annotated(name string) *corev1.Pod {
	p := pod("ns", name)
	p.Annotations = map[string]string{"x": "some text"}
	return p
}

// follow runs a factory of a kind, in a bubble, with a server that has an annotated pod.
func follow(t *testing.T, kind string, options []factory.Option) (f followed) {
	served := servedAs(kind, annotated("a"))
	var tracker clienttesting.ObjectTracker
	var start func(context.Context)
	follows := func(all *factory.ResourceFactory) {
		f.GenericInformer, start, f.stop = all.ForResource(podsResource), func(ctx context.Context) { all.Start(ctx.Done()) }, all.Shutdown
	}
	switch kind {
	case "typed":
		client := fake.NewClientset(served)
		all := factory.Wrap(informers.NewSharedInformerFactory(client, time.Minute), options...)
		pods, err := all.ForResource(podsResource)
		require.NoError(t, err)
		f, start, tracker = followed{GenericInformer: pods, Fake: &client.Fake, stop: all.Shutdown}, all.StartWithContext, client.Tracker()
	case "dynamic":
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, served)
		f.Fake, tracker = &client.Fake, client.Tracker()
		follows(factory.Dynamic(client, time.Minute, options...))
	case "metadata":
		client := metadatafake.NewSimpleMetadataClient(metadataScheme(t), served)
		f.Fake, tracker = &client.Fake, client.Tracker()
		follows(factory.Metadata(client, time.Minute, options...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	shutdown := f.stop
	f.stop = func() { cancel(); shutdown() }
	t.Cleanup(f.stop)
	f.create = func(name string) {
		require.NoError(t, tracker.Create(podsResource, servedAs(kind, annotated(name)), "ns"))
	}
	assert.Equal(t, os.Getenv("KINFORMER") == "", isOurs(f.Informer()))
	start(ctx)
	synctest.Wait()
	require.True(t, f.Informer().HasSynced())
	return f
}

func metadataScheme(t *testing.T) *runtime.Scheme {
	s := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(s))
	return s
}

// servedAs returns a pod in the form of the server of a factory of a kind.
func servedAs(kind string, p *corev1.Pod) runtime.Object {
	switch kind {
	case "dynamic":
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		utilruntime.Must(err)
		obj := &unstructured.Unstructured{Object: content}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		return obj
	case "metadata":
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: p.ObjectMeta}
	}
	return p
}

// ofEachKind calls test with a watching informer of a pod, for each kind of factory.
func ofEachKind(t *testing.T, test func(t *testing.T, pods followed), options ...factory.Option) {
	for _, kind := range []string{"typed", "dynamic", "metadata"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, follow(t, kind, options)) })
		})
	}
}

// asked returns the options of the first list and of the first watch.
func (f followed) asked(t *testing.T) (list, watch metav1.ListOptions) {
	t.Helper()
	actions := f.Actions()
	require.Len(t, actions, 2)
	return actions[0].(clienttesting.ListActionImpl).ListOptions, actions[1].(clienttesting.WatchActionImpl).ListOptions
}

// TestOfEachKind tests properties of the informers of all factories.
func TestOfEachKind(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, pods followed){
		"the namespace index, as client-go's, and more": func(t *testing.T, pods followed) {
			indexer := pods.Informer().GetIndexer()
			found, err := indexer.ByIndex(cache.NamespaceIndex, "ns")
			require.NoError(t, err)
			assert.Len(t, found, 1)
			require.NoError(t, pods.Informer().AddIndexers(cache.Indexers{"name": func(obj any) ([]string, error) {
				return []string{obj.(metav1.Object).GetName()}, nil
			}}))
			assert.Equal(t, []string{"a"}, indexer.ListIndexFuncValues("name"))
		},
		"listers that name missing objects": func(t *testing.T, pods followed) {
			found, err := pods.Lister().ByNamespace("ns").Get("a")
			require.NoError(t, err)
			assert.Equal(t, "a", found.(metav1.Object).GetName())
			_, err = pods.Lister().ByNamespace("nowhere").Get("a")
			require.ErrorContains(t, err, `pods "a" not found`)
		},
		"the factory's resync period": func(t *testing.T, pods followed) {
			heard := 0
			kit.Handle(t, pods.Informer(), cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, current any) {
				assert.Same(t, old, current)
				heard++
			}})
			time.Sleep(3*time.Minute + time.Second)
			synctest.Wait()
			assert.Equal(t, 3, heard)
		},
		"a name of its resource in logs and errors": func(t *testing.T, pods followed) {
			assert.Equal(t, "SharedIndexInformer pods.v1", pods.Informer().HasSyncedChecker().Name())
			registration, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{})
			require.NoError(t, err)
			assert.Contains(t, registration.HasSyncedChecker().Name(), "SharedIndexInformer pods.v1 + event handler")
		},
		"a place among those that are inspected, with their handlers": inspected,
	} {
		t.Run(name, func(t *testing.T) { ofEachKind(t, test) })
	}
}

func inspected(t *testing.T, pods followed) {
	kit.Handle(t, pods.Informer(), kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{Name: "mine"}))
	pods.create("b")
	synctest.Wait()
	var all []inspect.Inspection
	for informer := range inspect.All() {
		inspection, err := inspect.Of(informer)
		require.NoError(t, err)
		all = append(all, inspection)
	}
	require.Len(t, all, 1)
	assert.Equal(t, fmt.Sprintf("%T", pods.Informer().GetStore().List()[0]), all[0].Type)
	assert.Equal(t, 2, all[0].Status.Objects)
	assert.Positive(t, all[0].Memory.Objects)
	handedOut := kit.Inspected(t, pods.Informer())
	assert.Equal(t, all[0].ID, handedOut.ID)
	handlers := handedOut.Handlers
	require.Len(t, handlers, 1)
	assert.Equal(t, "mine", handlers[0].Name)
	assert.NoError(t, inspect.Ready(inspect.ReadyOptions{}, pods.Informer()).Check(nil))
	pods.stop()
	for range inspect.All() {
		t.Error("it does not run any more")
	}
}

// TestLastOptionCounts: if an option is given more than once the last one applies, and takes precedence
// over the factory's own values. A watch has the selector of its list, otherwise it returns objects that
// the list has left out.
func TestLastOptionCounts(t *testing.T) {
	var nobody *cache.InformerName
	others := nobody.WithResource(schema.GroupVersionResource{Version: "v9", Resource: "others"})
	var limit atomic.Int64 // some clients do not keep the limit
	ofEachKind(t, func(t *testing.T, pods followed) {
		list, watch := pods.asked(t)
		for _, action := range pods.Actions() {
			assert.Equal(t, "ns", action.GetNamespace(), "the server need not send the others")
		}
		assert.EqualValues(t, 9, limit.Swap(0))
		assert.Equal(t, "app=a", list.LabelSelector)
		assert.Equal(t, "app=a", watch.LabelSelector)
		assert.Equal(t, "SharedIndexInformer others.v9 in namespace ns", pods.Informer().HasSyncedChecker().Name())
		transformed, err := pods.Lister().ByNamespace("ns").Get("a")
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"seen": "yes"}, transformed.(metav1.Object).GetLabels())
	},
		factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{PageSize: 7}}), factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{PageSize: 9}, Identifier: others}),
		factory.WithNamespace("other"), factory.WithNamespace("ns"),
		factory.WithTweakListOptions(func(*metav1.ListOptions) { assert.Fail(t, "this tweak is replaced") }),
		factory.WithTweakListOptions(func(o *metav1.ListOptions) {
			selectA(o)
			limit.CompareAndSwap(0, o.Limit)
		}),
		factory.WithTransform(func(any) (any, error) { return nil, assert.AnError }), factory.WithTransform(func(obj any) (any, error) {
			obj.(metav1.Object).SetLabels(map[string]string{"seen": "yes"})
			return obj, nil
		}))
}

// TestStop: when Stop has returned, no call of a handler is running, and none follows. The next informer
// begins with the current objects, for its own handlers. One whose context has ended is not run again.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
		f := factory.Dynamic(client, 0)
		ctx, end := context.WithCancel(bubbleContext(t, f))
		var heard []string
		follow := func(round string) {
			kit.Handle(t, f.ForResource(podsResource).Informer(), cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				time.Sleep(time.Minute)
				heard = append(heard, round+" "+obj.(metav1.Object).GetName())
			}})
			f.StartWithContext(ctx)
			require.NoError(t, f.WaitForCacheSyncWithContext(ctx).AsError())
			synctest.Wait()
		}
		began := time.Now()
		follow("first")
		first := f.ForResource(podsResource)
		assert.True(t, f.Stop(podsResource))
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Equal(t, []string{"first a"}, heard)
		require.NoError(t, client.Tracker().Create(podsResource, servedAs("dynamic", pod("ns", "b")), "ns"))
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Len(t, heard, 1)

		follow("second")
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"second a", "second b"}, heard[1:])
		_, err := first.Lister().ByNamespace("ns").Get("b")
		require.ErrorContains(t, err, `"b" not found`, "a lister stays with its informer")
		_, err = f.ForResource(podsResource).Lister().ByNamespace("ns").Get("b")
		require.NoError(t, err)
		end()
		synctest.Wait()
		assert.Empty(t, logged(t, "runs only once", func() { f.StartWithContext(t.Context()); synctest.Wait() }))
	})
}

// TestShutdownWaits: Shutdown returns, and releases names, when the handlers of all informers have
// returned.
func TestShutdownWaits(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-shutdown")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		f := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0, factory.WithInformerName(name))
		ctx, cancel := context.WithCancel(bubbleContext(t, f))
		kit.Handle(t, f.ForResource(podsResource).Informer(), cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			time.Sleep(time.Minute)
			_, taken := cache.NewInformerName("factory-test-shutdown")
			assert.Error(t, taken)
		}})
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

// TestEveryInformerAsksForItsResource: each informer requests the right resource, also if its plural is
// irregular, such as endpoints and ingresses, and is named by it, not as in client-go's metrics.
func TestEveryInformerAsksForItsResource(t *testing.T) {
	resources := resourcesOfClientGo(t)
	synctest.Test(t, func(t *testing.T) {
		name, err := cache.NewInformerName("plural")
		require.NoError(t, err)
		defer name.Release()
		client := fake.NewClientset()
		f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), factory.WithInformerName(name))
		want := map[schema.GroupVersionResource]bool{}
		for _, gvr := range resources {
			want[gvr] = true
			informer, err := f.ForResource(gvr)
			require.NoError(t, err)
			assert.True(t, isOurs(informer.Informer()), gvr.String())
			called := strings.TrimSuffix(gvr.Resource+"."+gvr.Version+"."+gvr.Group, ".")
			assert.Equal(t, "SharedIndexInformer "+called, informer.Informer().HasSyncedChecker().Name())
		}
		ctx := bubbleContext(t, f)
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

// TestUnknownResourceIsNamed: the error has the group and version, one of which is usually wrong.
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

// TestWrapOfAWrapper: both wrappers have the same informers. The outer one makes those that are
// requested from it first.
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
	run(t, outer)
	assert.Equal(t, []string{"ns/a"}, pods.GetStore().ListKeys())
	assert.True(t, nodes.HasSynced(), "the outer one starts all")
}

// TestTypedFactoryConcurrently: there is one informer for each type whose informer or lister was
// requested, and all methods may be called concurrently.
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
			_ = f.Core().V1().Nodes() // the accessor is called, but not its Informer method
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

// refusePods makes a fake client answer 403 to all requests for pods.
func refusePods(client *clienttesting.Fake) {
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(podsResource.GroupResource(), "", errors.New("not you"))
	})
}

// TestWaitIsOverWhenAnInformerStops: the wait does not wait for an informer that has stopped, only for
// the others, and the error contains that of the server.
func TestWaitIsOverWhenAnInformerStops(t *testing.T) {
	type stopper = func(f *factory.ResourceFactory, stopPods context.CancelFunc)
	for how, c := range map[string]struct {
		policy kinformer.Errors
		stop   stopper // called after a minute
		took   time.Duration
	}{
		"by Stop":        {stop: func(f *factory.ResourceFactory, _ context.CancelFunc) { f.Stop(podsResource) }, took: time.Minute},
		"by its context": {stop: func(_ *factory.ResourceFactory, stopPods context.CancelFunc) { stopPods() }, took: time.Minute},
		"by its policy":  {kinformer.Errors{Policy: kinformer.StopOnForbidden}, func(*factory.ResourceFactory, context.CancelFunc) {}, 0},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
				refusePods(&client.Fake)
				f := factory.Dynamic(client, 0, factory.WithInformerOptions(kinformer.Options{Errors: c.policy}))
				ctx := bubbleContext(t, f)
				podsCtx, stopPods := context.WithCancel(ctx)
				f.ForResource(podsResource)
				f.StartWithContext(podsCtx)
				f.ForResource(nodesResource)
				f.StartWithContext(ctx)
				began := time.Now()
				time.AfterFunc(time.Minute, func() { c.stop(f, stopPods) })
				result := f.WaitForCacheSyncWithContext(ctx)
				synced, err := result.Synced, result.Err
				assert.Equal(t, c.took, time.Since(began), "pods may sync until then")
				assert.True(t, apierrors.IsForbidden(err), err)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "stopped before")
				assert.ErrorContains(t, err, "pods")
				assert.NotContains(t, err.Error(), "nodes")
				assert.ErrorIs(t, result.AsError(), err)
				assert.ErrorContains(t, result.AsError(), "failed to sync all caches: "+podsResource.String()+": ")
				want := map[schema.GroupVersionResource]bool{podsResource: false, nodesResource: true}
				assert.Equal(t, want, synced)
				if how == "by Stop" {
					delete(want, podsResource) // the factory no longer has it
				}
				assert.Equal(t, want, f.WaitForCacheSync(ctx.Done()))
			})
		})
	}
}

// TestTypedWait: the wait ends with its context, whose cause the error contains, or when the context of
// an informer's run has ended.
func TestTypedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		refusePods(&client.Fake)
		f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
		ctx := bubbleContext(t, f)
		podsCtx, stopPods := context.WithCancel(ctx)
		pods := f.Core().V1().Pods().Informer()
		f.Core().V1().Nodes().Informer()
		go pods.RunWithContext(podsCtx)
		synctest.Wait()
		f.StartWithContext(ctx)
		f.Core().V1().Services().Informer() // not started, and not waited for
		want := map[reflect.Type]bool{reflect.TypeFor[*corev1.Pod](): false, reflect.TypeFor[*corev1.Node](): true}
		late := errors.New("too late")
		short, end := context.WithTimeoutCause(ctx, time.Minute, late)
		defer end()
		got := f.WaitForCacheSyncWithContext(short)
		require.ErrorIs(t, got.Err, late)
		assert.Equal(t, want, got.Synced)

		began := time.Now()
		time.AfterFunc(time.Minute, stopPods)
		got = f.WaitForCacheSyncWithContext(ctx)
		assert.Equal(t, time.Minute, time.Since(began), "pods may sync until then")
		assert.Equal(t, want, got.Synced)
		require.ErrorContains(t, got.AsError(), "*v1.Pod")
		assert.NotErrorIs(t, got.Err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsForbidden(got.Err), got.Err)
		assert.Equal(t, want, f.WaitForCacheSync(ctx.Done()))
	})
}

// TestFactoryWithBadOptions: its informers do not run, and waits for them return the reason at once.
func TestFactoryWithBadOptions(t *testing.T) {
	for why, options := range map[string][]factory.Option{
		"PageSize is -1":       {factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{PageSize: -1}})},
		"option 2 of 2 is nil": {factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{PageSize: 5}}), nil},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				client := fake.NewClientset()
				f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), options...)
				ctx := bubbleContext(t, f)
				informer := f.Core().V1().Pods().Informer()
				f.StartWithContext(ctx)
				synced := f.WaitForCacheSyncWithContext(ctx)
				require.ErrorContains(t, synced.Err, why)
				assert.NotContains(t, synced.Synced, true)
				assert.ErrorContains(t, kinformer.WaitForSync(ctx, informer), why)
				assert.ErrorContains(t, kit.Status(t, informer).LastError, why)
				assert.Empty(t, client.Actions())
				f.Shutdown()
				assert.Zero(t, time.Since(began))
			})
		})
	}
}

func selectA(o *metav1.ListOptions) { o.LabelSelector = "app=a" }

func twoNamespaces() *fake.Clientset {
	return fake.NewClientset(pod("ns", "a"), pod("ns", "b"), pod("other", "a"))
}

// opaque is a factory whose accessors are not client-go's.
type opaque struct {
	informers.SharedInformerFactory
	group core.Interface
}

func (o opaque) Core() core.Interface { return o.group }

// TestLimitsOfTheWrappedFactory: its namespace is taken over unless the options have one. Its tweak of
// list options is not, and the log says so; it also does for a factory that cannot be read.
func TestLimitsOfTheWrappedFactory(t *testing.T) {
	type otherFields struct {
		core.Interface
		namespace, tweakListOptions int
	}
	type noFields struct{ core.Interface }
	type limits struct {
		inner   informers.SharedInformerFactory
		options []factory.Option
		keys    []string
		says    []string // parts of the only line in the log; nil: there is none
	}
	made := func(options ...informers.SharedInformerOption) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, options...)
	}
	limited, tweaking := informers.WithNamespace("ns"), informers.WithTweakListOptions(selectA)
	namespace, tweak := "factory.WithNamespace", "factory.WithTweakListOptions"
	ns, a, all := []string{"ns/a", "ns/b"}, []string{"ns/a", "other/a"}, []string{"ns/a", "ns/b", "other/a"}
	cases := map[string]limits{
		"a namespace is taken over":   {made(limited), nil, ns, nil},
		"also by a wrapper's wrapper": {factory.Wrap(made(limited)), nil, ns, nil},
		"unless another one is given": {made(limited), []factory.Option{factory.WithNamespace("other")}, []string{"other/a"}, nil},
		"or all":                      {made(limited), []factory.Option{factory.WithNamespace(metav1.NamespaceAll)}, all, nil},
		"with none, it is all":        {made(), nil, all, nil},
		"a tweak is not taken over":   {made(tweaking), nil, all, []string{tweak}},
		"but may be given":            {made(tweaking), []factory.Option{factory.WithTweakListOptions(selectA)}, a, nil},
		"or left out on purpose":      {made(tweaking), []factory.Option{factory.WithTweakListOptions(nil)}, all, nil},
	}
	for name, group := range map[string]core.Interface{"no fields": noFields{}, "other fields": otherFields{nil, 1, 2}, "no group": nil} {
		unread := func() informers.SharedInformerFactory { return opaque{made(limited), group} }
		given := []factory.Option{factory.WithNamespace("ns"), factory.WithTweakListOptions(nil)}
		cases[name] = limits{unread(), nil, all, []string{namespace, tweak}}
		cases[name+", with a namespace"] = limits{unread(), given[:1], ns, []string{tweak}}
		cases[name+", with both"] = limits{unread(), given, ns, nil}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var f informers.SharedInformerFactory
			lines := logged(t, "factory.Wrap", func() { f = factory.Wrap(c.inner, c.options...) })
			informer := f.Core().V1().Pods().Informer()
			run(t, f)
			assert.ElementsMatch(t, c.keys, informer.GetStore().ListKeys())
			require.Len(t, lines, min(1, len(c.says)))
			for _, part := range c.says {
				assert.Contains(t, lines[0], part)
			}
		})
	}
}

// hanging is a dynamic client whose requests block until their context ends.
type hanging struct {
	dynamic.Interface
	dynamic.NamespaceableResourceInterface
	lists  bool // a list is answered
	begun  chan context.Context
	closed chan struct{} // closed when a request has seen the end of its context
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

// TestRequestsEndWithTheirInformer: a blocked request is canceled when the informer is stopped, and its
// context has the values of the context of the start, such as a logger.
func TestRequestsEndWithTheirInformer(t *testing.T) {
	type key struct{}
	for request, lists := range map[string]bool{"list": false, "watch": true} {
		t.Run(request, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &hanging{lists: lists, begun: make(chan context.Context, 1), closed: make(chan struct{})}
				f := factory.Dynamic(client, 0)
				f.ForResource(podsResource)
				f.StartWithContext(context.WithValue(bubbleContext(t, f), key{}, "carried"))
				assert.Equal(t, "carried", (<-client.begun).Value(key{}))
				assert.True(t, f.Stop(podsResource))
				<-client.closed
			})
		})
	}
}

// askedFor is the provider of the whole process: only the first one that is set is used.
var askedFor recorder

// recorder is a provider that notes published metrics, as "name resource metric".
type recorder struct{ known sync.Map }

// published reports whether a metric was set since the last call.
func (r *recorder) published(metric string) bool {
	_, was := r.known.LoadAndDelete(metric)
	return was
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
	if m.id.Reserved() {
		m.to.known.Store(m.id.Name()+" "+m.id.GroupVersionResource().Resource+" "+m.name, true)
	}
}

// resourceOfClientGo returns the name of the resource of network policies in metrics of client-go's factory,
// which is not the server's before v0.38.
func resourceOfClientGo(t *testing.T) (resource string) {
	name, err := cache.NewInformerName("factory-test-clientgo")
	require.NoError(t, err)
	defer name.Release()
	f := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(), 0, informers.WithInformerName(name))
	f.Networking().V1().NetworkPolicies().Informer()
	ctx, cancel := context.WithCancel(boundedContext(t))
	f.StartWithContext(ctx)
	require.NoError(t, f.WaitForCacheSyncWithContext(ctx).AsError())
	cancel()
	f.Shutdown()
	askedFor.known.Range(func(metric, _ any) bool {
		if words := strings.Fields(metric.(string)); words[0] == "factory-test-clientgo" {
			resource = words[1]
		}
		return true
	})
	return resource
}

// TestMetrics: metrics have the name of the option, and the resource names of client-go's informers. The
// next informer of a resource publishes under the name of the stopped one.
func TestMetrics(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-metrics")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(boundedContext(t))
	typed := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), factory.WithInformerName(name))
	typed.Networking().V1().NetworkPolicies().Informer()
	typed.StartWithContext(ctx)
	synced := typed.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, synced.AsError())
	generic := factory.Dynamic(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a")), 0, factory.WithInformerName(name))
	for range 3 {
		generic.ForResource(podsResource)
		generic.ForResource(nodesResource)
		generic.StartWithContext(ctx)
		require.NoError(t, generic.WaitForCacheSyncWithContext(ctx).AsError())
		assert.True(t, generic.Stop(podsResource))
		for _, metric := range []string{"depth", "latency", "version"} {
			assert.True(t, askedFor.published("factory-test-metrics pods "+metric), metric)
		}
	}
	cancel()
	typed.Shutdown()
	generic.Shutdown()
	assert.True(t, askedFor.published("factory-test-metrics "+resourceOfClientGo(t)+" depth"))
	again, err := cache.NewInformerName("factory-test-metrics")
	require.NoError(t, err, "Shutdown has released the name")
	again.Release()
}
