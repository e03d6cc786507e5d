// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/cachetest"
)

func TestErrorsAreTheOnesClientsLookFor(t *testing.T) {
	busy := cachetest.TooManyRequests(1500 * time.Millisecond)
	require.True(t, apierrors.IsTooManyRequests(busy))
	seconds, ok := apierrors.SuggestsClientDelay(busy)
	require.True(t, ok)
	require.Equal(t, 2, seconds)
	require.True(t, apierrors.IsResourceExpired(cachetest.Expired()))
	require.True(t, isTooLarge(cachetest.TooLargeResourceVersion(2, 1)))
	require.True(t, apierrors.IsInternalError(cachetest.InternalError()))
	require.True(t, utilnet.IsConnectionRefused(cachetest.ConnectionRefused()))
}

func TestErrorEventCarriesTheStatus(t *testing.T) {
	event := cachetest.ErrorEvent(cachetest.Expired())
	require.Equal(t, watch.Error, event.Type)
	require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)))
	event = cachetest.ErrorEvent(errors.New("boom"))
	require.True(t, apierrors.IsInternalError(apierrors.FromObject(event.Object)))
}

func TestFailNextTakesOneRequestEach(t *testing.T) {
	src := cachetest.New(pod("a"))
	first, third := errors.New("first"), errors.New("third")
	src.FailNext(cachetest.VerbList, first, nil, third)
	for _, want := range []error{first, nil, third, nil} {
		_, err := src.List(metav1.ListOptions{})
		require.ErrorIs(t, err, want)
	}
}

func TestFaultsBelongToTheirVerb(t *testing.T) {
	src := cachetest.New(pod("a"))
	boom := errors.New("boom")
	src.FailNext(cachetest.VerbWatchList, boom)
	open(t, src, bookmarksFrom("2"))
	_, err := src.List(metav1.ListOptions{})
	require.NoError(t, err)
	_, err = src.Watch(watchListFrom(""))
	require.ErrorIs(t, err, boom)
	open(t, src, watchListFrom(""))
}

func TestDelayedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		src.Script(cachetest.VerbList, cachetest.Fault{Delay: time.Minute})
		start := time.Now()
		_, err := src.List(metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestAnotherClockIsUsedForDelays(t *testing.T) {
	ticks := make(chan time.Time, 2)
	var asked []time.Duration
	src := cachetest.NewSource(cachetest.Options{
		Objects: pods("a"),
		After: func(d time.Duration) <-chan time.Time {
			asked = append(asked, d)
			return ticks
		},
	})
	src.Script(cachetest.VerbList, cachetest.Fault{Delay: time.Hour})
	ticks <- time.Time{}
	_, err := src.List(metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []time.Duration{time.Hour}, asked)
}

func TestHeldRequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []cachetest.Fault{{Delay: time.Hour}, {Until: make(chan struct{})}} {
			src := cachetest.New(pod("a"))
			src.Script(cachetest.VerbList, fault)
			src.Script(cachetest.VerbWatch, fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := src.ListWithContext(ctx, metav1.ListOptions{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = src.WatchWithContext(ctx, metav1.ListOptions{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
	})
}

func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		release := make(chan struct{})
		late := cachetest.Fault{Until: release, IgnoreContext: true}
		src.Script(cachetest.VerbList, late)
		src.Script(cachetest.VerbWatch, late)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()

		lists, watches := make(chan error, 1), make(chan watch.Interface, 1)
		go func() {
			_, err := src.ListWithContext(ctx, metav1.ListOptions{})
			lists <- err
		}()
		go func() {
			w, err := src.WatchWithContext(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			watches <- w
		}()
		synctest.Wait()
		require.Empty(t, lists)
		require.Empty(t, watches)
		close(release)
		require.NoError(t, <-lists)
		w := <-watches
		require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
		w.Stop()
	})
}

func TestPanicInsideList(t *testing.T) {
	src := cachetest.New()
	src.Script(cachetest.VerbList, cachetest.Fault{Panic: "boom"})
	require.PanicsWithValue(t, "boom", func() { _, _ = src.List(metav1.ListOptions{}) })
	_, err := src.List(metav1.ListOptions{})
	require.NoError(t, err)
}

func TestOutage(t *testing.T) {
	src := cachetest.New(pod("a"))
	w := open(t, src, bookmarksFrom("2"))
	end := src.Outage(cachetest.ConnectionRefused())
	requireEnd(t, w)
	for range 2 {
		_, err := src.List(metav1.ListOptions{})
		require.True(t, utilnet.IsConnectionRefused(err))
		_, err = src.Watch(metav1.ListOptions{})
		require.True(t, utilnet.IsConnectionRefused(err))
	}
	end()
	open(t, src, bookmarksFrom("2"))
	end()
	require.Equal(t, 1, src.Watching())
}

func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		w := open(t, src, bookmarksFrom("2"))
		first, second := src.Partition(), src.Partition()
		requireEnd(t, w)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := src.ListWithContext(ctx, metav1.ListOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)

		answers := make(chan error, 2)
		go func() {
			_, err := src.List(metav1.ListOptions{})
			answers <- err
		}()
		go func() {
			_, err := src.Watch(metav1.ListOptions{ResourceVersion: "2"})
			answers <- err
		}()
		first()
		first()
		synctest.Wait()
		require.Empty(t, answers)
		second()
		require.NoError(t, <-answers)
		require.NoError(t, <-answers)
		src.Break()
		require.Len(t, src.Requests(), 4)
	})
}

func TestStreamScripts(t *testing.T) {
	scripted := func(t *testing.T, script cachetest.StreamScript, options metav1.ListOptions) watch.Interface {
		src := cachetest.New(pods("a", "b")...)
		src.Script(cachetest.VerbWatch, cachetest.Fault{Stream: script})
		src.Script(cachetest.VerbWatchList, cachetest.Fault{Stream: script})
		return open(t, src, options)
	}
	t.Run("cut at once", func(t *testing.T) {
		requireEnd(t, scripted(t, cachetest.StreamScript{Cut: true}, metav1.ListOptions{}))
	})
	t.Run("cut after one", func(t *testing.T) {
		w := scripted(t, cachetest.StreamScript{Cut: true, CutAfter: 1}, metav1.ListOptions{})
		require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
		requireEnd(t, w)
	})
	t.Run("first", func(t *testing.T) {
		first := []watch.Event{cachetest.ErrorEvent(cachetest.InternalError()), {Type: watch.Added, Object: pod("x")}}
		w := scripted(t, cachetest.StreamScript{First: first}, metav1.ListOptions{})
		require.Equal(t, []string{"ERROR InternalError", "ADDED x ", "ADDED a 2"}, take(t, w, 3))
	})
	t.Run("no end of the initial events", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := scripted(t, cachetest.StreamScript{OmitInitialEventsEnd: true}, watchListFrom(""))
			require.Equal(t, []string{"ADDED a 2", "ADDED b 3"}, take(t, w, 2))
			requireSilent(t, w)
		})
	})
	t.Run("stall after one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stall := make(chan struct{})
			w := scripted(t, cachetest.StreamScript{Stall: stall, StallAfter: 1}, metav1.ListOptions{})
			require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
			requireSilent(t, w)
			close(stall)
			require.Equal(t, []string{"ADDED b 3"}, take(t, w, 1))
		})
	})
	t.Run("stop during a stall", func(t *testing.T) {
		w := scripted(t, cachetest.StreamScript{Stall: make(chan struct{})}, metav1.ListOptions{})
		w.Stop()
		requireEnd(t, w)
	})
}

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
