// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
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
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
)

// audits audits f repeatedly, with each of options in turn, until stop is called. stop waits for enough
// successful audits and returns all reports with findings.
func audits(ctx context.Context, f *followed, options ...audit.Options) (stop func(t *testing.T, enough int64) (found []audit.Report)) {
	auditing, cancel := context.WithCancel(ctx)
	var done atomic.Int64
	var found []audit.Report
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; auditing.Err() == nil; n++ {
			report, err := audit.Once(auditing, f, options[n%len(options)])
			if err == nil {
				done.Add(1)
			}
			if len(report.Found) > 0 {
				found = append(found, report)
			}
			select { // an audit of a stopped server fails at once
			case <-time.After(50 * time.Millisecond):
			case <-auditing.Done():
			}
		}
	}()
	return func(t *testing.T, enough int64) []audit.Report {
		assert.NoError(t, until(ctx, func() bool { return done.Load() >= enough }))
		cancel()
		<-ended
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
	return follow.ListWatchOf(client.Resource(resource).Namespace(follow.Namespace))
}

// TestAudit checks that audits find nothing during writes, restarts and expired versions, and that they
// find and repair later corruption.
func TestAudit(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, 4, writesTo(r))
		f := startFollowing(t, ctx, r, m, kinformer.Options{})
		stop := audits(ctx, f, audit.Options{}, audit.Options{Content: true})
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		restart(t, ctx, srv)
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		assert.Empty(t, stop(t, 4))
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
