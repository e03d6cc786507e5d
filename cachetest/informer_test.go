// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
)

// modes are the ways in which client-go's informers can get their state, and
// the requests that they make for it.
var modes = []struct {
	name  string
	mode  cachetest.WatchListMode
	start []string
}{
	{"list", cachetest.WatchListUnsupported, []string{`list rv="0" limit=500`, `watch rv="3" bookmarks`}},
	{"watch-list", cachetest.WatchListServed, []string{`watch-list rv="" match=NotOlderThan bookmarks`}},
	{"watch-list refused", cachetest.WatchListRefused, []string{
		`watch-list rv="" match=NotOlderThan bookmarks`, `list rv="0" limit=500`, `watch rv="3" bookmarks`}},
}

func TestInformerSeesEverything(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode, NewList: podList, Objects: pods("a", "b")})
				var recorder cachetest.Recorder
				informer := startPods(t, src, &recorder)
				settle(t, src)
				require.True(t, informer.HasSynced())
				require.ElementsMatch(t, []string{"add default/a 2 initial", "add default/b 3 initial"}, recorder.Take())
				require.Equal(t, mode.start, requests(src))

				relabel(src, "a", "1")
				src.Create(pod("c"))
				src.Delete("default", "b")
				settle(t, src)
				require.Equal(t, []string{"update default/a 2 -> 4", "add default/c 5", "delete default/b 6"}, recorder.Take())
				require.Len(t, src.Requests(), len(mode.start))
			})
		})
	}
}

func TestInformerOnAnEmptySource(t *testing.T) {
	for _, opts := range map[string]cachetest.Options{
		"zero options":  {},
		"example known": {Example: &corev1.Pod{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(opts)
			var recorder cachetest.Recorder
			informer := startPods(t, src, &recorder)
			synctest.Wait()
			require.True(t, informer.HasSynced())
			src.Create(pod("a"))
			settle(t, src)
			require.Equal(t, []string{"add default/a 2"}, recorder.Events())
		})
	}
}

func TestInformerOfUnstructuredObjects(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			widget := &unstructured.Unstructured{}
			widget.SetAPIVersion("example.com/v1")
			widget.SetKind("Widget")
			widget.SetName("w")
			src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode})
			src.Create(widget)
			src.Tick()

			var recorder cachetest.Recorder
			informer := clientgo.NewSharedIndexInformer(src, widget.DeepCopy(), 0, clientgo.Indexers{})
			_, err := informer.AddEventHandler(src.Track(&recorder))
			require.NoError(t, err)
			run(t, informer.RunWithContext)
			settle(t, src)
			src.Tick()
			src.Bookmark()
			synctest.Wait()
			require.Equal(t, "4", informer.LastSyncResourceVersion())
			require.Equal(t, []string{"add w 2 initial"}, recorder.Events())
		})
	}
}

func TestInformerPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.NewSource(cachetest.Options{NewList: podList, Objects: pods("a", "b", "c", "d", "e"), NoWatchCache: true})
		store := clientgo.NewStore(clientgo.MetaNamespaceKeyFunc)
		reflector := clientgo.NewReflector(listOnly{src}, &corev1.Pod{}, store, 0)
		reflector.WatchListPageSize = 2
		run(t, reflector.RunWithContext)
		require.NoError(t, src.WaitWatching(t.Context(), 1))
		require.Len(t, store.List(), 5)
		require.Equal(t, []string{
			`list rv="0" limit=2`, `list rv="" limit=2 continue`, `list rv="" limit=2 continue`, `watch rv="6" bookmarks`,
		}, requests(src))
	})
}

// listOnly is a source on which client-go does not use watch-list.
type listOnly struct{ *cachetest.Source }

func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func TestInformerStartsAWatchAgainAfterACut(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode, Objects: pods("a", "b")})
			var recorder cachetest.Recorder
			startPods(t, src, &recorder)
			settle(t, src)
			recorder.Take()

			relabel(src, "a", "1")
			src.Cut()
			relabel(src, "a", "2")
			settle(t, src)
			require.Equal(t, []string{"update default/a 2 -> 4", "update default/a 4 -> 5"}, recorder.Take())
			require.Equal(t, append(mode.start, `watch rv="4" bookmarks`), requests(src))
		})
	}
}

func TestInformerRelistsAfterCompaction(t *testing.T) {
	for _, failAtStart := range []bool{false, true} {
		for _, mode := range modes {
			synctest.Test(t, func(t *testing.T) {
				src := cachetest.NewSource(cachetest.Options{
					WatchList: mode.mode, Objects: pods("a", "b"), FailAtStart: failAtStart})
				var recorder cachetest.Recorder
				startPods(t, src, &recorder)
				settle(t, src)
				recorder.Take()
				<-time.After(time.Minute) // else the watch is "very short"

				heal := src.Partition()
				relabel(src, "a", "1")
				src.Delete("default", "b")
				src.Compact(src.ResourceVersion())
				heal()
				settle(t, src)
				require.Equal(t, []string{"delete default/b 3 unknown", "update default/a 2 -> 4"}, recorder.Take())
				require.Equal(t, `watch rv="3" bookmarks`, requests(src)[len(mode.start)])
			})
		}
	}
}

