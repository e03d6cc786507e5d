// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
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
)

// audits audits without end, by all that is in options in turn, until stop is called, which returns
// how many audits there were, of those that could be made, and what they found.
func audits(ctx context.Context, f *followed, options ...audit.Options) (stop func() (done int, found []audit.Report)) {
	ctx, cancel := context.WithCancel(ctx)
	done, found, ended := 0, []audit.Report(nil), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			report, err := audit.Once(ctx, f, options[n%len(options)])
			if err == nil {
				done++
			}
			if len(report.Found) > 0 {
				found = append(found, report)
			}
			select { // an audit of a server that is down fails at once
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	return func() (int, []audit.Report) { cancel(); <-ended; return done, found }
}

// metadataOf lists the metadata of the objects of a resource.
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
		resource = schema.GroupVersionResource{Group: follow.Widget.Group, Version: follow.Widget.Version, Resource: "widgets"}
	}
	return &cache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(resource).Namespace(follow.Namespace).List(ctx, o)
	}}
}

// TestAudit: while writers write, the server is killed and restarted and forgets versions, audits
// find nothing; what is then wrong is found, and repaired.
func TestAudit(t *testing.T) {
	everyWay(t, func(t *testing.T, ctx context.Context, srv *apiserver.Server, r *follow.Resource, m follow.Mode) {
		w := startWriters(ctx, r, 4)
		f := startFollowing(t, ctx, r, m)
		stop := audits(ctx, f, audit.Options{}, audit.Options{Depth: audit.Content})
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		_, err := srv.Compact(ctx)
		require.NoError(t, err)
		require.NoError(t, srv.Kill())
		require.NoError(t, srv.Restart(ctx))
		require.NoError(t, w.awaitWrites(ctx, someWrites/2))
		done, found := stop()
		assert.Empty(t, found)
		assert.Greater(t, done, 3)
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
		altered.(metav1.Object).SetLabels(map[string]string{follow.ValueLabel: "altered"})
		require.NoError(t, f.GetStore().Update(altered))
		report, err = audit.Once(ctx, f, audit.Options{Depth: audit.Content, Repair: audit.Relist})
		require.NoError(t, err)
		assert.Equal(t, map[audit.Kind]int{audit.Missing: 1, audit.Different: 1}, report.Confirmed, "%v", report)
		assert.True(t, report.Relisted)
		require.NoError(t, until(ctx, func() bool {
			report, err := audit.Once(ctx, f, audit.Options{Depth: audit.Content})
			return err == nil && len(report.Found) == 0
		}))
		assert.Equal(t, listed(t, ctx, r), follow.ContentsOf(f.GetStore().List()))
		t.Logf("%d audits", done)
	})
}
