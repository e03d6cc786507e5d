// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// waitedFor returns the error of WaitForSync after ten and a half seconds, when no timer of whole
// seconds fires.
func waitedFor(t *testing.T, informer cache.Controller) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+500*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := kinformer.WaitForSync(ctx, informer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 10*time.Second+500*time.Millisecond, time.Since(began))
	return err
}

var errLister = errors.New("cannot go on")

func hangs(_ int, ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func panickingPolicy(context.Context, kinformer.Failure) kinformer.ErrorDecision { panic(errLister) }

var (
	otherType = []any{testkit.Sent(testkit.Added("a", "3"), testkit.EndMark("5"))}
	widgets   = (*cache.InformerName)(nil).WithResource(schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "widgets"})
)

// unsynced is an informer that does not sync, and the reasons in the error of WaitForSync.
type unsynced struct {
	server   *testkit.Server
	never    bool // the informer is not run
	example  runtime.Object
	options  kinformer.Options
	slotless bool // no slot is ever free
	says     []string
	is       error
}

func unsyncedInformers() map[string]unsynced {
	return map[string]unsynced{
		"never run": {server: &testkit.Server{}, never: true, says: []string{"SharedIndexInformer *v1.Pod has not synced: never run"}},
		"hangs":     {server: &testkit.Server{NoStream: true, OnList: hangs}, says: []string{"*v1.Pod has not synced: listing for 10.5s"}},
		"lists after a stream": {server: &testkit.Server{OnWatch: testkit.Watches(testkit.ErrForbidden), OnList: hangs},
			says: []string{"listing for 10.5s", "1 error since the last success"}, is: testkit.ErrForbidden},
		"silent stream":   {server: &testkit.Server{OnWatch: testkit.Watches()}, says: []string{"streaming for 10.5s"}},
		"waits for slots": {server: &testkit.Server{NoStream: true}, slotless: true, says: []string{"waiting for a list slot for 10.5s"}},
		"refused": {server: &testkit.Server{NoStream: true, OnList: testkit.ListOf(nil, slices.Repeat([]error{testkit.ErrRefused}, 12)...)},
			says: []string{"backing off for 500ms", "11 errors since the last success", "the server went out of reach 10.5s", "connection refused"}, is: testkit.ErrRefused},
		"panics": {server: &testkit.Server{NoStream: true, OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { panic(errLister) }},
			says: []string{"panic while listing: cannot go on", "backing off for 500ms", "11 errors since the last success"}, is: errLister},
		"panics in the stream": {server: &testkit.Server{OnWatch: func(int, context.Context, metav1.ListOptions) (watch.Interface, error) { panic("no\nway") }},
			says: []string{"panic while streaming: no"}},
		"panics in the policy": {server: &testkit.Server{NoStream: true, OnList: testkit.ListOf(nil, slices.Repeat([]error{testkit.ErrForbidden}, 12)...)},
			options: kinformer.Options{Errors: kinformer.Errors{Policy: panickingPolicy}}, says: []string{"cannot go on"}, is: errLister},
		"another type, listed": {server: &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches()}, example: &v1.Service{},
			says: []string{"SharedIndexInformer *v1.Service", "none of 1 list items", "type *v1.Pod, not *v1.Service"}},
		"another type, streamed": {server: &testkit.Server{OnWatch: testkit.Watches(slices.Repeat(otherType, 100)...), OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3")))}, example: &v1.Service{},
			says: []string{"2 objects of another type or namespace left out: object has type *v1.Pod, not *v1.Service"}},
		"described": {server: &testkit.Server{}, never: true, options: kinformer.Options{ObjectDescription: "pods of the east"},
			says: []string{"SharedIndexInformer pods of the east has not synced"}},
		"identified": {server: &testkit.Server{}, never: true, options: kinformer.Options{Identifier: widgets},
			says: []string{"SharedIndexInformer widgets.v1.g has not synced"}},
	}
}

// TestWaitForSyncSaysWhy: the error contains the reason, for each possible reason.
func TestWaitForSyncSaysWhy(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	for name, tc := range unsyncedInformers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				example := tc.example
				if example == nil {
					example = &v1.Pod{}
				}
				tc.options.Requests.Backoff = *testkit.Second()
				informer := kinformer.New(tc.server, example, tc.options)
				if tc.slotless {
					door.Of(informer).Configure(func(c *door.Config) { c.Requests.Turns = make(chan struct{}, 1) })
				}
				if !tc.never {
					defer informers.Run(t, informer)()
				}
				err := waitedFor(t, informer)
				for _, says := range tc.says {
					assert.ErrorContains(t, err, says)
				}
				if tc.is != nil {
					assert.ErrorIs(t, err, tc.is)
				}
			})
		})
	}
}

// TestWaitForSyncOfAControllerSaysOfWhat: a controller has the name of its queue.
func TestWaitForSyncOfAControllerSaysOfWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
		err := waitedFor(t, cache.New(&cache.Config{Queue: queue, ListerWatcher: &testkit.Server{}, ObjectType: &v1.Pod{}}))
		assert.ErrorContains(t, err, "RealFIFO of *v1.Pod has not synced: never run")
	})
}

// TestWaitForSyncOfNothing: the error names the position of a nil argument.
func TestWaitForSyncOfNothing(t *testing.T) {
	require.NoError(t, kinformer.WaitForSync(t.Context()))
	err := kinformer.WaitForSync(t.Context(), cache.NewSharedIndexInformer(&testkit.Server{}, &v1.Pod{}, 0, nil), nil)
	assert.EqualError(t, err, "WaitForSync: argument 2 of 2 is nil")
}

