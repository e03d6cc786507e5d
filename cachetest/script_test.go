// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/cachetest"
)

func TestInjectedEventsKeepTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		w := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
		relabel(src, "a", "1")
		src.Inject(watch.Event{Type: watch.Added, Object: pod("ghost")})
		relabel(src, "a", "2")
		require.Equal(t, []string{"MODIFIED a 3", "ADDED ghost ", "MODIFIED a 4"}, take(t, w, 3))

		later := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
		require.Equal(t, []string{"MODIFIED a 3", "MODIFIED a 4"}, take(t, later, 2))
		requireSilent(t, later)
		require.NotContains(t, src.Versions(), "default/ghost")
	})
}

func TestGarbageIsDeliveredAsItIs(t *testing.T) {
	src := cachetest.New(pod("a"))
	w := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
	var nobody *corev1.Pod
	garbage := append(cachetest.Garbage(src.Get("default", "a")), watch.Event{Type: watch.Added, Object: nobody})
	src.Inject(garbage...)
	for _, want := range garbage {
		require.Equal(t, want, <-w.ResultChan())
	}
}

func TestGarbageForMetadataInformers(t *testing.T) {
	require.Len(t, cachetest.Garbage(&metav1.PartialObjectMetadata{}), len(cachetest.Garbage(pod("a")))-1)
}

func TestResend(t *testing.T) {
	src := cachetest.New(pod("a"))
	relabel(src, "a", "1")
	src.Delete("default", "a")
	w := open(t, src, metav1.ListOptions{ResourceVersion: "4"})
	src.Resend(4, 2, 3)
	require.Equal(t, []string{"DELETED a 4", "ADDED a 2", "MODIFIED a 3"}, take(t, w, 3))
	require.Panics(t, func() { src.Resend(9) })
}

func TestCutComesAfterWhatWasWritten(t *testing.T) {
	src := cachetest.New(pod("a"))
	w := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
	relabel(src, "a", "1")
	src.Cut()
	relabel(src, "a", "2")
	require.Equal(t, []string{"MODIFIED a 3"}, take(t, w, 1))
	requireEnd(t, w)
	next := open(t, src, metav1.ListOptions{ResourceVersion: "3"})
	require.Equal(t, []string{"MODIFIED a 4"}, take(t, next, 1))
}

func TestBreakLosesWhatWasNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		w := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
		relabel(src, "a", "1")
		synctest.Wait()
		src.Break()
		require.Zero(t, src.Watching())
		synctest.Wait()
		requireEnd(t, w)
	})
}

func TestStallHoldsAllStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		first := src.Stall()
		second := src.Stall()
		w := open(t, src, metav1.ListOptions{})
		requireSilent(t, w)
		first()
		first()
		requireSilent(t, w)
		second()
		require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
	})
}

func TestEventDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.NewSource(cachetest.Options{Objects: pods("a", "b"), EventDelay: time.Second})
		w := open(t, src, metav1.ListOptions{})
		start := time.Now()
		take(t, w, 2)
		require.Equal(t, 2*time.Second, time.Since(start))

		src.SetEventDelay(time.Minute)
		relabel(src, "a", "1")
		take(t, w, 1)
		require.Equal(t, 62*time.Second, time.Since(start))

		relabel(src, "a", "2")
		synctest.Wait()
		w.Stop()
		requireEnd(t, w)
		require.Equal(t, 62*time.Second, time.Since(start))
	})
}

// TestLose: what is written meanwhile is in lists, and in no stream, old or new.
func TestLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"), pod("b"))
		w := open(t, src, metav1.ListOptions{ResourceVersion: "3", AllowWatchBookmarks: true})
		first, second := src.Lose(), src.Lose()
		relabel(src, "a", "lost")
		src.Delete("default", "b")
		first()
		first()
		relabel(src, "a", "lost, too")
		second()
		relabel(src, "a", "heard")
		src.Resend(5)
		src.Bookmark()
		require.Equal(t, []string{"MODIFIED a 7", "DELETED b 5", "BOOKMARK  7"}, take(t, w, 3))
		replayed := open(t, src, metav1.ListOptions{ResourceVersion: "3"})
		require.Equal(t, []string{"MODIFIED a 7"}, take(t, replayed, 1))
		requireSilent(t, replayed)
		require.Equal(t, map[string]string{"default/a": "7"}, src.Versions())
	})
}
