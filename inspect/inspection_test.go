// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

func TestInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, never := informers.Of(informers.Quiet(), kinformer.Options{}), informers.Of(informers.Quiet(), kinformer.Options{})
		_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: informers.Quiet(), ObjectType: &v1.Pod{}})
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
		bare := cache.New(&cache.Config{Queue: queue, ListerWatcher: informers.Quiet(), Process: func(any, bool) error { return nil }})
		running3 := []cache.Controller{cache.NewTypedSharedIndexInformer[*v1.Pod](shared), simple, bare}
		var stops []func()
		for _, informer := range running3 {
			stops = append(stops, informers.Run(t, informer))
			synctest.Wait()
		}
		assert.Equal(t, []cache.Controller{shared, simple, bare}, slices.Collect(inspect.All()))
		last := uint64(0)
		for informer := range inspect.All() {
			id := informers.Inspected(t, informer).ID
			assert.Greater(t, id, last)
			last = id
		}
		assert.Zero(t, informers.Inspected(t, never).ID)
		for range inspect.All() {
			stops[0]()
			assert.NotContains(t, slices.Collect(inspect.All()), cache.Controller(shared), "within a loop")
			break
		}
		stops[1]()
		stops[2]()
		assert.Empty(t, slices.Collect(inspect.All()))
		shared.RunWithContext(t.Context()) // only logs
		assert.Empty(t, slices.Collect(inspect.All()))
	})
}

// TestInformersUntilRunReturns: All includes an informer that waits for a handler, and one that
// cannot run.
func TestInformersUntilRunReturns(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		informer, release := informers.Of(informers.Quiet(testkit.PodAt("a", "1")), kinformer.Options{}), make(chan struct{})
		informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
		stop := informers.Run(t, informer)
		synctest.Wait()
		go stop()
		assert.Equal(t, inspect.PhaseStopped, informers.Inspected(t, informer).Status.Phase)
		assert.Len(t, slices.Collect(inspect.All()), 1)
		close(release)
		synctest.Wait()
		assert.Empty(t, slices.Collect(inspect.All()))

		informers.Run(t, informers.Of(nil, kinformer.Options{}))()
		assert.Empty(t, slices.Collect(inspect.All()))
	})
}

// TestInspectionDoesNotRetainInformer: an informer that was inspected is not retained after Run,
// neither in All nor by its inspection.
func TestInspectionDoesNotRetainInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := func() (all inspect.Inspection, handlers []inspect.Handler, of []weak.Pointer[v1.Pod]) {
			informer := informers.Of(informers.Quiet(testkit.PodAt("a", "1"), testkit.PodAt("b", "2")), kinformer.Options{})
			_, err := informer.AddEventHandler(&testkit.Journal{})
			require.NoError(t, err)
			stop := informers.Run(t, informer)
			all = informers.Inspected(t, informer)
			require.Equal(t, 2, all.Memory.Sampled)
			handlers = all.Handlers
			for _, obj := range informer.GetStore().List() {
				of = append(of, weak.Make(obj.(*v1.Pod)))
			}
			stop()
			return all, handlers, of
		}
		all, handlers, pods := look()
		synctest.Wait()
		runtime.GC()
		for _, pod := range pods {
			assert.Nil(t, pod.Value())
		}
		runtime.KeepAlive(all)
		runtime.KeepAlive(handlers)
	})
}

