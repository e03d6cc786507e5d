// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
)

const (
	// patience bounds every wait. It is far longer than any wait takes, even on a busy machine.
	patience = 5 * time.Minute
	// someWrites suffices to create, change and delete every name a few times.
	someWrites = 400
)

// startServer starts a child process and stops it when the test ends.
func startServer(t *testing.T, ctx context.Context) *apiserver.Server {
	t.Helper()
	srv, err := apiserver.StartChild(ctx, apiserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	return srv
}

func patientContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// followed is a running informer with a handler that maintains a replica.
type followed struct {
	cache.SharedIndexInformer
	source  *follow.Source
	replica *checker.Replica
	stop    func()

	mu     sync.Mutex
	faults []string // reported by the replica
}

func (f *followed) report(_, fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault)
}

// startFollowing runs an informer of r and returns once its handler has the initial state.
func startFollowing(t *testing.T, ctx context.Context, r *follow.Resource, m follow.Mode) *followed {
	t.Helper()
	f := newFollowed(r, m, kinformer.Options{})
	require.True(t, cache.WaitFor(ctx, "initial list", f.start(t, ctx).HasSyncedChecker()))
	return f
}

func newFollowed(r *follow.Resource, m follow.Mode, options kinformer.Options) *followed {
	f := &followed{source: &follow.Source{ListWatch: r.ListWatch, Mode: m}}
	f.replica = checker.NewReplica(f.report)
	f.SharedIndexInformer = kinformer.Constructor(options)(f.source, r.Example, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	return f
}

// start runs the informer until stop is called or the test ends.
func (f *followed) start(t *testing.T, ctx context.Context) cache.ResourceEventHandlerRegistration {
	t.Helper()
	registration, err := f.AddEventHandler(f.replica)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { f.RunWithContext(ctx); close(done) }()
	f.stop = func() { cancel(); <-done }
	t.Cleanup(f.stop)
	return registration
}

// check waits until the informer has caught up with a new quorum LIST, and reports wrong notifications.
func (f *followed) check(t *testing.T, ctx context.Context, r *follow.Resource) {
	t.Helper()
	want := listed(t, ctx, r)
	require.NotEmpty(t, want)
	require.NoError(t, f.replica.AwaitEqual(ctx, want), "the handler's replica")
	assert.Equal(t, want, checker.ContentsOf(f.GetStore().List()), "the store")
	indexed, err := f.GetIndexer().ByIndex(cache.NamespaceIndex, follow.Namespace)
	require.NoError(t, err)
	assert.Equal(t, want, checker.ContentsOf(indexed), "the index")
	told, _ := f.replica.Notifications()
	assert.True(t, f.HasSynced())
	checkDecoding(t, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Empty(t, f.faults)
	t.Logf("%d objects, %d notifications, %d lists, %d streams, %d watches", len(want), told,
		f.source.Lists.Load(), f.source.Streams.Load(), f.source.Watches.Load())
}

// listed returns the result of a new quorum LIST. The first attempt after a restart may use a dead
// connection that the client still considers open.
func listed(t *testing.T, ctx context.Context, r *follow.Resource) (contents checker.Contents) {
	t.Helper()
	require.NoError(t, until(ctx, func() bool {
		var err error
		contents, err = r.Listed(ctx)
		return err == nil
	}))
	return contents
}

// created creates an object. It retries until the server accepts it.
func created(t *testing.T, ctx context.Context, r *follow.Resource, name string) {
	t.Helper()
	require.NoError(t, until(ctx, func() bool {
		_, err := r.Create(ctx, name, "1")
		return err == nil || apierrors.IsAlreadyExists(err)
	}))
}

// resourceOf returns the resource of the kind on srv.
func resourceOf(t *testing.T, srv *apiserver.Server, kind string) *follow.Resource {
	t.Helper()
	require.NoError(t, srv.InstallCRD(t.Context(), follow.Widget))
	writer, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)
	r, err := follow.Kinds()[kind](follow.Clients{Read: srv.Config(), Write: writer})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// everyWay runs test for two kinds of client in both modes, each on its own server.
func everyWay(t *testing.T, test func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode)) {
	for _, name := range []string{"pods-protobuf", "crd-dynamic"} {
		for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			t.Run(name+"/"+string(m), func(t *testing.T) {
				ctx := patientContext(t)
				srv := startServer(t, ctx)
				test(t, ctx, srv, resourceOf(t, srv, name), m)
			})
		}
	}
}

func TestInformerFollowsWriters(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, r, 1)
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		f := startFollowing(t, ctx, r, m)
		require.NoError(t, w.awaitWrites(ctx, someWrites))
		w.finish()
		f.check(t, ctx, r)
		lists, streams := f.source.Lists.Load(), f.source.Streams.Load()
		repeated := f.source.Failed.Load() + f.source.Unfinished.Load() // repeated because of the server, for example when a client is slow
		if m == follow.WatchListMode {
			assert.LessOrEqual(t, lists, repeated, "a stream needs no LIST")
			assert.LessOrEqual(t, streams, 1+repeated)
		} else {
			assert.Zero(t, streams)
			assert.LessOrEqual(t, lists, 1+repeated)
		}
	})
}

func TestInformerSurvivesKillAndRestart(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, r, 2)
		f := startFollowing(t, ctx, r, m)
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		require.NoError(t, srv.Kill())
		assert.True(t, f.HasSynced(), "the last known state stays available")
		require.NoError(t, srv.Restart(ctx))
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		w.finish()
		f.check(t, ctx, r)
	})
}

func TestInformerSurvivesAnExpiredResourceVersion(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, r, 3)
		f := startFollowing(t, ctx, r, m)
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		f.source.Hold.Lock() // blocks the informer's requests, so that it falls behind
		require.NoError(t, srv.Kill())
		require.NoError(t, srv.Restart(ctx))
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		require.NoError(t, srv.Kill())
		require.NoError(t, srv.Restart(ctx))
		f.source.Hold.Unlock()
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		w.finish()
		f.check(t, ctx, r)
		assert.NotZero(t, f.source.Expired.Load(), "the old resourceVersion was refused with 410")
	})
}

// TestInformerWithPagesSurvivesARestart checks that the informer does not loop. The watch cache of a
// restarted server does not know the informer's version, so that the watch expires, while etcd serves a
// list in pages at exactly that version: list and watch could repeat until etcd discards the version,
// minutes later.
func TestInformerWithPagesSurvivesARestart(t *testing.T) {
	ctx := patientContext(t)
	srv := startServer(t, ctx)
	r := resourceOf(t, srv, "pods-protobuf")
	for _, name := range []string{"a", "b", "c"} {
		created(t, ctx, r, name)
	}
	f := newFollowed(r, follow.ListMode, kinformer.Options{Requests: kinformer.Requests{PageSize: 2, Backoff: wait.Backoff{Duration: 100 * time.Millisecond}}})
	require.True(t, cache.WaitFor(ctx, "initial list", f.start(t, ctx).HasSyncedChecker()))
	f.source.Hold.Lock() // makes the informer fall behind
	require.NoError(t, srv.Kill())
	require.NoError(t, srv.Restart(ctx))
	for _, name := range []string{"d", "e"} {
		created(t, ctx, r, name)
	}
	require.NoError(t, srv.Kill())
	require.NoError(t, srv.Restart(ctx))
	f.source.Hold.Unlock()
	f.check(t, ctx, r)
	assert.NotZero(t, f.source.Expired.Load())
}
