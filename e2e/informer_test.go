// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
)

const (
	// patience bounds every wait: far longer than any takes.
	patience = 2 * time.Minute
	// someWrites is enough for every name to be created, changed and deleted a few times.
	someWrites = 400
)

// startServer starts a child process that is stopped when the test ends.
func startServer(t *testing.T, ctx context.Context) *apiserver.Server {
	t.Helper()
	srv, err := apiserver.StartChild(ctx, apiserver.Options{Log: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	return srv
}

func patientContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// mode is how the informer gets the initial state.
type mode string

const (
	listMode      mode = "list"
	watchListMode mode = "watch-list"
)

// followed is a running informer with a handler that keeps a replica.
type followed struct {
	cache.SharedIndexInformer
	source  *source
	replica *replica
	stop    func()
}

func follow(t *testing.T, ctx context.Context, r resource, m mode) *followed {
	t.Helper()
	f := &followed{source: &source{ListWatch: r.lw, mode: m}, replica: newReplica()}
	f.SharedIndexInformer = cache.NewSharedIndexInformer(f.source, r.example, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	registration, err := f.AddEventHandler(f.replica)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { f.RunWithContext(ctx); close(done) }()
	f.stop = func() { cancel(); <-done }
	t.Cleanup(f.stop)
	require.True(t, cache.WaitFor(ctx, "initial list", registration.HasSyncedChecker()))
	return f
}

// check waits until the informer has caught up with a fresh LIST, and fails for anything that was told wrong.
func (f *followed) check(t *testing.T, ctx context.Context, r resource) {
	t.Helper()
	want := r.listed(t, ctx)
	require.NotEmpty(t, want)
	require.NoError(t, f.replica.awaitEqual(ctx, want), "the handler's replica")
	assert.Equal(t, want, contentsOf(f.GetStore().List()), "the store")
	indexed, err := f.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
	require.NoError(t, err)
	assert.Equal(t, want, contentsOf(indexed), "the index")
	_, told, faults := f.replica.snapshot()
	assert.Empty(t, faults)
	assert.True(t, f.HasSynced())
	t.Logf("%d objects, %d notifications, %d lists, %d streams, %d watches", len(want), told,
		f.source.lists.Load(), f.source.streams.Load(), f.source.watches.Load())
}

// everyWay runs test for each kind of client in each mode, on a server of its own.
func everyWay(t *testing.T, test func(t *testing.T, ctx context.Context, srv *apiserver.Server, r resource, m mode)) {
	clients := map[string]func(*testing.T, *apiserver.Server, string) resource{"pods-protobuf": pods, "crd-dynamic": widgets}
	for name, newResource := range clients {
		for _, m := range []mode{listMode, watchListMode} {
			t.Run(name+"/"+string(m), func(t *testing.T) {
				ctx := patientContext(t)
				srv := startServer(t, ctx)
				test(t, ctx, srv, newResource(t, srv, "default"), m)
			})
		}
	}
}

func TestInformerFollowsWriters(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r resource, m mode) {
		w := startWriters(ctx, r, 1)
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		f := follow(t, ctx, r, m)
		require.NoError(t, w.awaitWrites(ctx, someWrites))
		w.finish()
		f.check(t, ctx, r)
		if m == watchListMode {
			assert.Zero(t, f.source.lists.Load(), "a stream needs no LIST")
			assert.EqualValues(t, 1, f.source.streams.Load())
		} else {
			assert.Zero(t, f.source.streams.Load())
			assert.EqualValues(t, 1, f.source.lists.Load())
		}
	})
}

func TestInformerSurvivesKillAndRestart(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r resource, m mode) {
		w := startWriters(ctx, r, 2)
		f := follow(t, ctx, r, m)
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
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r resource, m mode) {
		w := startWriters(ctx, r, 3)
		f := follow(t, ctx, r, m)
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		f.source.hold.Lock() // the informer falls behind: no request of it goes out
		require.NoError(t, srv.Kill())
		require.NoError(t, srv.Restart(ctx))
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		require.NoError(t, srv.Kill())
		require.NoError(t, srv.Restart(ctx))
		f.source.hold.Unlock()
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		w.finish()
		f.check(t, ctx, r)
		assert.NotZero(t, f.source.expired.Load(), "the old resourceVersion was refused with 410")
	})
}
