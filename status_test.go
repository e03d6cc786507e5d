// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// listsThen makes a list function that fails with the errors in turn and then answers list.
func listsThen(list runtime.Object, errs ...error) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		if n <= len(errs) {
			return nil, errs[n-1]
		}
		return list, nil
	}
}

// informerOf makes an informer of server with the options and a backoff of a second.
func informerOf(server *testkit.Server, options ...cache.Option) cache.SharedIndexInformer {
	options = append([]cache.Option{cache.WithBackoff(*testkit.Second())}, options...)
	return cache.InformerFunc(options...)(server, &v1.Pod{}, 0, cache.Indexers{})
}

// running runs informer until the returned function is called, which waits for the end.
func running(t *testing.T, informer cache.Controller) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// TestStatusOf follows an informer through its life, by what StatusOf says.
func TestStatusOf(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(2)
		server := &testkit.Server{NoStream: true, OnList: listsThen(testkit.PodList("5", testkit.PodAt("a", "3")), testkit.ErrForbidden, testkit.ErrInternal), OnWatch: testkit.Watches(w)}
		informer := informerOf(server)
		status := func() cache.Status {
			synctest.Wait()
			s, err := cache.StatusOf(informer)
			require.NoError(t, err)
			s.Decoding.Why = "" // decoding_test.go is about that
			return s
		}
		assert.Equal(t, cache.Status{Phase: cache.PhaseNew}, status())

		began := time.Now()
		stop := running(t, informer)
		failed := status()
		assert.Equal(t, cache.Status{
			Phase: cache.PhaseBackingOff, PhaseSince: began, Mode: cache.ListModeList, LastError: failed.LastError, LastErrorAt: began,
			Attempts: 1, Lists: 1, Degraded: []string{"1 error since the last success"},
		}, failed)
		assert.True(t, apierrors.IsForbidden(failed.LastError))
		time.Sleep(time.Second)
		assert.Equal(t, 2, status().Attempts)
		assert.True(t, apierrors.IsInternalError(status().LastError))

		time.Sleep(time.Second)
		assert.Equal(t, cache.Status{
			Phase: cache.PhaseWatching, PhaseSince: began.Add(2 * time.Second), Mode: cache.ListModeList, ResourceVersion: "5", Synced: true,
			LastError: status().LastError, LastErrorAt: began.Add(time.Second), Objects: 1, Lists: 3, Watches: 1,
			Reconnects: 1, LastOutageAt: began.Add(time.Second), LastOutage: time.Second, // the internal error
		}, status())

		w.Events <- testkit.Added("b", "6")
		synctest.Wait()
		time.Sleep(3 * time.Second)
		heard := status()
		assert.Equal(t, 3*time.Second, heard.LastEventAge)
		assert.Equal(t, 2, heard.Objects)
		assert.Equal(t, "6", heard.ResourceVersion)
		assert.Equal(t, `watching for 3s (list) at version "6", 2 objects, 3 lists, 1 watch, 1 reconnect (last outage 1s), last event 3s ago`, heard.String())

		stop()
		assert.Equal(t, cache.PhaseStopped, status().Phase)
		assert.Equal(t, 2, status().Objects)
	})
}

// TestStatusOfWhat: views of an informer have its status, and what is not ours has none.
func TestStatusOfWhat(t *testing.T) {
	server := &testkit.Server{OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
	informer := informerOf(server)
	store, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: server, ObjectType: &v1.Pod{}})
	require.NoError(t, store.Add(testkit.PodAt("a", "1")))
	for name, ours := range map[string]cache.Controller{
		"informer": informer, "its controller": informer.GetController(), "typed": cache.NewTypedSharedIndexInformer[*v1.Pod](informer), "simple": simple,
		"controller": cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: server}),
	} {
		status, err := cache.StatusOf(ours)
		assert.NoError(t, err, name)
		assert.Equal(t, cache.PhaseNew, status.Phase, name)
		assert.Equal(t, name == "simple", status.Objects == 1, name)
	}
	foreign := clientgo.NewSharedIndexInformer(server, &v1.Pod{}, 0, cache.Indexers{})
	_, err := cache.StatusOf(foreign)
	assert.ErrorIs(t, err, cache.ErrNotSupported)
}

