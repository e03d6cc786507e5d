// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
)

// userResource makes the resource of that kind, read as the user who is subject to request limits,
// through throttle.
func userResource(t *testing.T, srv *apiserver.Server, kind string, throttle *follow.Gate) *follow.Resource {
	t.Helper()
	writer, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)
	read := srv.UserConfig()
	read.Wrap(throttle.Wrap)
	r, err := follow.Kinds()[kind](follow.Clients{Read: read, Write: writer})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// TestInformerSurvivesABusyServer: a server serves one request at a time and somebody else's is
// always in flight. That it refuses a LIST gets to the informer when the client has repeated it ten
// times; the informer goes on, and ends equal.
func TestInformerSurvivesABusyServer(t *testing.T) {
	t.Parallel()
	ctx := patientContext(t)
	srv, err := apiserver.StartChild(ctx, apiserver.Options{MaxRequestsInFlight: 1})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	throttle := &follow.Gate{}
	r := userResource(t, srv, "pods-protobuf", throttle)
	w := startWriters(ctx, r, 4)
	require.NoError(t, w.awaitWrites(ctx, someWrites/4))
	leave, err := follow.Occupy(ctx, srv.UserConfig())
	require.NoError(t, err)

	f := newFollowed(r, follow.ListMode)
	registration := f.start(t, ctx)
	require.NoError(t, until(ctx, func() bool {
		if registration.HasSynced() { // it came between two requests of the others, which is rare
			f.stop()
			f = newFollowed(r, follow.ListMode)
			registration = f.start(t, ctx)
		}
		status, err := cache.StatusOf(f.GetController())
		require.NoError(t, err)
		return f.source.Throttled.Load() > 0 && len(status.Degraded) > 0 // it hears of the refusal a little after its source
	}))
	t.Logf("%d answers of 429, %d of them to the informer", throttle.Server.Load(), f.source.Throttled.Load())
	leave()
	require.True(t, cache.WaitFor(ctx, "initial list", registration.HasSyncedChecker()))
	w.finish()
	f.check(t, ctx, r)
	assert.Greater(t, throttle.Server.Load(), f.source.Throttled.Load())
}

// refusals has the first request of each kind refused, and keeps when each came.
type refusals struct {
	after int // seconds

	mu   sync.Mutex
	came map[string][]time.Time
}

func (s *refusals) refuse(r *http.Request) (seconds int) {
	query := r.URL.Query()
	kind := "list"
	switch {
	case query.Get("sendInitialEvents") == "true":
		kind = "stream"
	case query.Get("watch") != "":
		kind = "watch"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came[kind] = append(s.came[kind], time.Now())
	if len(s.came[kind]) == 1 {
		return s.after
	}
	return 0
}

// check waits for the second request of that kind, and fails if it came too early.
func (s *refusals) check(t *testing.T, ctx context.Context, kind string) {
	t.Helper()
	var came []time.Time
	require.NoError(t, until(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		came = s.came[kind]
		return len(came) >= 2
	}), kind)
	assert.GreaterOrEqual(t, came[1].Sub(came[0]), time.Duration(s.after)*time.Second, kind)
}

// TestInformersHonorRetryAfter: whichever request is refused with 429, the next one comes after
// the time that the server asks for, which is more than the first backoff, and the informer ends
// equal.
func TestInformersHonorRetryAfter(t *testing.T) {
	t.Parallel()
	const after = 2
	ctx := patientContext(t)
	srv := startServer(t, ctx)
	type refused struct {
		*followed
		refusals
		resource *follow.Resource
		first    string // kind of the first request
	}
	var all []*refused
	for kind := range follow.Kinds() {
		created(t, ctx, resourceOf(t, srv, kind), "retry-after")
		for mode, first := range map[follow.Mode]string{follow.ListMode: "list", follow.WatchListMode: "stream"} {
			f := &refused{first: first, refusals: refusals{after: after, came: map[string][]time.Time{}}}
			f.resource = userResource(t, srv, kind, &follow.Gate{Refuse: f.refuse})
			f.followed = newFollowed(f.resource, mode)
			f.source.WatchSeconds = func() int64 { return 2 } // so that a stream is followed by a watch soon
			f.start(t, ctx)
			all = append(all, f)
		}
	}
	for _, f := range all {
		f.refusals.check(t, ctx, f.first)
		f.refusals.check(t, ctx, "watch")
		f.followed.check(t, ctx, f.resource)
		assert.GreaterOrEqual(t, f.source.Throttled.Load(), int64(2), "no refusal was hidden from the informer")
	}
}
