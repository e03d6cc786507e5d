// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// waitsFor starts WaitForVersion and returns a look at how it ended, nil before.
func waitsFor(t *testing.T, informer cache.Controller, rv string) (ended func() *error) {
	var result *error
	go func() {
		err := cache.WaitForVersion(t.Context(), informer, rv)
		result = &err
	}()
	return func() *error {
		synctest.Wait()
		return result
	}
}

// TestWaitForVersion: each way by which the store can come to a version ends the wait, and no
// other.
func TestWaitForVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		listed  string
		events  []watch.Event
		reached bool
	}{
		"listed":                          {"7", nil, true},
		"listed newer":                    {"10", nil, true},
		"listed older":                    {"6", nil, false},
		"an event":                        {"5", []watch.Event{testkit.Added("a", "7")}, true},
		"a later event":                   {"5", []watch.Event{testkit.Modified("a", "8")}, true},
		"an earlier event":                {"5", []watch.Event{testkit.Modified("a", "6")}, false},
		"a deletion":                      {"5", []watch.Event{testkit.Deleted("a", "7")}, true},
		"a bookmark":                      {"5", []watch.Event{testkit.Bookmark("7")}, true},
		"synthetic events":                {"", []watch.Event{testkit.Added("a", "9")}, false},
		"synthetic events at 0":           {"0", []watch.Event{testkit.Added("a", "9")}, false},
		"synthetic events and a bookmark": {"", []watch.Event{testkit.Added("a", "9"), testkit.Bookmark("9")}, true},
		"synthetic events and a change":   {"", []watch.Event{testkit.Added("a", "9"), testkit.Modified("a", "10")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testkit.NewScriptedWatch(0)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList(tc.listed)), OnWatch: testkit.Watches(w)}
				store, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: server, ObjectType: &v1.Pod{}})
				ended := waitsFor(t, simple, "7")
				require.Nil(t, ended())
				stop := running(t, simple)
				for _, event := range tc.events {
					w.Events <- event
				}
				result := ended()
				assert.Equal(t, tc.reached, result != nil)
				if tc.reached {
					require.NoError(t, *result)
				}
				require.NotNil(t, store)
				stop()
				if !tc.reached {
					assert.ErrorIs(t, *ended(), cache.ErrNotReached)
				}
			})
		})
	}
}

// TestWaitForVersionStream: what a watch-list has brought counts when its end mark has come.
func TestWaitForVersionStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		informer := informerOf(&testkit.Server{OnWatch: testkit.Watches(w)}, cache.WithListMode(cache.ListModeWatchList))
		defer running(t, informer)()
		ended := waitsFor(t, informer, "7")
		w.Events <- testkit.Added("a", "7")
		w.Events <- testkit.Added("b", "8")
		require.Nil(t, ended())
		w.Events <- testkit.EndMark("8")
		require.NotNil(t, ended())
		require.NoError(t, *ended())
	})
}

// TestWaitForVersionErrors: all the other ends of a wait.
func TestWaitForVersionErrors(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: listsThen(testkit.PodList("abc"), testkit.ErrForbidden), OnWatch: testkit.Watches()}
		informer := informerOf(server)
		for _, malformed := range []string{"", "0", "007", "12a", "-3"} {
			require.ErrorIs(t, cache.WaitForVersion(t.Context(), informer, malformed), cache.ErrNotComparable)
		}
		foreign := clientgo.NewSharedIndexInformer(server, &v1.Pod{}, 0, cache.Indexers{})
		require.ErrorIs(t, cache.WaitForVersion(t.Context(), foreign, "7"), cache.ErrNotSupported)
		users := cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: server})
		require.ErrorIs(t, cache.WaitForVersion(t.Context(), users, "7"), cache.ErrNotSupported)

		defer running(t, informer)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := cache.WaitForVersion(ctx, informer, "7")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, testkit.ErrForbidden)
		assert.Contains(t, err.Error(), "backing off for 1ms (list)")
		assert.NotContains(t, err.Error(), "\n", "one line of a log")

		require.ErrorIs(t, cache.WaitForVersion(t.Context(), informer, "7"), cache.ErrNotComparable, "the server's versions are no numbers")
	})
}

// TestWaitForVersionAfterRewind: a server that was set back does not leave the informer claiming a
// version it lost.
func TestWaitForVersionAfterRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(testkit.Sent(testkit.FailedWith(testkit.ErrExpired)))}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return testkit.PodList([]string{"9", "3"}[min(n, 2)-1]), nil
		}
		informer := informerOf(server)
		defer running(t, informer)()
		require.NoError(t, cache.WaitForVersion(t.Context(), informer, "9"))
		time.Sleep(2 * time.Second)
		require.Nil(t, waitsFor(t, informer, "4")())
		require.NoError(t, cache.WaitForVersion(t.Context(), informer, "3"))
	})
}