func TestInformerBearsAnErrorEventMidStream(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode, Objects: pods("a", "b")})
			var recorder cachetest.Recorder
			startPods(t, src, &recorder)
			settle(t, src)
			recorder.Take()
			src.Inject(cachetest.ErrorEvent(cachetest.Expired()))
			src.Cut()
			relabel(src, "b", "1")
			settle(t, src)
			require.Contains(t, recorder.Take(), "update default/b 3 -> 4")
		})
	}
}

func TestInformerWaitsAfter429(t *testing.T) {
	for verb, mode := range map[cachetest.Verb]cachetest.WatchListMode{
		cachetest.VerbWatch:     cachetest.WatchListUnsupported,
		cachetest.VerbWatchList: cachetest.WatchListServed,
	} {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(cachetest.Options{WatchList: mode, Objects: pods("a", "b")})
			busy := cachetest.TooManyRequests(2 * time.Second)
			src.FailNext(verb, busy, busy)
			var recorder cachetest.Recorder
			startPods(t, src, &recorder)
			require.NoError(t, src.WaitWatching(t.Context(), 1))
			relabel(src, "a", "1")
			settle(t, src)

			var tries []cachetest.Request
			for _, r := range src.Requests() {
				if r.Verb == verb {
					tries = append(tries, r)
				}
			}
			require.Len(t, tries, 3)
			require.GreaterOrEqual(t, tries[2].At.Sub(tries[0].At), time.Second)
		})
	}
}

func TestInformerBearsAnOutage(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode, Objects: pods("a", "b")})
			var recorder cachetest.Recorder
			startPods(t, src, &recorder)
			settle(t, src)

			end := src.Outage(cachetest.ConnectionRefused())
			relabel(src, "a", "1")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := src.Settle(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, `handler 1 [default/a: has "2", not "4"]`)
			end()
			settle(t, src)
		})
	}
}

func TestInformerBearsGarbageAndDuplicates(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.NewSource(cachetest.Options{WatchList: mode.mode, Objects: pods("a", "b")})
			var recorder cachetest.Recorder
			informer := startPods(t, src, &recorder)
			settle(t, src)
			recorder.Take()

			src.Inject(cachetest.Garbage(src.Get("default", "a"))...)
			relabel(src, "a", "1")
			src.Resend(4, 2, 4)
			settle(t, src)
			stored, _, err := informer.GetStore().GetByKey("default/a")
			require.NoError(t, err)
			require.Equal(t, src.Get("default", "a"), stored)
			require.Equal(t, []string{
				"update default/a 2 -> 4",
				"update default/a 4 -> 4",
				"update default/a 4 -> 2", // client-go believes whatever comes
				"update default/a 2 -> 4",
			}, recorder.Take())
			require.Len(t, src.Requests(), len(mode.start))
		})
	}
}

func TestInformerGoesOnWithoutTheEndOfItsInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pods("a")...)
		src.Script(cachetest.VerbWatchList, cachetest.Fault{Stream: cachetest.StreamScript{
			OmitInitialEventsEnd: true, Cut: true, CutAfter: 1}})
		var recorder cachetest.Recorder
		startPods(t, src, &recorder)
		settle(t, src)
		require.Equal(t, []string{"add default/a 2 initial"}, recorder.Events())
		require.Len(t, src.Requests(), 2)
	})
}

func TestInformerIsSlowedByItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.NewSource(cachetest.Options{Objects: pods("a"), EventDelay: time.Second})
		start := time.Now()
		var recorder cachetest.Recorder
		informer := startPods(t, src, &recorder)
		require.True(t, clientgo.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
		require.GreaterOrEqual(t, time.Since(start), 2*time.Second)
	})
}

func TestInformerReportsAListThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.NewSource(cachetest.Options{WatchList: cachetest.WatchListUnsupported, Objects: pods("a")})
		src.FailNext(cachetest.VerbList, cachetest.InternalError())
		errs := make(chan error, 1)
		informer := clientgo.NewSharedIndexInformer(src, &corev1.Pod{}, 0, clientgo.Indexers{})
		require.NoError(t, informer.SetWatchErrorHandler(func(_ *clientgo.Reflector, err error) { errs <- err }))
		run(t, informer.RunWithContext)
		require.True(t, apierrors.IsInternalError(<-errs))
		require.True(t, clientgo.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	})
}
