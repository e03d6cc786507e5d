// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
)

// modes are the ways in which client-go's informers can get their state, and the requests that they
// make for it.
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

// started runs an informer of a source with a and b, and returns when the handler has received both.
func started(t *testing.T, mode cachetest.WatchListMode) (*cachetest.Source, clientgo.SharedIndexInformer, *cachetest.Recorder) {
	t.Helper()
	src := cachetest.New(cachetest.Options{WatchList: mode, NewList: podList, Objects: pods("a", "b")})
	recorder := &cachetest.Recorder{}
	informer := startPods(t, src, recorder)
	settle(t, src)
	require.True(t, informer.HasSynced())
	require.ElementsMatch(t, []string{"add default/a 2 initial", "add default/b 3 initial"}, recorder.Take())
	return src, informer, recorder
}

// TestInformerFollows: an informer receives the changes of a source, with the fewest possible requests.
func TestInformerFollows(t *testing.T) {
	for name, c := range map[string]struct {
		do           func(src *cachetest.Source)
		heard, asked []string
	}{
		"writes": {func(src *cachetest.Source) {
			relabel(src, "a", "1")
			src.Create(pod("c"))
			src.Delete("default", "b")
		}, []string{"update default/a 2 -> 4", "add default/c 5", "delete default/b 6"}, nil},
		"a cut": {func(src *cachetest.Source) {
			relabel(src, "a", "1")
			src.Cut()
			relabel(src, "a", "2")
		}, []string{"update default/a 2 -> 4", "update default/a 4 -> 5"}, []string{`watch rv="4" bookmarks`}},
		"garbage and duplicates": {func(src *cachetest.Source) {
			src.Inject(cachetest.Garbage(src.Get("default", "a"))...)
			relabel(src, "a", "1")
			src.Resend(4, 2, 4)
		}, []string{
			"update default/a 2 -> 4",
			"update default/a 4 -> 4",
			"update default/a 4 -> 2", // client-go accepts any order
			"update default/a 2 -> 4",
		}, nil},
	} {
		for _, mode := range modes {
			t.Run(name+" "+mode.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src, informer, recorder := started(t, mode.mode)
					require.Equal(t, mode.start, requests(src))
					c.do(src)
					settle(t, src)
					require.Equal(t, c.heard, recorder.Take())
					require.Equal(t, append(slices.Clone(mode.start), c.asked...), requests(src))
					stored, _, err := informer.GetStore().GetByKey("default/a")
					require.NoError(t, err)
					require.Equal(t, src.Get("default", "a"), stored)
				})
			})
		}
	}
}

func TestInformerBearsAnOutage(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			src, _, _ := started(t, mode.mode)
			end := src.Outage(cachetest.ConnectionRefused())
			relabel(src, "a", "1")
			require.Contains(t, unsettled(t, src), `handler 1 [default/a: has "2", not "4"]`)
			end()
			settle(t, src)
		})
	}
}

func TestInformerOnAnEmptySource(t *testing.T) {
	for _, opts := range map[string]cachetest.Options{
		"zero options":  {},
		"example known": {Example: &corev1.Pod{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.New(opts)
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
			src := cachetest.New(cachetest.Options{WatchList: mode.mode})
			src.Create(widget())
			src.Tick()

			var recorder cachetest.Recorder
			informer := clientgo.NewSharedIndexInformer(src, widget(), 0, clientgo.Indexers{})
			_, err := informer.AddEventHandler(src.Track(&recorder))
			require.NoError(t, err)
			run(t, informer)
			settle(t, src)
			src.Tick()
			src.Bookmark()
			synctest.Wait()
			require.Equal(t, "4", informer.LastSyncResourceVersion())
			require.Equal(t, []string{"add w 2 initial"}, recorder.Events())
		})
	}
}

// unsettled returns Settle's error after all goroutines are idle. In a bubble only.
func unsettled(t *testing.T, src *cachetest.Source) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := src.Settle(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return err.Error()
}

func TestSettleNamesWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pods("a", "b")...)
		fast, slow := src.Track(nil).Named("fast"), src.Track(nil)
		for _, name := range []string{"a", "b"} {
			fast.OnAdd(src.Get("default", name), true)
		}
		require.Equal(t, `cachetest: not settled: handler 2 [default/a: was not told of "2", `+
			`default/b: was not told of "3"]: context deadline exceeded`, unsettled(t, src))

		slow.OnAdd(src.Get("default", "a"), true)
		relabel(src, "a", "1")
		src.Delete("default", "b")
		require.Equal(t, `cachetest: not settled: `+
			`fast [default/a: has "2", not "4", default/b: was not told of the deletion, has "3"], `+
			`handler 2 [default/a: has "2", not "4"]: context deadline exceeded`, unsettled(t, src))

		fast.OnUpdate(nil, src.Get("default", "a"))
		fast.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/b"})
		slow.OnUpdate(nil, src.Get("default", "a"))
		require.NoError(t, src.Settle(t.Context()))
	})
}

func TestSettleErrorIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pods(strings.Split("abcdefghij", "")...)...)
		require.ErrorContains(t, src.Settle(t.Context()), "no handler is tracked")
		for range 9 {
			src.Track(nil)
		}
		text := unsettled(t, src)
		require.Equal(t, 5, strings.Count(text, "handler"))
		require.Equal(t, 5, strings.Count(text, "and 5 more"))
		require.Contains(t, text, "and 4 more")
	})
}

// TestSettleWaitsForTheLastHandler: Settle waits for each handler until it is forgotten.
func TestSettleWaitsForTheLastHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of()
		first, second, goes := src.Track(nil), src.Track(nil), src.Track(nil)
		stored := src.Create(pod("a"))
		settled := make(chan error, 1)
		go func() { settled <- src.Settle(t.Context()) }()
		for _, do := range []func(){func() { first.OnAdd(stored, false) }, func() { second.OnAdd(stored, false) }, goes.Forget} {
			synctest.Wait()
			require.Empty(t, settled)
			do()
		}
		require.NoError(t, <-settled)
		goes.Forget()
		goes.OnAdd(stored, true)
		require.NoError(t, src.Settle(t.Context()))
		goes.OnDelete(stored)
		require.NoError(t, src.Settle(t.Context()))
	})
}

// TestSettleAfterRewindDistinguishesReusedVersions: after a Rewind the next writes get versions that
// handlers have received with other content.
func TestSettleAfterRewindDistinguishesReusedVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		handler := src.Track(nil)
		handler.OnAdd(src.Get("default", "a"), true)
		relabel(src, "a", "before")
		undone := src.Get("default", "a")
		handler.OnUpdate(nil, undone)
		require.NoError(t, src.Settle(t.Context()))

		src.Rewind(2)
		require.Contains(t, unsettled(t, src), `default/a: has "3", not "2"`)
		relabel(src, "a", "after")
		const stale = `default/a: has "3" as it was before a Rewind`
		require.Contains(t, unsettled(t, src), stale)
		handler.OnUpdate(nil, undone)
		require.Contains(t, unsettled(t, src), stale, "what was under way when the source went back")
		handler.OnUpdate(undone, src.Get("default", "a"))
		require.NoError(t, src.Settle(t.Context()))

		src.Rewind(2)
		relabel(src, "a", "after")
		require.NoError(t, src.Settle(t.Context()), "what is written again is what the handler has")
		relabel(src, "a", "later")
		handler.OnUpdate(nil, src.Get("default", "a"))
		require.NoError(t, src.Settle(t.Context()))
	})
}

// TestSettleAfterARewindOfAHandlerThatIsBehind: a state from before the Rewind that a handler receives
// late does not count as the current state.
func TestSettleAfterARewindOfAHandlerThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of()
		handler := src.Track(nil)
		undone := src.Create(pod("a"))
		src.Rewind(1)
		handler.OnAdd(undone, false)
		require.Contains(t, unsettled(t, src), "default/a: was not told of the deletion")
		cachetest.PatchAs(src, "default", src.Create(pod("b")).(*corev1.Pod).Name, label("b"))
		handler.OnAdd(src.Get("default", "b"), false)
		src.Rewind(1)
		now := pod("a")
		now.Labels = map[string]string{"l": "now"}
		src.Create(now)
		require.Contains(t, unsettled(t, src), `default/a: has "2" as it was before a Rewind`)
		handler.OnUpdate(nil, src.Get("default", "a"))
		handler.OnDelete(pod("b"))
		require.NoError(t, src.Settle(t.Context()))
	})
}

