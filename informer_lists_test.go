// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"math"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestTheNewestStateComesInPages: a list of the newest state is read from the server's storage, and
// so it is asked for in pages, as client-go asks for it, also after a list that was not. Where
// whole states are streamed, it is streamed.
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
				server := &testkit.Server{NoStream: tc.noStream}
				server.OnList = func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					if o.ResourceVersion == "" {
						return testkit.PodList("9"), nil
					}
					return testkit.PodList("5"), nil
				}
				server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					switch {
					case o.SendInitialEvents == nil && o.ResourceVersion == "5":
						return nil, testkit.ErrExpired
					case o.SendInitialEvents != nil && n < 5:
						return nil, testkit.ErrForbidden
					case o.SendInitialEvents != nil:
						return testkit.Sent(testkit.EndMark("9")).Open(), nil
					}
					return watch.NewFake(), nil
				}
				stop := running(t, informerOf(server))
				time.Sleep(time.Minute)
				stop()
				assert.Equal(t, tc.want, server.Asked())
			})
		})
	}
}

// TestRoomForAShortPage: a page of one item that announces all items there can be costs next to
// nothing.
func TestRoomForAShortPage(t *testing.T) {
	testkit.Reports(t)
	var before, after goruntime.MemStats
	remaining, page := int64(math.MaxInt64), testkit.PodList("5", testkit.PodAt("a", "1"))
	page.RemainingItemCount, page.Continue = &remaining, "next"
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue != "" {
				return nil, testkit.ErrForbidden
			}
			return page, nil
		}}
		goruntime.ReadMemStats(&before)
		stop := running(t, informerOf(server))
		synctest.Wait()
		stop()
		goruntime.ReadMemStats(&after)
		assert.Len(t, server.Asked(), 2)
	})
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// TestStatusOfForeignObjects: what was left out shows until a whole state comes without any; the
// count stays.
func TestStatusOfForeignObjects(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		other := testkit.PodIn("other", "b", "2")
		w := testkit.NewScriptedWatch(2)
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(w), OnList: testkit.ListOf(testkit.PodList("5", testkit.PodIn("ns", "a", "1"), other, other))}
		informer := informerOf(server, cache.WithExpectedNamespace("ns"))
		stop := running(t, informer)
		defer stop()
		status := func() cache.Status {
			synctest.Wait()
			s, err := cache.StatusOf(informer)
			require.NoError(t, err)
			return s
		}
		assert.EqualValues(t, 2, status().Dropped)
		w.Events <- watch.Event{Type: watch.Added, Object: other}
		assert.EqualValues(t, 3, status().Dropped)
		assert.Equal(t, []string{`3 objects of another type or namespace left out: object is of namespace "other", not "ns"`}, status().Degraded)
		assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())

		server.OnList = testkit.ListOf(testkit.PodList("8", testkit.PodIn("ns", "a", "1")))
		w.Events <- testkit.FailedWith(testkit.ErrExpired)
		time.Sleep(2 * time.Second) // the backoff
		assert.EqualValues(t, 3, status().Dropped)
		assert.Empty(t, status().Degraded)
	})
}
