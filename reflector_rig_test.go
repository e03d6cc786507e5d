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
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/rig"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRig: what is set through the rig governs the engine.
func TestRig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delays, asked int
		var handler testkit.Handled
		store := &testkit.StoreLog{}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("12")), OnWatch: testkit.Watches(testkit.ErrRefused, testkit.ErrForbidden)}
		r := rig.NewReflector(rig.Settings{
			ListerWatcher: server, ExpectedType: &v1.Pod{}, Store: store, Options: ReflectorOptions{ResyncPeriod: time.Second},
			WatchListPageSize: 3, ShouldResync: func() bool { asked++; return false }, MaxInternalErrorRetryDuration: time.Minute,
			Delay: func() time.Duration { delays++; return 0 }, ResourceVersion: "11", WatchErrorHandler: handler.Handle,
		})
		assert.False(t, r.UsesWatchList())

		require.ErrorIs(t, r.ListAndWatch(t.Context()), testkit.ErrForbidden)
		assert.Equal(t, []string{"list rv=11 limit=3", "watch rv=12", "watch rv=12"}, server.Asked())
		assert.Equal(t, 1, delays)
		assert.Equal(t, "12", r.LastSyncResourceVersion())

		internal := testkit.Sent(testkit.FailedWith(testkit.ErrInternal))
		server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return testkit.Watches(nil, nil, internal, internal)(n, ctx, o)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		r.Run(ctx)
		assert.Equal(t, 10, asked)
		assert.Empty(t, handler.Errors(), "listAndWatch does not call the handler")
		assert.Equal(t, []string{"replace 12:", "replace 12:"}, store.Entries(), "internal errors were retried")
	})
}
