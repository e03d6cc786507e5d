// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
)

// TestListMode: the informer's own choice goes before the gate and before what the client says of itself.
func TestListMode(t *testing.T) {
	for name, tc := range map[string]struct {
		mode     ListMode
		gate     bool
		noStream bool
		first    string
	}{
		"auto":                           {ListModeAuto, true, false, "stream rv="},
		"auto, gate off":                 {ListModeAuto, false, false, "list rv=0 limit=500"},
		"auto, client denies":            {ListModeAuto, true, true, "list rv=0 limit=500"},
		"list":                           {ListModeList, true, false, "list rv=0 limit=500"},
		"watch-list, gate off":           {ListModeWatchList, false, false, "stream rv="},
		"watch-list, client of old ways": {ListModeWatchList, true, true, "stream rv="},
	} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, tc.gate)
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{noStream: tc.noStream, list: listOf(podList("5")), watch: watches()}
				stop := running(t, informerOf(server, WithListMode(tc.mode)))
				synctest.Wait()
				stop()
				assert.Equal(t, tc.first, server.asked()[0])
			})
		})
	}
}

// TestListPreference: three streams without their end mark lead to lists, for ten minutes and no longer, and not at all for
// an informer that was told to stream.
func TestListPreference(t *testing.T) {
	for mode, want := range map[ListMode][]string{
		ListModeAuto: {
			"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=5", // forbidden, at once
			"list rv=5 limit=0", "watch rv=5", // forbidden, after eleven minutes
			"stream rv=5",
		},
		ListModeWatchList: {
			"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=5",
			"stream rv=5",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			cut := sent(added("a", "1"), closed)
			server := &fakeServer{list: listOf(podList("5")), watch: watches(cut, cut, cut, errForbidden)}
			next := server.watch
			server.watch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents == nil && n == 5 {
					time.Sleep(11 * time.Minute)
					return nil, errForbidden
				}
				return next(n, ctx, o)
			}
			informer := informerOf(server, WithListMode(mode))
			reports(t)
			stop := running(t, informer)
			time.Sleep(5 * time.Second)
			status, err := StatusOf(informer)
			require.NoError(t, err)
			if mode == ListModeAuto {
				assert.Contains(t, status.String(), "LIST instead of watch-list until")
			}
			time.Sleep(12 * time.Minute)
			stop()
			firstCalls(t, want, server.asked())
		})
	}
}

// TestStreamSilenceOption: the limit is the user's.
func TestStreamSilenceOption(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, 3 * time.Second: 3 * time.Second, 25 * time.Second: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			informer := informerOf(&fakeServer{list: listOf(podList("5")), watch: watches()}, WithStreamSilence(limit))
			defer running(t, informer)()
			began := time.Now()
			require.NoError(t, WaitForSync(t.Context(), informer))
			assert.Equal(t, want, time.Since(began), "in whole steps")
		})
	}
}

// TestIdleTimeout: a watch that fell silent is opened anew where it was, but only on a server that sends bookmarks.
func TestIdleTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		events []watch.Event
		idle   time.Duration
		want   []string
	}{
		"after a bookmark": {[]watch.Event{bookmark("8")}, 4 * time.Minute, []string{"list rv=0 limit=500", "watch rv=5", "watch rv=8"}},
		"no bookmark":      {[]watch.Event{added("a", "8")}, 4 * time.Minute, []string{"list rv=0 limit=500", "watch rv=5"}},
		"off":              {[]watch.Event{bookmark("8")}, 0, []string{"list rv=0 limit=500", "watch rv=5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newScriptedWatch(0)
				server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(w)}
				informer := informerOf(server, WithIdleTimeout(tc.idle))
				stop := running(t, informer)
				for _, e := range tc.events {
					time.Sleep(time.Hour)
					w.events <- e
				}
				time.Sleep(tc.idle * 3 / 2)
				synctest.Wait()
				assert.Equal(t, tc.want, server.asked())
				status, err := StatusOf(informer)
				require.NoError(t, err)
				assert.Equal(t, len(tc.want) == 3, len(status.Degraded) == 1, "%v", status)
				stop()
				assert.Len(t, w.stopped, 1)
			})
		})
	}
}