// TestInspect follows an informer through its life.
func TestInspect(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(4)
		server := &testkit.Server{
			NoStream: true, OnWatch: testkit.Watches(w),
			OnList: func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
				time.Sleep(time.Duration(n) * time.Second)
				if n == 1 {
					return nil, testkit.ErrForbidden
				}
				return testkit.PodList("5", testkit.PodAt("a", "3"), testkit.PodAt("b", "4")), nil
			},
		}
		informer := kinformer.New(server, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Backoff: *testkit.Second()}, Indexers: cache.Indexers{
			"z": func(any) ([]string, error) { return []string{"1", "2"}, nil },
			"a": func(any) ([]string, error) { return nil, errors.New("no") },
		}})
		assert.Equal(t, inspect.Inspection{
			Name: "*v1.Pod", Type: "*v1.Pod", Status: inspect.Status{At: time.Now(), Phase: "new"},
			Indices: informers.Inspected(t, informer).Indices, Memory: informers.Inspected(t, informer).Memory,
		}, informers.Inspected(t, informer))

		handler := &testkit.Journal{On: func(string) { time.Sleep(20 * time.Millisecond) }}
		informers.Handle(t, informer, kinformer.Deliver(handler, kinformer.Delivery{Name: "first"}))
		began := time.Now()
		defer informers.Run(t, informer)()
		time.Sleep(time.Second)
		checkFailed(t, informers.Inspected(t, informer), began)

		time.Sleep(time.Minute)
		w.Events <- testkit.Added("c", "6")
		w.Events <- testkit.Bookmark("7")
		all := informers.Inspected(t, informer)
		checkFollowed(t, all)
		time.Sleep(time.Second)
		assert.Equal(t, inspect.Bucket{UpTo: 100 * time.Millisecond, Count: 3}, informers.Inspected(t, informer).Handlers[0].Calls[3])
		assert.Equal(t, time.Now().Add(-time.Second), all.Memory.SampledAt)

		snapshot, err := view.Of(informer)
		require.NoError(t, err)
		w.Events <- testkit.Modified("c", "8")
		assert.Positive(t, informers.Inspected(t, informer).Memory.Snapshots)
		snapshot.Close()
	})
}

// checkFailed checks the inspection after the first list, which took a second and failed.
func checkFailed(t *testing.T, failed inspect.Inspection, began time.Time) {
	assert.Equal(t, inspect.RequestStats{Ended: 1, Failed: 1, Total: time.Second, Longest: time.Second, Last: time.Second}, failed.Lists)
	assert.Equal(t, began.Add(time.Second), failed.FailingSince)
	require.Len(t, failed.Errors, 1)
	assert.Contains(t, failed.Errors[0].Text, "forbidden")
	assert.Equal(t, began.Add(time.Second), failed.Errors[0].First)
	assert.Empty(t, failed.Relists)
	assert.Equal(t, []string{"errors"}, informers.Causes(failed.Status))
}

// checkFollowed checks the inspection after two listed objects and one event.
func checkFollowed(t *testing.T, all inspect.Inspection) {
	assert.NotZero(t, all.ID)
	assert.Equal(t, all.Status.Objects, 3)
	assert.Equal(t, inspect.RequestStats{Ended: 2, Failed: 1, Total: 3 * time.Second, Longest: 2 * time.Second, Last: 2 * time.Second, Objects: 2}, all.Lists)
	require.Len(t, all.Requests, 2)
	assert.True(t, all.Requests[0].Failed)
	second := all.Requests[1]
	assert.Equal(t, "list", second.Kind)
	assert.Equal(t, 2*time.Second, second.Took)
	assert.Equal(t, all.Requests[0].Began.Add(2*time.Second), second.Began, "after a backoff of a second")
	assert.Equal(t, 2, second.Objects)
	assert.Equal(t, map[string]int64{"failed": 1}, all.Relists)
	assert.Zero(t, all.Watches, "it is not over")
	assert.Equal(t, int64(2), all.Events)
	assert.Zero(t, all.FailingSince)
	assert.Equal(t, []string{"index"}, informers.Causes(all.Status))
	require.Len(t, all.Handlers, 1)
	assert.Equal(t, "first", all.Handlers[0].Name)
	require.Len(t, all.Indices, 2)
	assert.Equal(t, inspect.IndexStats{Name: "a", Lacking: 3, Failures: 3, Bytes: all.Indices[0].Bytes}, all.Indices[0])
	assert.Equal(t, inspect.IndexStats{Name: "z", Values: 2, Members: 6, Bytes: all.Indices[1].Bytes}, all.Indices[1])
	m := all.Memory
	assert.Equal(t, 3, m.Sampled)
	assert.Greater(t, m.Objects, int64(3000), "pods without content")
	assert.Less(t, m.Objects, int64(9000))
	assert.Equal(t, all.Indices[0].Bytes+all.Indices[1].Bytes, m.Indices)
	for name, part := range map[string]int64{"store": m.Store, "indices": m.Indices, "handlers": m.Handlers} {
		assert.Positive(t, part, name)
	}
	assert.Zero(t, m.Queue)
	assert.Zero(t, m.Snapshots)
}

