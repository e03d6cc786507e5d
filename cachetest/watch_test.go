// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

func TestWatchBeginsWithTheState(t *testing.T) {
	yes, no := true, false
	state := []string{"ADDED a 4", "ADDED c 6"}
	end := "BOOKMARK  7 end"
	matched := metav1.ResourceVersionMatchNotOlderThan
	for _, c := range []struct {
		name    string
		options metav1.ListOptions
		events  []string
	}{
		{"most recent", metav1.ListOptions{AllowWatchBookmarks: true}, append(slices.Clone(state), end)},
		{"any", metav1.ListOptions{ResourceVersion: "0"}, state},
		{"exact", metav1.ListOptions{ResourceVersion: "7"}, nil},
		{"initial events", watchListFrom(""), append(slices.Clone(state), end)},
		{"initial events since", watchListFrom("3"), append(slices.Clone(state), end)},
		{"initial events without bookmarks", metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: matched}, state},
		{"no initial events", metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: matched}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := scriptedPast(cachetest.Options{})
				w := open(t, src, c.options)
				require.Equal(t, c.events, append([]string(nil), take(t, w, len(c.events))...))
				requireSilent(t, w)
				relabel(src, "c", "1")
				require.Equal(t, []string{"MODIFIED c 8"}, take(t, w, 1))
			})
		})
	}
}

func TestWatchRefusesVersions(t *testing.T) {
	for _, c := range []struct {
		name    string
		options metav1.ListOptions
		is      func(error) bool
	}{
		{"compacted", metav1.ListOptions{ResourceVersion: "4"}, apierrors.IsResourceExpired},
		{"initial events of the future", watchListFrom("8"), isTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := scriptedPast(cachetest.Options{})
			src.Compact(5)
			w := open(t, src, c.options)
			event := <-w.ResultChan()
			require.Equal(t, watch.Error, event.Type)
			require.True(t, c.is(apierrors.FromObject(event.Object)), "%v", event.Object)
			requireEnd(t, w)

			src = scriptedPast(cachetest.Options{FailAtStart: true})
			src.Compact(5)
			_, err := src.Watch(c.options)
			require.True(t, c.is(err), "%v", err)
		})
	}
}

// TestWatchOfNothingYet: a plain watch does not need the type of the bookmark.
func TestWatchOfNothingYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of()
		w := open(t, src, metav1.ListOptions{AllowWatchBookmarks: true})
		requireSilent(t, w)
		src.Create(pod("a"))
		require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
	})
}

func TestWatchListModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for mode, unsupported := range map[cachetest.WatchListMode]bool{
			cachetest.WatchListUnsupported: true,
			cachetest.WatchListRefused:     false,
		} {
			src := cachetest.New(cachetest.Options{WatchList: mode, Objects: pods("a")})
			require.Equal(t, unsupported, src.IsWatchListSemanticsUnSupported())
			_, err := src.Watch(watchListFrom(""))
			require.True(t, apierrors.IsInvalid(err), "%v", err)
		}
		src := cachetest.New(cachetest.Options{WatchList: cachetest.WatchListIgnored, Objects: pods("a")})
		require.False(t, src.IsWatchListSemanticsUnSupported())
		w := open(t, src, watchListFrom(""))
		require.Equal(t, []string{"ADDED a 2"}, take(t, w, 1))
		requireSilent(t, w)

		_, err := cachetest.Of().Watch(watchListFrom(""))
		require.True(t, apierrors.IsInvalid(err), "%v", err)
	})
}

func TestBookmarksAreObjectsOfTheKindServed(t *testing.T) {
	widgetList := func() runtime.Object {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("example.com/v1")
		list.SetKind("WidgetList")
		return list
	}
	for _, c := range []struct {
		opts cachetest.Options
		want runtime.Object
	}{
		{cachetest.Options{NewList: podList}, &corev1.Pod{}},
		{cachetest.Options{Example: pod("a")}, &corev1.Pod{}},
		{cachetest.Options{NewList: widgetList}, widget()},
		{cachetest.Options{Example: widget()}, widget()},
	} {
		w := open(t, cachetest.New(c.opts), watchListFrom(""))
		event := <-w.ResultChan()
		require.Equal(t, "BOOKMARK  1 end", line(event))
		require.IsType(t, c.want, event.Object)
		require.Equal(t, c.want.GetObjectKind().GroupVersionKind(), event.Object.GetObjectKind().GroupVersionKind())
	}
}

func TestBookmarksAreSentOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		with, without := open(t, src, bookmarksFrom("2")), open(t, src, metav1.ListOptions{ResourceVersion: "2"})
		src.Tick()
		src.Bookmark()
		relabel(src, "a", "1")
		require.Equal(t, []string{"BOOKMARK  3", "MODIFIED a 4"}, take(t, with, 2))
		require.Equal(t, []string{"MODIFIED a 4"}, take(t, without, 1))

		later := open(t, src, bookmarksFrom("2"))
		require.Equal(t, []string{"MODIFIED a 4"}, take(t, later, 1))
		requireSilent(t, later)
	})
}

// TestStopLeavesNothingBehind: when Stop has returned, the stream has ended. It also ends with its context.
func TestStopLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		w := open(t, src, metav1.ListOptions{})
		synctest.Wait() // the stream is now blocked on its reader
		w.Stop()
		require.Zero(t, src.Watching())
		select {
		case _, ok := <-w.ResultChan():
			require.False(t, ok)
		default:
			require.Fail(t, "Stop has returned before the stream had ended")
		}
		w.Stop()

		ctx, cancel := context.WithCancel(t.Context())
		w, err := src.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "2"})
		require.NoError(t, err)
		cancel()
		requireEnd(t, w)
		require.NoError(t, src.WaitNotWatching(t.Context()))
	})
}

func TestTimeoutSecondsWhenHonored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(cachetest.Options{HonorTimeout: true})
		start, seconds := time.Now(), int64(30)
		w := open(t, src, metav1.ListOptions{ResourceVersion: "1", TimeoutSeconds: &seconds})
		requireEnd(t, w)
		require.Equal(t, 30*time.Second, time.Since(start))
	})
}

func TestBufferTakesEventsWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(cachetest.Options{Objects: pods("a", "b", "c"), Buffer: 2})
		w := open(t, src, metav1.ListOptions{})
		synctest.Wait()
		require.Len(t, w.ResultChan(), 2)
		require.Equal(t, []string{"ADDED a 2", "ADDED b 3", "ADDED c 4"}, take(t, w, 3))
	})
}

// TestManyWatches has concurrent writers and informers, outside of a bubble: each informer, regardless of
// its first version, must end with the source's state.
func TestManyWatches(t *testing.T) {
	src := cachetest.Of(pods("a", "b", "c", "d")...)
	var group sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		group.Go(func() {
			for range 200 {
				cachetest.PatchAs(src, "default", name, func(p *corev1.Pod) { p.Generation++ })
			}
		})
	}
	for range 20 {
		startPods(t, src, &cachetest.Recorder{})
	}
	group.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	require.NoError(t, src.Settle(ctx))
}

// watched is a stream of the model: the lines still to be delivered, and whether it ends after them.
type watched struct {
	watch.Interface
	due  []string
	ends bool
}

// watchModel is the reference for streams: all writes as lines, and for each open stream those still to
// be delivered.
type watchModel struct {
	src       *cachetest.Source
	writes    []string // the first one has version 2
	compacted uint64
	open      []*watched
}

// compact removes a part of the past, as far as the streams allow.
func (m *watchModel) compact(t *draw.T) {
	rv := draw.Int(t, 1, m.src.ResourceVersion())
	m.src.Compact(rv)
	m.compacted = max(m.compacted, rv)
}

// write does a random write, and adds it to the expected events of the open streams.
func (m *watchModel) write(t *draw.T) {
	name := draw.Of(t, "a", "b", "c")
	event := watch.Event{Type: watch.Added}
	switch exists := m.src.Get("default", name) != nil; {
	case exists && t.Bool():
		event = watch.Event{Type: watch.Deleted, Object: m.src.Delete("default", name)}
	default:
		if exists {
			event.Type = watch.Modified
		}
		p := pod(name)
		p.Generation = int64(m.src.ResourceVersion())
		event.Object = m.src.Put(p)
	}
	m.writes = append(m.writes, line(event))
	for _, w := range m.open {
		if !w.ends {
			w.due = append(w.due, line(event))
		}
	}
}

