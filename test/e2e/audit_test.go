// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// audits audits f repeatedly, with each of options in turn, until stop is called. stop waits for enough
// successful audits and returns all reports with findings.
func audits(t *testing.T, ctx context.Context, f *followed, options ...audit.Options) (stop func(enough int64) (found []audit.Report)) {
	var done atomic.Int64
	var found []audit.Report
	end := testkit.InBackground(t, func(ctx context.Context) {
		for n := 0; ctx.Err() == nil; n++ {
			report, err := audit.Once(ctx, f, options[n%len(options)])
			if err == nil {
				done.Add(1)
			}
			if len(report.Found) > 0 {
				found = append(found, report)
			}
			select { // an audit of a stopped server fails at once
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return func(enough int64) []audit.Report {
		assert.NoError(t, until(ctx, func() bool { return done.Load() >= enough }))
		end()
		t.Logf("%d audits", done.Load())
		return found
	}
}

// metadataOf returns a lister of the metadata of the objects of a resource.
func metadataOf(t *testing.T, srv *apiserver.Server, r *follow.Resource) cache.ListerWithContext {
	t.Helper()
	config := srv.Config()
	config.Wrap(direct.Transport)
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(follow.CloseIdle(httpClient))
	client, err := metadata.NewForConfigAndClient(config, httpClient)
	require.NoError(t, err)
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	if r.Name == "crd-dynamic" {
		resource = follow.Widget.Resource()
	}
	return testkit.ListWatchOf(client.Resource(resource).Namespace(follow.Namespace))
}

// TestAudit checks that audits find nothing during writes, restarts and expired versions, and that they
// find and repair later corruption.
func TestAudit(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, 4, writesTo(r))
		f := startFollowing(t, ctx, r, m, kinformer.Options{})
		stop := audits(t, ctx, f, audit.Options{}, audit.Options{Content: true})
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		restart(t, ctx, srv)
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		assert.Empty(t, stop(4))
		w.finish()
		f.check(t, ctx, r)

		report, err := audit.Once(ctx, f, audit.Options{Source: metadataOf(t, srv, r)})
		require.NoError(t, err)
		assert.Empty(t, report.Findings)
		assert.True(t, report.Metadata)

		objects := f.GetStore().List()
		require.Greater(t, len(objects), 2)
		require.NoError(t, f.GetStore().Delete(objects[0]))
		altered := objects[1].(runtime.Object).DeepCopyObject()
		altered.(metav1.Object).SetLabels(map[string]string{checker.ValueLabel: "altered"})
		require.NoError(t, f.GetStore().Update(altered))
		report, err = audit.Once(ctx, f, audit.Options{Content: true, Repair: true})
		require.NoError(t, err)
		assert.Equal(t, map[audit.Kind]int{audit.Missing: 1, audit.Different: 1}, report.Confirmed, "%v", report)
		assert.True(t, report.Relisted)
		require.NoError(t, until(ctx, func() bool {
			report, err := audit.Once(ctx, f, audit.Options{Content: true})
			return err == nil && len(report.Found) == 0
		}))
		assert.Equal(t, listed(t, ctx, r), checker.ContentsOf(f.GetStore().List()))
	})
}

// TestAuditOfARestoredServer restores a backup of etcd. Informers keep objects that no longer exist, and
// receive no event. An audit finds that the cache is ahead and repairs it. The test shortens the pause of
// such an audit, a global variable, and must not be parallel.
func TestAuditOfARestoredServer(t *testing.T) {
	defer func(usual time.Duration) { beside.AheadPause = usual }(beside.AheadPause)
	beside.AheadPause = time.Second
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	config := srv.Config()
	config.Wrap(transport.Around(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			response.Header.Del("Retry-After") // client-go would retry a request at a resourceVersion unknown to the server for 43 s
		}
		return response, err
	}))
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