// TestHandlersInOrder: handlers are listed in the order in which they were added, after others were
// removed.
func TestHandlersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := informers.Of(informers.Quiet(testkit.PodAt("a", "1")), kinformer.Options{})
		names := func() (names []string) {
			for _, h := range informers.Inspected(t, cache.NewTypedSharedIndexInformer[*v1.Pod](informer)).Handlers {
				names = append(names, h.Name)
			}
			return names
		}
		assert.Empty(t, names())
		var handles []cache.ResourceEventHandlerRegistration
		for i := range 12 {
			handle, err := informer.AddEventHandler(kinformer.Deliver(&testkit.Journal{}, kinformer.Delivery{Name: fmt.Sprint(i), Parallel: i % 3}))
			require.NoError(t, err)
			handles = append(handles, handle)
		}
		stop := informers.Run(t, informer)
		require.NoError(t, informer.RemoveEventHandler(handles[0]))
		require.NoError(t, informer.RemoveEventHandler(handles[5]))
		assert.Equal(t, strings.Fields("1 2 3 4 6 7 8 9 10 11"), names())
		stop()
		assert.Empty(t, names())
	})
}

// TestInspectWrappersAndForeignValues: wrappers of an informer are inspected as the informer; foreign values are
// refused.
func TestInspectWrappersAndForeignValues(t *testing.T) {
	name, err := cache.NewInformerName("inspect-what")
	require.NoError(t, err)
	defer name.Release()
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	informer := informers.Of(informers.Quiet(), kinformer.Options{Identifier: name.WithResource(pods)})
	for of, view := range map[string]cache.Controller{
		"informer": informer, "its controller": informer.GetController(), "typed": cache.NewTypedSharedIndexInformer[*v1.Pod](informer),
	} {
		all, err := inspect.Of(view)
		require.NoError(t, err, of)
		assert.Equal(t, "pods.v1", all.Name)
		assert.Equal(t, "*v1.Pod", all.Type)
		assert.Equal(t, "inspect-what", all.InformerName)
		assert.Equal(t, pods, all.Status.Resource)
	}
	store, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: informers.Quiet(), ObjectType: &v1.Pod{}})
	require.NoError(t, store.Add(testkit.PodAt("a", "1")))
	all, err := inspect.Of(simple)
	require.NoError(t, err)
	assert.Equal(t, 1, all.Memory.Sampled)
	assert.Empty(t, all.Handlers)

	foreign := clientgo.NewSharedIndexInformer(informers.Quiet(), &v1.Pod{}, 0, cache.Indexers{})
	_, err = inspect.Of(foreign)
	assert.ErrorIs(t, err, inspect.ErrForeign)
	_, err = inspect.StatusOf(foreign)
	assert.ErrorIs(t, err, inspect.ErrForeign)
}

// TestInspectErrors: the last 32 different errors are kept, shortened, the newest last.
func TestInspectErrors(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := informers.Quiet()
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
			if n%2 == 0 {
				return nil, errors.New("every other time")
			}
			return nil, fmt.Errorf("%d %s", n, strings.Repeat("ä", 400))
		}
		informer := informers.Of(server, kinformer.Options{})
		defer informers.Run(t, informer)()
		time.Sleep(99 * time.Second)
		all := informers.Inspected(t, informer)
		assert.Equal(t, int64(100), all.Lists.Ended)
		require.Len(t, all.Requests, 32)
		assert.Equal(t, all.FailingSince.Add(99*time.Second), all.Requests[31].Began)
		got := all.Errors
		require.Len(t, got, 32)
		often := got[31]
		assert.Contains(t, often.Text, "every other time")
		assert.Equal(t, int64(50), often.Count)
		assert.Equal(t, 98*time.Second, often.Last.Sub(often.First))
		for i, e := range got[:31] {
			assert.Contains(t, e.Text, fmt.Sprintf(" %d ä", 39+2*i))
			assert.LessOrEqual(t, len(e.Text), 300)
			assert.Greater(t, len(e.Text), 290)
			assert.True(t, utf8.ValidString(e.Text))
			assert.Equal(t, int64(1), e.Count)
		}
	})
}
