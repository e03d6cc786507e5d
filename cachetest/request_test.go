// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/cachetest"
)

func TestRequestsAreRecordedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		src.FailNext(cachetest.VerbWatch, cachetest.Expired())
		start, seconds := time.Now(), int64(300)
		_, err := src.List(metav1.ListOptions{Limit: 2, ResourceVersion: "0", LabelSelector: "a=b", FieldSelector: "metadata.name=d"})
		require.NoError(t, err)
		<-time.After(time.Second)
		_, err = src.Watch(metav1.ListOptions{ResourceVersion: "2", TimeoutSeconds: &seconds})
		require.Error(t, err)
		open(t, src, watchListFrom(""))

		require.Equal(t, []string{
			`list rv="0" limit=2 labels="a=b" fields="metadata.name=d"`,
			`watch rv="2"`,
			`watch-list rv="" match=NotOlderThan bookmarks`,
		}, requests(src))
		all := src.Requests()
		require.Equal(t, start, all[0].At)
		require.Equal(t, start.Add(time.Second), all[1].At)
		require.EqualValues(t, 300, *all[1].Options.TimeoutSeconds)
	})
}

func TestWaitRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		done := make(chan []cachetest.Request, 1)
		go func() {
			all, err := src.WaitRequests(t.Context(), 2)
			require.NoError(t, err)
			done <- all
		}()
		for range 2 {
			synctest.Wait()
			require.Empty(t, done)
			_, err := src.List(metav1.ListOptions{})
			require.NoError(t, err)
		}
		require.Len(t, <-done, 2)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := src.WaitRequests(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `waited for 3 requests, got 2 (list rv="", list rv="")`)
	})
}

func TestWaitWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, src.WaitWatching(ctx, 1), "waited for 1 open watches, got 0")
		w := open(t, src, metav1.ListOptions{})
		require.NoError(t, src.WaitWatching(t.Context(), 1))
		require.ErrorIs(t, src.WaitNotWatching(ctx), context.DeadlineExceeded)
		go w.Stop()
		require.NoError(t, src.WaitNotWatching(t.Context()))
	})
}
