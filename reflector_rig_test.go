// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/rig"
)

// TestRig: what is set through the rig governs the engine.
func TestRig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delays, asked int
		var handler handled
		store := &storeLog{}
		server := &fakeServer{noStream: true, list: listOf(podList("12")), watch: watches(errRefused, errForbidden)}
		r := rig.NewReflector(rig.Settings{
			ListerWatcher: server, ExpectedType: &v1.Pod{}, Store: store, Options: ReflectorOptions{ResyncPeriod: time.Second},
			WatchListPageSize: 3, ShouldResync: func() bool { asked++; return false }, MaxInternalErrorRetryDuration: time.Minute,
			Delay: func() time.Duration { delays++; return 0 }, ResourceVersion: "11", WatchErrorHandler: handler.handle,
		})
		assert.False(t, r.UsesWatchList())

		require.ErrorIs(t, r.ListAndWatch(t.Context()), errForbidden)
		assert.Equal(t, []string{"list rv=11 limit=3", "watch rv=12", "watch rv=12"}, server.asked())
		assert.Equal(t, 1, delays)
		assert.Equal(t, "12", r.LastSyncResourceVersion())

		internal := sent(failedWith(errInternal))
		server.watch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return watches(nil, nil, internal, internal)(n, ctx, o)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		r.Run(ctx)
		assert.Equal(t, 10, asked)
		assert.Empty(t, handler.errors(), "listAndWatch does not call the handler")
		assert.Equal(t, []string{"replace 12:", "replace 12:"}, store.entries(), "internal errors were retried")
	})
}
