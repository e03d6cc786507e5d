// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// page makes a page of a list with the pods named first and on, n of them, and another page behind
// it unless it is the last.
func page(first, n int, last bool) *v1.PodList {
	list := testkit.PodList("50")
	for i := first; i < first+n; i++ {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprintf("p%04d", i), fmt.Sprint(i+1)))
		list.Items[len(list.Items)-1].Labels = map[string]string{"app": "x"}
	}
	if !last {
		list.Continue = fmt.Sprint(first + n)
	}
	return list
}

// inPages is a list function that gives pages of size out of total pods, as each is asked for by
// arrived.
func inPages(total, size int, arrived func(*v1.PodList)) func(int, context.Context, metav1.ListOptions) (apiruntime.Object, error) {
	return func(_ int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
		first := 0
		if o.Continue != "" {
			if _, err := fmt.Sscan(o.Continue, &first); err != nil {
				return nil, err
			}
		}
		list := page(first, min(size, total-first), first+size >= total)
		arrived(list)
		return list, nil
	}
}

// TestPagesAreLetGo: when a page is asked for, the one before is gone, array and all; after the
// sync the last one is. Each item passed the transform once, and what was listed is in the store.
func TestPagesAreLetGo(t *testing.T) {
	for _, size := range []int{40, 1000} {
		var before weak.Pointer[v1.Pod]
		var kept []int
		transformed := map[string]int{}
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: inPages(1000, size, func(list *v1.PodList) {
			if !letGo(before) {
				kept = append(kept, len(kept))
			}
			before = weak.Make(&list.Items[0])
		})}
		informer := informerOf(server, cache.WithPageSize(int64(size)))
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*v1.Pod)
			transformed[pod.Name]++
			pod.Labels = nil
			return pod, nil
		}))
		stop := running(t, informer)
		require.NoError(t, cache.WaitForSync(t.Context(), informer))
		assert.True(t, letGo(before), "the last page")
		assert.Empty(t, kept, "pages that were kept")
		assert.Len(t, informer.GetStore().List(), 1000)
		stop()
		assert.Len(t, transformed, 1000)
		for name, times := range transformed {
			assert.Equal(t, 1, times, name)
		}
	}
}

// TestForeignStoreKeepsNoPage: nor does a store that is not ours, which gets everything by one
// Replace.
func TestForeignStoreKeepsNoPage(t *testing.T) {
	var before weak.Pointer[v1.Pod]
	server := &testkit.Server{NoStream: true, OnList: inPages(20, 20, func(list *v1.PodList) { before = weak.Make(&list.Items[0]) }), OnWatch: testkit.Watches(testkit.ErrForbidden)}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.ErrorIs(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: reflector.Foreign(store)}).ListAndWatch(t.Context()), testkit.ErrForbidden)
	assert.True(t, letGo(before))
	assert.Len(t, store.List(), 20)
}

// TestListsAreNotWritten: a list that the ListerWatcher keeps stays as it was, whatever the
// transform does to its objects' fields.
func TestListsAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := page(0, 10, true)
		want := list.DeepCopy()
		informer := informerOf(&testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches()})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*v1.Pod)
			pod.Labels, pod.UID, pod.ResourceVersion = nil, "", ""
			return pod, nil
		}))
		defer running(t, informer)()
		require.NoError(t, cache.WaitForSync(t.Context(), informer))
		assert.Equal(t, want, list)
	})
}

// TestExpiredPagesAreDiscarded: nothing of pages that led nowhere is seen, also by the transform's
// results.
func TestExpiredPagesAreDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches()}
		server.OnList = func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
			switch n {
			case 1, 2:
				return page(10*n, 5, false), nil
			case 3:
				return nil, testkit.ErrExpired
			default:
				return testkit.PodList("60", testkit.PodAt("late", "55")), nil
			}
		}
		informer := informerOf(server)
		var mu sync.Mutex
		var heard []string
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, testkit.NameAt(obj))
		}})
		require.NoError(t, err)
		stop := running(t, informer)
		synctest.Wait()
		stop()
		assert.Equal(t, []string{"late@55"}, heard)
		assert.Equal(t, []string{"list rv=0 limit=500", "list rv= limit=500 continue=15", "list rv= limit=500 continue=25", "list rv=0 limit=0"}, server.Asked()[:4])
	})
}

// TestStreamTransformsOnArrival: each object of a watch-list passes the transform once, as it
// comes.
func TestStreamTransformsOnArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		informer := informerOf(&testkit.Server{OnWatch: testkit.Watches(w)})
		var times []string
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			times = append(times, testkit.NameAt(obj))
			return obj, nil
		}))
		stop := running(t, informer)
		for i := range table.BlockLen {
			w.Events <- testkit.Added(fmt.Sprintf("p%d", i), "1")
		}
		synctest.Wait()
		assert.Len(t, times, table.BlockLen, "before the end mark")
		w.Events <- testkit.Modified("p1", "2")
		w.Events <- testkit.Deleted("p2", "3")
		w.Events <- testkit.Added("p2", "4")
		w.Events <- testkit.Deleted("p3", "5")
		w.Events <- testkit.EndMark("6")
		require.NoError(t, cache.WaitForSync(t.Context(), informer))
		stop()
		assert.Equal(t, []string{"p1@2", "p2@4"}, times[table.BlockLen:])
		assert.Len(t, informer.GetStore().ListKeys(), table.BlockLen-1)
	})
}

// TestTransformErrorInAStage: a transform that fails costs the whole state, as in Replace; of a
// stream LIST is tried then.
func TestTransformErrorInAStage(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(2)
		w.Events <- testkit.Added("a", "1")
		w.Events <- testkit.EndMark("6")
		server := &testkit.Server{OnList: testkit.ListOf(testkit.PodList("7", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(w)}
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, Transformer: func(any) (any, error) { return nil, testkit.ErrInternal }})
		err := reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue)}).ListAndWatch(t.Context())
		require.ErrorIs(t, err, testkit.ErrInternal)
		assert.Contains(t, err.Error(), "unable to sync list result")
		assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500"}, server.Asked())
		assert.False(t, queue.HasSynced())
	})
}

// TestOverriddenReplace: a queue that embeds ours is called by the methods it has.
func TestOverriddenReplace(t *testing.T) {
	queue := &replaceCounter{RealFIFO: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})}
	server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("7", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("b", "8"), testkit.FailedWith(testkit.ErrExpired)))}
	require.NoError(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue)}).ListAndWatch(t.Context()))
	assert.Equal(t, 1, queue.replaced)
	assert.Equal(t, 1, queue.added)
}

type replaceCounter struct {
	*cache.RealFIFO
	replaced int
	added    int
}

func (q *replaceCounter) Add(obj any) error {
	q.added++
	return q.RealFIFO.Add(obj)
}

func (q *replaceCounter) Replace(items []any, version string) error {
	q.replaced++
	return q.RealFIFO.Replace(items, version)
}

// TestStopWhileStaging: a list that is being staged when the context ends is not published.
func TestStopWhileStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: inPages(1000, 500, func(list *v1.PodList) {
			if list.Continue == "" {
				cancel()
			}
		})}
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
		began := time.Now()
		require.NoError(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue)}).ListAndWatch(ctx))
		assert.Zero(t, time.Since(began))
		assert.False(t, queue.HasSynced())
	})
}
