// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	framework "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// testkit.Gauges is a metrics provider that keeps the last value of each gauge.
func TestInformerFuncPassesItsOptionsOn(t *testing.T) {
	t.Cleanup(cache.ResetInformerNamesForTesting)
	name, err := cache.NewInformerName("options")
	require.NoError(t, err)
	id := name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	metrics := &testkit.Gauges{}
	newInformer := cache.InformerFunc(cache.WithIdentifier(id, metrics))

	source := framework.NewFakeControllerSource()
	defer source.Shutdown()
	informer := newInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	require.NoError(t, informer.GetStore().Add(versioned("a", "12")))
	assert.EqualValues(t, 12, metrics.Version.Last)
	found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

func TestQueueMetrics(t *testing.T) {
	t.Cleanup(cache.ResetInformerNamesForTesting)
	name, err := cache.NewInformerName("queue")
	require.NoError(t, err)
	metrics := &testkit.Gauges{}
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		KeyFunction: itemKey, AtomicEvents: true, EmitDeltaTypeBookmark: true, MetricsProvider: metrics,
		Identifier: name.WithResource(schema.GroupVersionResource{Resource: "items"}),
	})
	require.NoError(t, q.Add(item{"a", 1}))
	require.NoError(t, q.Bookmark("9"))
	assert.EqualValues(t, 2, metrics.Depth.Last, "bookmarks count")
	_, err = q.Pop(take)
	require.NoError(t, err)
	assert.EqualValues(t, 1, metrics.Depth.Last)
	assert.EqualValues(t, 1, metrics.Latencies.Last)
	assert.Equal(t, "queue", q.Name())
}

// TestListMode: the informer's own choice goes before the gate and before what the client says of
// itself.
func TestListMode(t *testing.T) {
	for name, tc := range map[string]struct {
		mode     cache.ListMode
		gate     bool
		noStream bool
		first    string
	}{
		"auto":                           {cache.ListModeAuto, true, false, "stream rv="},
		"auto, gate off":                 {cache.ListModeAuto, false, false, "list rv=0 limit=500"},
		"auto, client denies":            {cache.ListModeAuto, true, true, "list rv=0 limit=500"},
		"list":                           {cache.ListModeList, true, false, "list rv=0 limit=500"},
		"watch-list, gate off":           {cache.ListModeWatchList, false, false, "stream rv="},
		"watch-list, client of old ways": {cache.ListModeWatchList, true, true, "stream rv="},
	} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, tc.gate)
			synctest.Test(t, func(t *testing.T) {
				server := &testkit.Server{NoStream: tc.noStream, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
				stop := running(t, informerOf(server, cache.WithListMode(tc.mode)))
				synctest.Wait()
				stop()
				assert.Equal(t, tc.first, server.Asked()[0])
			})
		})
	}
}

// TestListPreference: three streams that stay open and end without their end mark lead to lists,
// for ten minutes and no longer, and not at all for an informer that was told to stream.
func TestListPreference(t *testing.T) {
	for mode, want := range map[cache.ListMode][]string{
		cache.ListModeAuto: {
			"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=5", // forbidden, at once
			"list rv=5 limit=0", "watch rv=5", // forbidden, after eleven minutes
			"stream rv=5",
		},
		cache.ListModeWatchList: {
			"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=5",
			"stream rv=5",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{OnList: testkit.ListOf(testkit.PodList("5"))}
			next := testkit.Watches(nil, nil, nil, testkit.ErrForbidden)
			server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if n <= 3 {
					w := testkit.NewScriptedWatch(1)
					w.Events <- testkit.Added("a", "1")
					time.AfterFunc(time.Second, func() { close(w.Events) })
					return w, nil
				}
				if o.SendInitialEvents == nil && n == 5 {
					time.Sleep(11 * time.Minute)
					return nil, testkit.ErrForbidden
				}
				return next(n, ctx, o)
			}
			informer := informerOf(server, cache.WithListMode(mode))
			testkit.Reports(t)
			stop := running(t, informer)
			time.Sleep(5 * time.Second)
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			if mode == cache.ListModeAuto {
				assert.Contains(t, status.String(), "LIST instead of watch-list until")
			}
			time.Sleep(12 * time.Minute)
			stop()
			testkit.FirstCalls(t, want, server.Asked())
		})
	}
}

// TestStreamSilenceOption: the limit is the user's.
func TestStreamSilenceOption(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, 3 * time.Second: 3 * time.Second, 25 * time.Second: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			informer := informerOf(&testkit.Server{OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}, cache.WithStreamSilence(limit))
			defer running(t, informer)()
			began := time.Now()
			require.NoError(t, cache.WaitForSync(t.Context(), informer))
			assert.Equal(t, want, time.Since(began), "in whole steps")
		})
	}
}