// TestWaitForSyncOnTheWayToTheStore: the error blames neither the server nor the reflector for a list
// that was received and is not stored yet.
func TestWaitForSyncOnTheWayToTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches()}
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: server, ObjectType: &v1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { <-release },
		}})
		stop := informers.Run(t, informer)
		err := waitedFor(t, informer)
		assert.ErrorContains(t, err, "watching for 10.5s, its first list is not in the store yet")
		close(release)
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		stop()
	})
}

// TestWaitsLogWhatClientGoLogs: the log lines of the waits are client-go's, word for word.
func TestWaitsLogWhatClientGoLogs(t *testing.T) {
	type wait struct {
		named       func(string, <-chan struct{}, ...cache.InformerSynced) bool
		withContext func(context.Context, ...cache.InformerSynced) bool
	}
	said := func(w wait) []string {
		reported, lines := testkit.Reports(t), testkit.CaptureLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, synced := range []bool{true, false} {
			is := func() bool { return synced }
			assert.Equal(t, synced, w.named("pods", ctx.Done(), is))
			assert.Equal(t, synced, w.withContext(ctx, is))
		}
		logged := testkit.About("aches", lines.Take())
		assert.NotEmpty(t, logged)
		return append(logged, reported()...)
	}
	theirs := said(wait{clientgo.WaitForNamedCacheSync, clientgo.WaitForNamedCacheSyncWithContext})
	assert.NotEmpty(t, theirs)
	assert.Equal(t, theirs, said(wait{cache.WaitForNamedCacheSync, cache.WaitForNamedCacheSyncWithContext}))
}

// waitsFor starts WaitForVersion. The returned function returns its result, or nil before it has
// returned.
func waitsFor(t *testing.T, informer cache.Controller, rv string) (ended func() *error) {
	var result *error
	go func() {
		err := kinformer.WaitForVersion(t.Context(), informer, rv)
		result = &err
	}()
	return func() *error {
		synctest.Wait()
		return result
	}
}

// TestWaitForVersion: the wait ends with each way by which the store can reach a version, and with no
// other.
func TestWaitForVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		listed  string
		events  []watch.Event
		reached bool
	}{
		"listed":                        {"7", nil, true},
		"an event":                      {"5", []watch.Event{testkit.Added("a", "7")}, true},
		"a deletion":                    {"5", []watch.Event{testkit.Deleted("a", "7")}, true},
		"a bookmark":                    {"5", []watch.Event{testkit.Bookmark("7")}, true},
		"synthetic events":              {"", []watch.Event{testkit.Added("a", "9")}, false},
		"synthetic events and a change": {"", []watch.Event{testkit.Added("a", "9"), testkit.Modified("a", "10")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testkit.NewScriptedWatch(0)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList(tc.listed)), OnWatch: testkit.Watches(w)}
				_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: server, ObjectType: &v1.Pod{}})
				ended := waitsFor(t, simple, "7")
				require.Nil(t, ended())
				stop := informers.Run(t, simple)
				for _, event := range tc.events {
					w.Events <- event
				}
				result := ended()
				assert.Equal(t, tc.reached, result != nil)
				if tc.reached {
					require.NoError(t, *result)
				}
				stop()
				if !tc.reached {
					assert.ErrorContains(t, *ended(), "the informer has stopped")
				}
			})
		})
	}
}

// TestWaitForVersionStream: the objects of a watch-list count once its end mark has arrived.
func TestWaitForVersionStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		informer := informers.Of(&testkit.Server{OnWatch: testkit.Watches(w)}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}})
		defer informers.Run(t, informer)()
		ended := waitsFor(t, informer, "7")
		w.Events <- testkit.Added("a", "7")
		w.Events <- testkit.Added("b", "8")
		require.Nil(t, ended())
		w.Events <- testkit.EndMark("8")
		require.NotNil(t, ended())
		require.NoError(t, *ended())
	})
}

// TestWaitForVersionErrors covers all other ends of a wait.
func TestWaitForVersionErrors(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("abc"), testkit.ErrForbidden), OnWatch: testkit.Watches()}
		informer := informers.Of(server, kinformer.Options{})
		for _, malformed := range []string{"", "0", "007", "12a", "-3"} {
			require.ErrorIs(t, kinformer.WaitForVersion(t.Context(), informer, malformed), kinformer.ErrNotComparable)
		}
		foreign := clientgo.NewSharedIndexInformer(server, &v1.Pod{}, 0, cache.Indexers{})
		require.ErrorIs(t, kinformer.WaitForVersion(t.Context(), foreign, "7"), inspect.ErrForeign)
		users := cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: server})
		require.ErrorIs(t, kinformer.WaitForVersion(t.Context(), users, "7"), inspect.ErrForeign)

		defer informers.Run(t, informer)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := kinformer.WaitForVersion(ctx, informer, "7")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, testkit.ErrForbidden)
		assert.Contains(t, err.Error(), "backing off for 1ms (list)")
		assert.NotContains(t, err.Error(), "\n", "one line of a log")

		require.ErrorIs(t, kinformer.WaitForVersion(t.Context(), informer, "7"), kinformer.ErrNotComparable, "the server's versions are no numbers")
	})
}

// TestWaitForVersionAfterRewind: when a server is set back, the informer no longer has a version that
// the server has lost.
func TestWaitForVersionAfterRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(testkit.Sent(testkit.FailedWith(testkit.ErrExpired)))}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return testkit.PodList([]string{"9", "3"}[min(n, 2)-1]), nil
		}
		informer := informers.Of(server, kinformer.Options{})
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForVersion(t.Context(), informer, "9"))
		time.Sleep(2 * time.Second)
		require.Nil(t, waitsFor(t, informer, "4")())
		require.NoError(t, kinformer.WaitForVersion(t.Context(), informer, "3"))
	})
}
