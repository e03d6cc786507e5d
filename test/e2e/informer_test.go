// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// someWrites suffices to create, change and delete every name a few times.
const someWrites = 400

func TestMain(m *testing.M) {
	code := m.Run()
	if err := transport.Verify(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// restart kills the server, calls meanwhile, and starts the server again at the same address.
func restart(t *testing.T, ctx context.Context, srv *apiserver.Server, meanwhile ...func()) {
	t.Helper()
	require.NoError(t, srv.Kill())
	for _, do := range meanwhile {
		do()
	}
	require.NoError(t, srv.Restart(ctx))
}

// followed is a running informer with a handler that maintains a replica.
type followed struct {
	cache.SharedIndexInformer
	source  *follow.Source
	replica *checker.Replica
	stop    func()
	faults  testkit.Journal // reported by the replica
}

func (f *followed) report(_, fault string) { f.faults.Note("%s", fault) }

// startFollowing runs an informer of r and returns once its handler has the initial state.
func startFollowing(t *testing.T, ctx context.Context, r *follow.Resource, m follow.Mode, options kinformer.Options) *followed {
	t.Helper()
	f := newFollowed(r, m, options)
	require.True(t, cache.WaitFor(ctx, "initial list", f.start(t).HasSyncedChecker()))
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
func (f *followed) start(t *testing.T) cache.ResourceEventHandlerRegistration {
	t.Helper()
	registration, err := f.AddEventHandler(f.replica)
	require.NoError(t, err)
	f.stop = testkit.InBackground(t, f.RunWithContext)
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
	assert.Empty(t, f.faults.Take())
	t.Logf("%d objects, %d notifications, %d lists, %d streams, %d watches", len(want), told,
		f.source.Lists.Load(), f.source.Streams.Load(), f.source.Watches.Load())
}

// checkDecoding reports an error if a synced informer of kinformer does not decode directly although it
// should, or decodes wrongly.
func checkDecoding(t *testing.T, informer interface{ HasSyncedChecker() cache.DoneChecker }) {
	t.Helper()
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	d := status.Decoding
	if !transport.Tapped() {
		assert.False(t, d.On)
		return
	}
	t.Logf("decoded directly: %d, by both: %d, given up: %v", d.Direct, d.Verified.Objects, d.GivenUp)
	assert.True(t, d.On, d.Why)
	assert.NotZero(t, d.Direct+d.Verified.Objects)
	assert.Zero(t, d.Verified.Differences)
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

// created creates objects. It retries until the server accepts them.
func created(t *testing.T, ctx context.Context, r *follow.Resource, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, until(ctx, func() bool {
			_, err := r.Create(ctx, name, "1")
			return err == nil || apierrors.IsAlreadyExists(err)
		}))
	}
}

// resourceOf returns the resource of the kind on srv.
func resourceOf(t *testing.T, srv *apiserver.Server, kind string) *follow.Resource {
	t.Helper()
	require.NoError(t, srv.InstallCRD(t.Context(), follow.Widget))
	return resourceOver(t, srv, kind, srv.Config())
}

// resourceOver returns the resource of the kind on srv, read by a client with the config.
func resourceOver(t *testing.T, srv *apiserver.Server, kind string, read *rest.Config) *follow.Resource {
	t.Helper()
	writer, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)
	r, err := follow.Kinds()[kind](follow.Clients{Read: read, Write: writer})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// everyWay runs test for two kinds of client in both modes, each on its own server.
func everyWay(t *testing.T, test func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode)) {
	for _, name := range []string{"pods-protobuf", "crd-dynamic"} {
		for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			t.Run(name+"/"+string(m), func(t *testing.T) {
				ctx, srv := follow.StartServer(t, apiserver.Options{})
				test(t, ctx, srv, resourceOf(t, srv, name), m)
			})
		}
	}
}

func TestInformerFollowsWriters(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, 1, writesTo(r))
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		f := startFollowing(t, ctx, r, m, kinformer.Options{})
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

// TestInformerSurvivesRestarts checks that an informer catches up after the server was killed, and then
// after its resourceVersion has expired.
func TestInformerSurvivesRestarts(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, 2, writesTo(r))
		f := startFollowing(t, ctx, r, m, kinformer.Options{})
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		restart(t, ctx, srv, func() { assert.True(t, f.HasSynced(), "the last known state stays available") })
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		w.finish()
		f.check(t, ctx, r)

		w = startWriters(ctx, 3, writesTo(r))
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		expired := f.source.Expired.Load()
		f.source.Hold.Lock() // blocks the informer's requests, so that it falls behind
		restart(t, ctx, srv)
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		restart(t, ctx, srv)
		f.source.Hold.Unlock()
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		w.finish()
		f.check(t, ctx, r)
		assert.Greater(t, f.source.Expired.Load(), expired, "the old resourceVersion was refused with 410")
	})
}

// paged are options with lists in small pages, and without long pauses.
var paged = kinformer.Options{Requests: kinformer.Requests{PageSize: 2, Backoff: wait.Backoff{Duration: 100 * time.Millisecond}}}

// TestInformerWithPagesSurvivesARestart checks that the informer does not loop. The watch cache of a
// restarted server does not know the informer's version, so that the watch expires, while etcd serves a
// list in pages at exactly that version: list and watch could repeat until etcd discards the version,
// minutes later.
func TestInformerWithPagesSurvivesARestart(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	r := resourceOf(t, srv, "pods-protobuf")
	created(t, ctx, r, "a", "b", "c")
	f := startFollowing(t, ctx, r, follow.ListMode, paged)
	f.source.Hold.Lock() // makes the informer fall behind
	restart(t, ctx, srv)
	created(t, ctx, r, "d", "e")
	restart(t, ctx, srv)
	f.source.Hold.Unlock()
	f.check(t, ctx, r)
	assert.NotZero(t, f.source.Expired.Load())
}

// TestInformerSurvivesExpiryAnywhere uses a server without a watch cache. The version of a list expires
// before the request for its second page. Later the version of a watch expires, which the server reports
// by an event.
func TestInformerSurvivesExpiryAnywhere(t *testing.T) {
	t.Parallel()
	ctx, srv := follow.StartServer(t, apiserver.Options{DisableWatchCache: true})
	var permission follow.Gate // ends watches
	var compacted atomic.Bool
	writes, config := resourceOver(t, srv, "pods-protobuf", srv.Config()), srv.Config()
	config.Wrap(permission.Wrap)
	config.Wrap(transport.Around(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("continue") != "" && !compacted.Swap(true) {
			_, err := writes.Create(ctx, "meanwhile", "1")
			assert.NoError(t, err)
			_, err = srv.Compact(ctx)
			assert.NoError(t, err)
		}
		return next.RoundTrip(request)
	}))
	r := resourceOver(t, srv, "pods-protobuf", config)
	created(t, ctx, r, "a", "b", "c", "d", "e")
	f := startFollowing(t, ctx, r, follow.ListMode, paged)
	f.check(t, ctx, r)
	assert.EqualValues(t, 1, f.source.ExpiredPages.Load())
	assert.Zero(t, f.source.ExpiredEvents.Load())

	created(t, ctx, r, "heard") // a watch without an event would be followed by a list
	f.check(t, ctx, r)
	f.source.Hold.Lock() // makes the informer fall behind
	permission.Withdraw()
	permission.Restore()
	created(t, ctx, r, "f", "g")
	_, err := srv.Compact(ctx)
	require.NoError(t, err)
	f.source.Hold.Unlock()
	f.check(t, ctx, r)
	assert.NotZero(t, f.source.ExpiredEvents.Load())
}
