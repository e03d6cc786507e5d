// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"math"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// TestTheNewestStateComesInPages: a list of the newest state is read from the server's storage, and so it is asked for in
// pages, as client-go asks for it, also after a list that was not. Where whole states are streamed, it is streamed.
func TestTheNewestStateComesInPages(t *testing.T) {
	for name, tc := range map[string]struct {
		noStream bool
		want     []string
	}{
		"listed": {true, []string{
			"list rv=0 limit=500", "watch rv=5", "list rv=5 limit=0", "watch rv=5", "list rv= limit=500", "watch rv=9",
		}},
		"streamed, once streams work": {false, []string{
			"stream rv=", "list rv=0 limit=500", "watch rv=5", "stream rv=5", "list rv=5 limit=0", "watch rv=5", "stream rv=",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{noStream: tc.noStream}
				server.list = func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					if o.ResourceVersion == "" {
						return podList("9"), nil
					}
					return podList("5"), nil
				}
				server.watch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					switch {
					case o.SendInitialEvents == nil && o.ResourceVersion == "5":
						return nil, errExpired
					case o.SendInitialEvents != nil && n < 5:
						return nil, errForbidden
					case o.SendInitialEvents != nil:
						return sent(endMark("9")).open(), nil
					}
					return watch.NewFake(), nil
				}
				stop := running(t, informerOf(server))
				time.Sleep(time.Minute)
				stop()
				assert.Equal(t, tc.want, server.asked())
			})
		})
	}
}

// TestRoomForAShortPage: a page of one item that announces all items there can be costs next to nothing.
func TestRoomForAShortPage(t *testing.T) {
	reports(t)
	var before, after goruntime.MemStats
	remaining, page := int64(math.MaxInt64), podList("5", podAt("a", "1"))
	page.RemainingItemCount, page.Continue = &remaining, "next"
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{noStream: true, list: func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue != "" {
				return nil, errForbidden
			}
			return page, nil
		}}
		goruntime.ReadMemStats(&before)
		stop := running(t, informerOf(server))
		synctest.Wait()
		stop()
		goruntime.ReadMemStats(&after)
		assert.Len(t, server.asked(), 2)
	})
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// TestStatusOfForeignObjects: what was left out shows until a whole state comes without any; the count stays.
func TestStatusOfForeignObjects(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		other := podIn("other", "b", "2")
		w := newScriptedWatch(2)
		server := &fakeServer{noStream: true, watch: watches(w), list: listOf(podList("5", podIn("ns", "a", "1"), other, other))}
		informer := informerOf(server, WithExpectedNamespace("ns"))
		stop := running(t, informer)
		defer stop()
		status := func() Status {
			synctest.Wait()
			s, err := StatusOf(informer)
			require.NoError(t, err)
			return s
		}
		assert.EqualValues(t, 2, status().Dropped)
		w.events <- watch.Event{Type: watch.Added, Object: other}
		assert.EqualValues(t, 3, status().Dropped)
		assert.Equal(t, []string{`3 objects of another type or namespace left out: object is of namespace "other", not "ns"`}, status().Degraded)
		assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())

		server.list = listOf(podList("8", podIn("ns", "a", "1")))
		w.events <- failedWith(errExpired)
		time.Sleep(2 * time.Second) // the backoff
		assert.EqualValues(t, 3, status().Dropped)
		assert.Empty(t, status().Degraded)
	})
}

// TestStreamTransformsOnce: on the way of a watch-list into a queue each object is transformed once.
func TestStreamTransformsOnce(t *testing.T) {
	calls := map[string]int{}
	queue := NewRealFIFO(MetaNamespaceKeyFunc, NewStore(MetaNamespaceKeyFunc), func(obj any) (any, error) {
		calls[nameAt(obj)]++
		return obj, nil
	})
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{watch: watches(sent(added("a", "1"), added("b", "2"), endMark("3"), added("c", "4")))}
		stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, expectedType: &v1.Pod{}, sink: sinkOf(queue)}).run)
		synctest.Wait()
		stop()
	})
	assert.Equal(t, map[string]int{"a@1": 1, "b@2": 1, "c@4": 1}, calls)
}