// TestIdleTimeout: a watch that fell silent is opened anew where it was, but only on a server that
// sends bookmarks.
func TestIdleTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		events []watch.Event
		idle   time.Duration
		want   []string
	}{
		"after a bookmark": {[]watch.Event{testkit.Bookmark("8")}, 4 * time.Minute, []string{"list rv=0 limit=500", "watch rv=5", "watch rv=8"}},
		"no bookmark":      {[]watch.Event{testkit.Added("a", "8")}, 4 * time.Minute, []string{"list rv=0 limit=500", "watch rv=5"}},
		"off":              {[]watch.Event{testkit.Bookmark("8")}, 0, []string{"list rv=0 limit=500", "watch rv=5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testkit.NewScriptedWatch(0)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w)}
				informer := informerOf(server, cache.WithIdleTimeout(tc.idle))
				stop := running(t, informer)
				for _, e := range tc.events {
					time.Sleep(time.Hour)
					w.Events <- e
				}
				time.Sleep(tc.idle * 3 / 2)
				synctest.Wait()
				assert.Equal(t, tc.want, server.Asked())
				status, err := cache.StatusOf(informer)
				require.NoError(t, err)
				assert.Equal(t, len(tc.want) == 3, slices.Contains(status.Degraded, "the watch was silent and was opened anew"), "%v", status)
				stop()
				assert.Len(t, w.Stopped, 1)
			})
		})
	}
}

// TestIdleTimeoutWhileEventsCome: as long as something comes within the limit the watch stays.
func TestIdleTimeoutWhileEventsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w)}
		stop := running(t, informerOf(server, cache.WithIdleTimeout(4*time.Minute)))
		for range 20 {
			w.Events <- testkit.Bookmark("8")
			time.Sleep(3*time.Minute + 59*time.Second)
		}
		stop()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, server.Asked())
	})
}

// TestRetryAfter: the server's word goes before a shorter backoff, within reason.
func TestRetryAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		seconds int
		want    time.Duration
	}{
		"longer":  {30, 30 * time.Second},
		"shorter": {0, time.Second},
		"absurd":  {1 << 30, 5 * time.Minute},
	} {
		for _, watchFails := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				testkit.Reports(t)
				synctest.Test(t, func(t *testing.T) {
					server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
					if busy := apierrors.NewTooManyRequests("later", tc.seconds); watchFails {
						server.OnWatch = testkit.Watches(busy)
					} else {
						server.OnList = listsThen(testkit.PodList("5"), busy)
					}
					defer running(t, informerOf(server))()
					synctest.Wait()
					before := len(server.Asked())
					time.Sleep(tc.want - time.Nanosecond)
					synctest.Wait()
					assert.Len(t, server.Asked(), before)
					time.Sleep(time.Nanosecond)
					synctest.Wait()
					assert.Greater(t, len(server.Asked()), before)
				})
			})
		}
	}
}

// TestBackoffAndPageSize reach the reflector.
func TestBackoffAndPageSize(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: listsThen(testkit.PodList("5"), testkit.ErrForbidden, testkit.ErrForbidden), OnWatch: testkit.Watches()}
		backoff := wait.Backoff{Duration: time.Minute, Factor: 3, Steps: 10}
		informer := informerOf(server, cache.WithPageSize(7), cache.WithBackoff(backoff))
		defer running(t, informer)()
		began := time.Now()
		require.NoError(t, cache.WaitForSync(t.Context(), informer))
		assert.Equal(t, 4*time.Minute, time.Since(began))
		assert.Equal(t, "list rv=0 limit=7", server.Asked()[0])
	})
}

// TestStartJitter: the first request is spread over the span, and cancel ends the wait.
func TestStartJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			informer := informerOf(&testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}, cache.WithStartJitter(time.Hour))
			stop, began := running(t, informer), time.Now()
			require.NoError(t, cache.WaitForSync(t.Context(), informer))
			stop()
			assert.Less(t, time.Since(began), time.Hour)
			seen[time.Since(began)] = true
		}
		assert.Greater(t, len(seen), 10)

		server := &testkit.Server{}
		stop, began := running(t, informerOf(server, cache.WithStartJitter(1000*time.Hour))), time.Now()
		stop()
		assert.Zero(t, time.Since(began))
		assert.Empty(t, server.Asked())
	})
}

// TestListSlots: no more informers than slots take over the whole state at a time, by list or by
// stream, and one that waits can be stopped.
func TestListSlots(t *testing.T) {
	for _, noStream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			slots := cache.NewListSlots(2)
			var all []interface{ HasSyncedChecker() cache.DoneChecker }
			for range 6 {
				server := &testkit.Server{NoStream: noStream}
				server.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
					time.Sleep(time.Second)
					return testkit.PodList("5"), nil
				}
				server.OnWatch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
					w := testkit.NewScriptedWatch(1)
					if o.SendInitialEvents != nil {
						time.AfterFunc(time.Second, func() { w.Events <- testkit.EndMark("5") })
					}
					return w, nil
				}
				informer := informerOf(server, cache.WithListSlots(slots))
				all = append(all, informer)
				defer running(t, informer)()
			}
			began := time.Now()
			synctest.Wait()
			late := informerOf(&testkit.Server{}, cache.WithListSlots(slots))
			running(t, late)()
			assert.Zero(t, time.Since(began), "stopped while it waits for its turn")

			require.NoError(t, cache.WaitForSync(t.Context(), all...))
			assert.Equal(t, 3*time.Second, time.Since(began))
		})
	}
}