// TestSettleAfterARewindBehindATransform: if content cannot be compared, states that were received
// before the Rewind do not count, and those received after it do.
func TestSettleAfterARewindBehindATransform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		handler := src.Track(nil)
		told := func() {
			p := src.Get("default", "a").(*corev1.Pod)
			p.Labels = nil
			handler.OnUpdate(nil, p)
		}
		relabel(src, "a", "before")
		told()
		src.Rewind(2)
		relabel(src, "a", "after")
		require.Contains(t, unsettled(t, src), "before a Rewind")
		told()
		require.NoError(t, src.Settle(t.Context()))
	})
}

func TestAnEventCountsWhenTheHandlerHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		inside, release := make(chan struct{}), make(chan struct{})
		handler := src.Track(clientgo.ResourceEventHandlerFuncs{AddFunc: func(any) {
			close(inside)
			<-release
			panic("a handler's fault")
		}})
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			handler.OnAdd(src.Get("default", "a"), false)
		}()
		<-inside
		require.Contains(t, unsettled(t, src), "default/a")
		close(release)
		require.Equal(t, "a handler's fault", <-done)
		require.NoError(t, src.Settle(t.Context()))
	})
}

func TestVersionForTransformsThatClearTheResourceVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(cachetest.Options{
			Objects: pods("a"),
			Version: func(m metav1.Object) string { return m.GetLabels()["l"] },
		})
		informer := clientgo.NewSharedIndexInformer(src, &corev1.Pod{}, 0, clientgo.Indexers{})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			obj.(*corev1.Pod).ResourceVersion = ""
			return obj, nil
		}))
		_, err := informer.AddEventHandler(src.Track(nil))
		require.NoError(t, err)
		run(t, informer)
		settle(t, src)
		relabel(src, "a", "1")
		settle(t, src)
	})
}

func versioned(name, rv string) *corev1.Pod {
	p := pod(name)
	p.ResourceVersion = rv
	return p
}

func TestRecorderLines(t *testing.T) {
	var r cachetest.Recorder
	r.OnAdd(versioned("a", "2"), true)
	r.OnAdd(versioned("b", "3"), false)
	r.OnUpdate(versioned("a", "2"), versioned("a", "4"))
	r.OnDelete(versioned("a", "5"))
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/b", Obj: versioned("b", "3")})
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/c"})
	r.OnAdd("no object", false)
	require.Equal(t, `add default/a 2 initial
add default/b 3
update default/a 2 -> 4
delete default/a 5
delete default/b 3 unknown
delete default/c unknown
add string ?
`, r.String())
	require.Len(t, r.Take(), 7)
	require.Empty(t, r.Events())
	require.Empty(t, r.String())
}

func TestRecorderDescribes(t *testing.T) {
	r := cachetest.Recorder{Describe: func(obj any) string { return obj.(*corev1.Pod).Name }}
	r.OnAdd(pod("a"), false)
	r.OnUpdate(pod("a"), pod("b"))
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/b", Obj: pod("b")})
	require.Equal(t, []string{"add a", "update a -> b", "delete b unknown"}, r.Events())
}

func TestRecorderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r cachetest.Recorder
		go func() {
			<-time.After(time.Hour)
			r.OnAdd(pod("a"), false)
			<-time.After(time.Hour)
			r.OnAdd(pod("b"), false)
		}()
		start := time.Now()
		lines, err := r.Wait(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, lines, 2)
		require.Equal(t, 2*time.Hour, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Wait(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "waited for 3 events, got 2 (add default/a , add default/b )")
	})
}
