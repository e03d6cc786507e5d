// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/kinformer"
)

// hooked is a user's RoundTripper that calls before for each request.
type hooked struct {
	next   http.RoundTripper
	before func(*http.Request)
}

// WrappedRoundTripper gives utilnet.CloseIdleConnectionsFor access to the connections.
func (h hooked) WrappedRoundTripper() http.RoundTripper { return h.next }

// RoundTrip implements http.RoundTripper.
func (h hooked) RoundTrip(request *http.Request) (*http.Response, error) {
	h.before(request)
	return h.next.RoundTrip(request)
}

// TestInformerSurvivesExpiryAnywhere uses a server without a watch cache. The version of a list expires
// before the request for its second page. Later the version of a watch expires, which the server reports
// by an event.
func TestInformerSurvivesExpiryAnywhere(t *testing.T) {
	t.Parallel()
	ctx := patientContext(t)
	srv, err := apiserver.StartChild(ctx, apiserver.Options{DisableWatchCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	writer, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)

	var permission follow.Gate // ends watches
	var compacted atomic.Bool
	writes, err := follow.Pods(follow.Clients{Read: srv.Config(), Write: writer})
	require.NoError(t, err)
	t.Cleanup(writes.Close)
	config := srv.Config()
	config.Wrap(permission.Wrap)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return hooked{next, func(request *http.Request) {
			if request.URL.Query().Get("continue") != "" && !compacted.Swap(true) {
				_, err := writes.Create(ctx, "meanwhile", "1")
				assert.NoError(t, err)
				_, err = srv.Compact(ctx)
				assert.NoError(t, err)
			}
		}}
	})
	r, err := follow.Pods(follow.Clients{Read: config, Write: writer})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		created(t, ctx, r, name)
	}
	f := newFollowed(r, follow.ListMode, kinformer.Options{Requests: kinformer.Requests{PageSize: 2, Backoff: wait.Backoff{Duration: 100 * time.Millisecond}}})
	require.True(t, cache.WaitFor(ctx, "initial list", f.start(t, ctx).HasSyncedChecker()))
	f.check(t, ctx, r)
	assert.EqualValues(t, 1, f.source.ExpiredPages.Load())
	assert.Zero(t, f.source.ExpiredEvents.Load())

	created(t, ctx, r, "heard") // a watch without an event would be followed by a list
	f.check(t, ctx, r)
	f.source.Hold.Lock() // makes the informer fall behind
	permission.Withdraw()
	permission.Restore()
	for _, name := range []string{"f", "g"} {
		created(t, ctx, r, name)
	}
	_, err = srv.Compact(ctx)
	require.NoError(t, err)
	f.source.Hold.Unlock()
	f.check(t, ctx, r)
	assert.NotZero(t, f.source.ExpiredEvents.Load())
}