// TestWaitForSync: the error says what each informer suffers from.
func TestWaitForSync(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		fine := informerOf(&testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()})
		forbidden := informerOf(&testkit.Server{NoStream: true, OnList: listsThen(nil, testkit.ErrForbidden, testkit.ErrForbidden, testkit.ErrForbidden), OnWatch: testkit.Watches()})
		refused := informerOf(&testkit.Server{OnWatch: testkit.Watches(testkit.ErrRefused, testkit.ErrRefused, testkit.ErrRefused)})
		asleep := informerOf(&testkit.Server{})
		defer running(t, fine)()
		defer running(t, forbidden)()
		defer running(t, refused)()
		require.NoError(t, cache.WaitForSync(t.Context(), fine))

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := cache.WaitForSync(ctx, fine, forbidden, refused, asleep)
		assert.Equal(t, 1500*time.Millisecond, time.Since(began))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsForbidden(err))
		require.ErrorIs(t, err, testkit.ErrRefused)
		assert.NoError(t, cache.WaitForSync(ctx, fine), "what has synced has, whatever the context")
	})
}

// TestWaitForSyncForeign: informers of client-go are waited for, too.
func TestWaitForSyncForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
		server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), nil
		}
		foreign := clientgo.NewSharedIndexInformer(server, &v1.Pod{}, 0, cache.Indexers{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := cache.WaitForSync(ctx, foreign)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, err.Error(), "has not synced")
		stop := running(t, foreign)
		require.NoError(t, cache.WaitForSync(t.Context(), foreign))
		stop()
	})
}

// TestStopOnForbidden: the informer ends by itself, and who waits for it is told why.
func TestStopOnForbidden(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: listsThen(nil, testkit.ErrInternal, testkit.ErrForbidden), OnWatch: testkit.Watches()}
		informer := informerOf(server, cache.WithErrorPolicy(cache.StopOnForbidden))
		go informer.RunWithContext(t.Context())
		began := time.Now()
		err := cache.WaitForSync(t.Context(), informer)
		assert.Equal(t, time.Second, time.Since(began), "one backoff, for the error that is not 403")
		assert.True(t, apierrors.IsForbidden(err))
		require.ErrorIs(t, err, cache.ErrStoppedUnsynced)
		synctest.Wait()
		assert.True(t, informer.IsStopped())
		status, err := cache.StatusOf(informer)
		require.NoError(t, err)
		assert.Equal(t, cache.PhaseStopped, status.Phase)
		assert.Contains(t, status.Degraded, "stopped by its error policy")
		assert.Len(t, server.Asked(), 2)
		assert.True(t, apierrors.IsForbidden(cache.WaitForVersion(t.Context(), informer, "5")))
	})
}

// TestPolicyWithinARound: the policy decides about errors that are retried within a round, too.
func TestPolicyWithinARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{OnWatch: testkit.Watches(testkit.ErrTooManyRequests, testkit.ErrRefused)}
		var asked []int
		informer := informerOf(server, cache.WithErrorPolicy(func(_ context.Context, err error, attempts int) cache.ErrorDecision {
			asked = append(asked, attempts)
			return cache.ErrorDecision{Stop: errors.Is(err, testkit.ErrRefused), After: time.Hour}
		}))
		began := time.Now()
		informer.RunWithContext(t.Context())
		assert.Equal(t, time.Hour, time.Since(began))
		assert.Equal(t, []int{1, 2}, asked)
	})
}

// TestWaitForResource: a resource that appears late is noticed within a period, however long it
// took.
func TestWaitForResource(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		missing := make([]error, 100)
		for i := range missing {
			missing[i] = apierrors.NewNotFound(v1.Resource("widgets"), "")
		}
		server := &testkit.Server{NoStream: true, OnList: listsThen(testkit.PodList("5"), missing...), OnWatch: testkit.Watches()}
		informer := informerOf(server, cache.WithErrorPolicy(cache.WaitForResource(0)))
		defer running(t, informer)()
		began := time.Now()
		require.NoError(t, cache.WaitForSync(t.Context(), informer))
		assert.Equal(t, 100*5*time.Second, time.Since(began))
	})
}

// TestWaitForCacheSync: the pauses grow, and nothing is asked after the stop.
func TestWaitForCacheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int64
		began := time.Now()
		late := func() bool {
			asked = append(asked, time.Since(began).Milliseconds())
			return time.Since(began) > 300*time.Millisecond
		}
		assert.True(t, cache.WaitForCacheSync(t.Context().Done(), func() bool { return true }, late))
		assert.Equal(t, []int64{0, 1, 3, 7, 15, 31, 63, 127, 227, 327}, asked)

		stop := make(chan struct{})
		time.AfterFunc(50*time.Millisecond, func() { close(stop) })
		began = time.Now()
		assert.False(t, cache.WaitForNamedCacheSync("test", stop, func() bool { return false }))
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		assert.True(t, cache.WaitForCacheSync(stop, func() bool { return true }), "what has synced has, as in client-go")
		assert.True(t, cache.WaitForNamedCacheSyncWithContext(t.Context()))
	})
}
