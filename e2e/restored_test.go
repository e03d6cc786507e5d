// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
)

// TestAuditOfARestoredServer restores a backup of etcd. Informers keep objects that no longer exist, and
// receive no event. An audit finds that the cache is ahead and repairs it. The test shortens the pause of
// such an audit, a global variable, and must not be parallel.
func TestAuditOfARestoredServer(t *testing.T) {
	defer func(usual time.Duration) { beside.AheadPause = usual }(beside.AheadPause)
	beside.AheadPause = time.Second
	ctx := patientContext(t)
	srv := startServer(t, ctx, apiserver.Options{})
	config := srv.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return hooked{next, func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil {
				response.Header.Del("Retry-After") // client-go would retry a request at a resourceVersion unknown to the server for 43 s
			}
			return response, err
		}}
	})
	r := resourceOver(t, srv, "pods-protobuf", config)
	created(t, ctx, r, "old")
	etcd, backup := filepath.Join(srv.DataDir(), "etcd"), filepath.Join(t.TempDir(), "backup")
	restart(t, ctx, srv, func() { require.NoError(t, os.CopyFS(backup, os.DirFS(etcd))) })

	followers := map[follow.Mode]*followed{}
	for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
		followers[m] = startFollowing(t, ctx, r, m, kinformer.Options{})
	}
	for i := range 200 { // more than a server itself writes until the audit
		created(t, ctx, r, fmt.Sprintf("new-%d", i))
	}
	for _, f := range followers {
		f.check(t, ctx, r)
	}
	restart(t, ctx, srv, func() {
		require.NoError(t, os.RemoveAll(etcd))
		require.NoError(t, os.CopyFS(etcd, os.DirFS(backup)))
	})
	want := listed(t, ctx, r)
	require.Len(t, want, 1)
	for m, f := range followers {
		repairedFromBackup(t, ctx, m, f)
		assert.Equal(t, want, checker.ContentsOf(f.GetStore().List()))
	}
	created(t, ctx, r, "after")
	want = listed(t, ctx, r)
	for _, f := range followers {
		assert.NoError(t, until(ctx, func() bool { return len(f.GetStore().List()) == len(want) }))
		assert.Equal(t, want, checker.ContentsOf(f.GetStore().List()))
	}
}

// repairedFromBackup checks that an audit finds f ahead and repairs it.
func repairedFromBackup(t *testing.T, ctx context.Context, m follow.Mode, f *followed) {
	t.Helper()
	require.NoError(t, until(ctx, func() bool {
		status, err := inspect.StatusOf(f)
		return err == nil && status.Phase == inspect.PhaseWatching && len(status.Problems) == 0
	}))
	assert.Len(t, f.GetStore().List(), 201, "%s: its watch is open, and nothing is told", m)
	report, err := audit.Once(ctx, f, audit.Options{Content: true, Repair: true})
	require.NoError(t, err)
	assert.Equal(t, map[audit.Kind]int{audit.Ahead: 1}, report.Confirmed, "%v", report)
	assert.True(t, report.Repaired, "%v", report)
	t.Logf("%s: %v, in %v", m, report, report.Took)
	report, err = audit.Once(ctx, f, audit.Options{Content: true})
	require.NoError(t, err)
	assert.True(t, report.Equal(), "%v", report)
}