// TestIdleTimeoutWhileEventsCome: as long as something comes within the limit the watch stays.
func TestIdleTimeoutWhileEventsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedWatch(0)
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(w)}
		stop := running(t, informerOf(server, WithIdleTimeout(4*time.Minute)))
		for range 20 {
			w.events <- bookmark("8")
			time.Sleep(3*time.Minute + 59*time.Second)
		}
		stop()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, server.asked())
	})
}

// TestIdleTimeoutNotForPauses: time in which the reflector waits for its store is no silence of the server.
func TestIdleTimeoutNotForPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedWatch(0)
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(w)}
		store := &storeLog{fail: func(entry string) error {
			if entry == "add b@9" {
				time.Sleep(time.Hour)
			}
			return nil
		}}
		r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store), idleTimeout: 4 * time.Minute})
		stop := inBackground(t, r.run)
		w.events <- bookmark("8")
		w.events <- added("b", "9") // takes an hour
		time.Sleep(time.Hour + time.Minute)
		w.events <- added("c", "10")
		time.Sleep(3 * time.Minute)
		stop()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, server.asked())
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
				reports(t)
				synctest.Test(t, func(t *testing.T) {
					server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches()}
					if busy := apierrors.NewTooManyRequests("later", tc.seconds); watchFails {
						server.watch = watches(busy)
					} else {
						server.list = listsThen(podList("5"), busy)
					}
					defer running(t, informerOf(server))()
					synctest.Wait()
					before := len(server.asked())
					time.Sleep(tc.want - time.Nanosecond)
					synctest.Wait()
					assert.Len(t, server.asked(), before)
					time.Sleep(time.Nanosecond)
					synctest.Wait()
					assert.Greater(t, len(server.asked()), before)
				})
			})
		}
	}
}

// TestBackoffAndPageSize reach the reflector.
func TestBackoffAndPageSize(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{noStream: true, list: listsThen(podList("5"), errForbidden, errForbidden), watch: watches()}
		backoff := wait.Backoff{Duration: time.Minute, Factor: 3, Steps: 10}
		informer := informerOf(server, WithPageSize(7), WithBackoff(backoff))
		defer running(t, informer)()
		began := time.Now()
		require.NoError(t, WaitForSync(t.Context(), informer))
		assert.Equal(t, 4*time.Minute, time.Since(began))
		assert.Equal(t, "list rv=0 limit=7", server.asked()[0])
	})
}

// TestStartJitter: the first request is spread over the span, and cancel ends the wait.
func TestStartJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			informer := informerOf(&fakeServer{noStream: true, list: listOf(podList("5")), watch: watches()}, WithStartJitter(time.Hour))
			stop, began := running(t, informer), time.Now()
			require.NoError(t, WaitForSync(t.Context(), informer))
			stop()
			assert.Less(t, time.Since(began), time.Hour)
			seen[time.Since(began)] = true
		}
		assert.Greater(t, len(seen), 10)

		server := &fakeServer{}
		stop, began := running(t, informerOf(server, WithStartJitter(1000*time.Hour))), time.Now()
		stop()
		assert.Zero(t, time.Since(began))
		assert.Empty(t, server.asked())
	})
}

// TestListSlots: no more informers than slots take over the whole state at a time, by list or by stream, and one that waits
// can be stopped.
func TestListSlots(t *testing.T) {
	for _, noStream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			slots := NewListSlots(2)
			var all []interface{ HasSyncedChecker() DoneChecker }
			for range 6 {
				server := &fakeServer{noStream: noStream}
				server.list = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
					time.Sleep(time.Second)
					return podList("5"), nil
				}
				server.watch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
					w := newScriptedWatch(1)
					if o.SendInitialEvents != nil {
						time.AfterFunc(time.Second, func() { w.events <- endMark("5") })
					}
					return w, nil
				}
				informer := informerOf(server, WithListSlots(slots))
				all = append(all, informer)
				defer running(t, informer)()
			}
			began := time.Now()
			synctest.Wait()
			late := informerOf(&fakeServer{}, WithListSlots(slots))
			running(t, late)()
			assert.Zero(t, time.Since(began), "stopped while it waits for its turn")

			require.NoError(t, WaitForSync(t.Context(), all...))
			assert.Equal(t, 3*time.Second, time.Since(began))
		})
	}
	require.Equal(t, 1, cap(NewListSlots(0).free))
}
