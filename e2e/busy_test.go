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

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/kinformer"
)

// refusals refuses the first request of each kind and records the times of requests.
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

// check waits for the second request of the kind, and reports an error if it arrived too early.
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

// TestInformersHonorRetryAfter checks that after a refusal with 429 the next request waits for the time
// given by the server, which exceeds the first backoff, and that the informer catches up.
func TestInformersHonorRetryAfter(t *testing.T) {
	t.Parallel()
	const after = 2
	ctx := patientContext(t)
	srv := startServer(t, ctx, apiserver.Options{})
	type refused struct {
		*followed
		refusals
		resource *follow.Resource
		first    string // the kind of the first request
	}
	var all []*refused
	for kind := range follow.Kinds() {
		created(t, ctx, resourceOf(t, srv, kind), "retry-after")
		for mode, first := range map[follow.Mode]string{follow.ListMode: "list", follow.WatchListMode: "stream"} {
			f := &refused{first: first, refusals: refusals{after: after, came: map[string][]time.Time{}}}
			read := srv.Config()
			read.Wrap((&follow.Gate{Refuse: f.refuse}).Wrap)
			f.resource = resourceOver(t, srv, kind, read)
			f.followed = newFollowed(f.resource, mode, kinformer.Options{})
			f.source.WatchSeconds = func() int64 { return 2 } // a watch soon follows the watch-list
			f.start(t)
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