// watch opens a stream from any version after 0.
func (m *watchModel) watch(t *draw.T) {
	from := draw.Int(t, 1, m.src.ResourceVersion())
	opened, err := m.src.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(from)})
	require.NoError(t, err)
	w := &watched{Interface: opened}
	if from < m.compacted {
		w.due, w.ends = []string{"ERROR Expired"}, true
	} else {
		w.due = append(w.due, m.writes[from-1:]...)
	}
	m.open = append(m.open, w)
}

func (m *watchModel) read(t *draw.T) {
	if len(m.open) == 0 {
		t.Skip("nothing is open")
	}
	i := draw.Int(t, 0, len(m.open)-1)
	w := m.open[i]
	if len(w.due) == 0 {
		m.stop(i)
		return
	}
	event, open := <-w.ResultChan()
	require.True(t, open)
	require.Equal(t, w.due[0], line(event))
	if w.due = w.due[1:]; w.ends {
		_, open = <-w.ResultChan()
		require.False(t, open)
		m.stop(i)
	}
}

func (m *watchModel) stop(i int) {
	m.open[i].Stop()
	m.open = slices.Delete(m.open, i, i+1)
}

// TestStreamsAgainstHistory: with concurrent compactions and slow readers, each stream delivers the
// writes after its beginning, or reports once that it cannot, and no writer fails.
func TestStreamsAgainstHistory(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		m := &watchModel{src: cachetest.Of(), compacted: 1}
		defer func() {
			for len(m.open) > 0 {
				m.stop(0)
			}
		}()
		t.Repeat(map[string]func(*draw.T){"write": m.write, "watch": m.watch, "read": m.read, "compact": m.compact})
	})
}

func TestErrorsAreRecognizedByClients(t *testing.T) {
	busy := cachetest.TooManyRequests(1500 * time.Millisecond)
	require.True(t, apierrors.IsTooManyRequests(busy))
	seconds, ok := apierrors.SuggestsClientDelay(busy)
	require.True(t, ok)
	require.Equal(t, 2, seconds)
	require.True(t, apierrors.IsResourceExpired(cachetest.Expired()))
	require.True(t, isTooLarge(cachetest.TooLargeResourceVersion(2, 1)))
	require.True(t, apierrors.IsInternalError(cachetest.InternalError()))
	require.True(t, utilnet.IsConnectionRefused(cachetest.ConnectionRefused()))

	event := cachetest.ErrorEvent(cachetest.Expired())
	require.Equal(t, watch.Error, event.Type)
	require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)))
	event = cachetest.ErrorEvent(errors.New("boom"))
	require.True(t, apierrors.IsInternalError(apierrors.FromObject(event.Object)))
}

func TestFaultsTakeOneRequestOfTheirVerbEach(t *testing.T) {
	src := cachetest.Of(pod("a"))
	first, third := errors.New("first"), errors.New("third")
	src.FailNext(cachetest.VerbList, first, nil, third)
	src.FailNext(cachetest.VerbWatchList, first)
	src.Script(cachetest.VerbList, cachetest.Fault{}, cachetest.Fault{Panic: "boom"})
	open(t, src, bookmarksFrom("2"))
	for _, want := range []error{first, nil, third, nil} {
		_, err := src.List(metav1.ListOptions{})
		require.ErrorIs(t, err, want)
	}
	_, err := src.Watch(watchListFrom(""))
	require.ErrorIs(t, err, first)
	open(t, src, watchListFrom(""))
	require.PanicsWithValue(t, "boom", func() { _, _ = src.List(metav1.ListOptions{}) })
	_, err = src.List(metav1.ListOptions{})
	require.NoError(t, err)
}

func TestHeldRequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []cachetest.Fault{{Delay: time.Hour}, {Until: make(chan struct{})}} {
			src := cachetest.Of(pod("a"))
			src.Script(cachetest.VerbList, fault)
			src.Script(cachetest.VerbWatch, fault)
			for _, request := range []func(context.Context) error{
				func(ctx context.Context) error {
					_, err := src.ListWithContext(ctx, metav1.ListOptions{})
					return err
				},
				func(ctx context.Context) error {
					_, err := src.WatchWithContext(ctx, metav1.ListOptions{})
					return err
				},
			} {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				require.ErrorIs(t, request(ctx), context.DeadlineExceeded)
				require.Equal(t, time.Minute, time.Since(began))
				cancel()
			}
		}
	})
}

func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
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

func TestOutage(t *testing.T) {
	src := cachetest.Of(pod("a"))
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

// TestOutageAfterPartition: a request that a partition has held up meets an outage that has begun since, and none that
// has ended.
func TestOutageAfterPartition(t *testing.T) {
	for _, begins := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.Of(pod("a"))
			end := func() {}
			if !begins {
				end = src.Outage(cachetest.ConnectionRefused())
			}
			heal := src.Partition()
			answer := make(chan error, 1)
			go func() {
				_, err := src.List(metav1.ListOptions{})
				answer <- err
			}()
			synctest.Wait()
			if end(); begins {
				src.Outage(cachetest.ConnectionRefused())
			}
			heal()
			require.Equal(t, begins, utilnet.IsConnectionRefused(<-answer))
		})
	}
}

func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
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

// TestPartitionOfARequestUnderWay: a request that a partition meets during a delay is blocked.
func TestPartitionOfARequestUnderWay(t *testing.T) {
	for name, fault := range map[string]cachetest.Fault{
		"answer": {Delay: time.Second},
		"error":  {Delay: time.Second, Err: cachetest.ConnectionRefused()},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := cachetest.Of(pod("a"))
			src.Script(cachetest.VerbWatch, fault)
			answers := make(chan error, 1)
			go func() {
				_, err := src.WatchWithContext(t.Context(), bookmarksFrom("2"))
				answers <- err
			}()
			synctest.Wait()
			heal := src.Partition()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			require.Empty(t, answers, name)
			require.Zero(t, src.Watching(), name)
			heal()
			require.Equal(t, fault.Err, <-answers, name)
		})
	}
}

func TestStreamScripts(t *testing.T) {
	first := []watch.Event{cachetest.ErrorEvent(cachetest.InternalError()), {Type: watch.Added, Object: pod("x")}}
	for name, c := range map[string]struct {
		script  cachetest.StreamScript
		options metav1.ListOptions
		events  []string
	}{
		"cut at once":   {cachetest.StreamScript{Cut: true}, metav1.ListOptions{}, []string{}},
		"cut after one": {cachetest.StreamScript{Cut: true, CutAfter: 1}, metav1.ListOptions{}, []string{"ADDED a 2"}},
		"first": {cachetest.StreamScript{First: first}, metav1.ListOptions{},
			[]string{"ERROR InternalError", "ADDED x ", "ADDED a 2", "ADDED b 3"}},
		"no end of the initial events": {cachetest.StreamScript{OmitInitialEventsEnd: true}, watchListFrom(""),
			[]string{"ADDED a 2", "ADDED b 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := cachetest.Of(pods("a", "b")...)
				src.Script(cachetest.VerbWatch, cachetest.Fault{Stream: c.script})
				src.Script(cachetest.VerbWatchList, cachetest.Fault{Stream: c.script})
				w := open(t, src, c.options)
				require.Equal(t, c.events, take(t, w, len(c.events)))
				if c.script.Cut {
					requireEnd(t, w)
				} else {
					requireSilent(t, w)
				}
			})
		})
	}
}

func TestInjectedEventsKeepTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
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
	src := cachetest.Of(pod("a"))
	w := open(t, src, metav1.ListOptions{ResourceVersion: "2"})
	var nobody *corev1.Pod
	garbage := append(cachetest.Garbage(src.Get("default", "a")), watch.Event{Type: watch.Added, Object: nobody})
	src.Inject(garbage...)
	for _, want := range garbage {
		require.Equal(t, want, <-w.ResultChan())
	}
	require.Len(t, cachetest.Garbage(&metav1.PartialObjectMetadata{}), len(cachetest.Garbage(pod("a")))-1)
}

func TestResend(t *testing.T) {
	src := cachetest.Of(pod("a"))
	relabel(src, "a", "1")
	src.Delete("default", "a")
	w := open(t, src, metav1.ListOptions{ResourceVersion: "4"})
	src.Resend(4, 2, 3)
	require.Equal(t, []string{"DELETED a 4", "ADDED a 2", "MODIFIED a 3"}, take(t, w, 3))
	require.Panics(t, func() { src.Resend(9) })
}

func TestBreakLosesWhatWasNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
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
		src := cachetest.Of(pod("a"))
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

// TestLose: lost writes are in lists, and in no stream, old or new.
func TestLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"), pod("b"))
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
