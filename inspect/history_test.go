// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

type counts = map[string]int64

// reasonsCase is a server, and the expected counts after a minute.
type reasonsCase struct {
	stream  bool
	errs    []error // of the first lists
	onList  func(int, context.Context, metav1.ListOptions) (apiruntime.Object, error)
	watches []any
	options kinformer.Options

	relists, ends       counts
	lists, streams      [2]int64 // ended, failed
	watched, badWatches int64
	unopened            int64
	problem             string // among those of the status
}

// closedByServer is a watch with the ordinary end.
var closedByServer = testkit.Sent(testkit.Bookmark("6"), testkit.Closed)

var reasonsCases = map[string]reasonsCase{
	"nothing happens":      {lists: [2]int64{1, 0}},
	"closed by the server": {watches: []any{closedByServer, closedByServer}, ends: counts{"closed": 2}, lists: [2]int64{1, 0}, watched: 2},
	"closed at once": {
		watches: []any{testkit.Sent(testkit.Closed)}, ends: counts{"very-short": 1},
		lists: [2]int64{1, 0}, watched: 1, badWatches: 1,
	},
	"expired": {
		watches: []any{testkit.Sent(testkit.FailedWith(testkit.ErrExpired))}, relists: counts{"expired": 1}, ends: counts{"expired": 1},
		lists: [2]int64{2, 0}, watched: 1, badWatches: 1,
	},
	"throttled": {
		watches: []any{testkit.Sent(testkit.FailedWith(testkit.ErrTooManyRequests))}, ends: counts{"throttled": 1},
		lists: [2]int64{1, 0}, watched: 1, badWatches: 1,
	},
	"internal error": {
		watches: []any{testkit.Sent(testkit.FailedWith(testkit.ErrInternal))}, relists: counts{"watch": 1}, ends: counts{"internal-error": 1},
		lists: [2]int64{2, 0}, watched: 1, badWatches: 1,
	},
	"another error": {
		watches: []any{testkit.Sent(testkit.FailedWith(testkit.ErrForbidden))}, relists: counts{"watch": 1}, ends: counts{"error": 1},
		lists: [2]int64{2, 0}, watched: 1, badWatches: 1,
	},
	"idle": {
		watches: []any{testkit.Sent(testkit.Bookmark("6"))}, options: kinformer.Options{Requests: kinformer.Requests{IdleTimeout: 30 * time.Second}},
		ends: counts{"idle": 1}, lists: [2]int64{1, 0}, watched: 1, problem: "the watch was silent and was opened anew",
	},
	"not opened, busy":    {watches: []any{testkit.ErrRefused}, lists: [2]int64{1, 0}, unopened: 1},
	"not opened":          {watches: []any{errors.New("no")}, relists: counts{"watch": 1}, lists: [2]int64{2, 0}, unopened: 1},
	"not opened, expired": {watches: []any{testkit.ErrExpired}, relists: counts{"expired": 1}, lists: [2]int64{2, 0}, unopened: 1},
	"list fails":          {errs: []error{testkit.ErrForbidden, io.EOF}, relists: counts{"failed": 2}, lists: [2]int64{3, 2}},
	"list refused":        {errs: []error{testkit.ErrExpired}, relists: counts{"refused": 1}, lists: [2]int64{1, 0}},
	"list panics": {
		onList: func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
			if n == 1 {
				panic("no")
			}
			return testkit.PodList("5"), nil
		},
		relists: counts{"panic": 1}, lists: [2]int64{1, 0},
	},
	"stream":       {stream: true, watches: []any{testkit.Sent(testkit.Added("a", "4"), testkit.EndMark("5"))}, streams: [2]int64{1, 0}},
	"stream fails": {stream: true, watches: []any{testkit.ErrForbidden}, relists: counts{"fallback": 1}, streams: [2]int64{1, 1}, lists: [2]int64{1, 0}},
	"stream closed": {
		stream: true, watches: []any{testkit.Sent(testkit.Added("a", "4"), testkit.Closed), testkit.Sent(testkit.EndMark("5"))},
		relists: counts{"failed": 1}, streams: [2]int64{2, 1},
	},
	"stream busy": {
		stream: true, watches: []any{testkit.ErrRefused, testkit.Sent(testkit.EndMark("5"))}, relists: counts{"failed": 1}, streams: [2]int64{2, 1},
	},
	"stream refused later": {
		stream: true, relists: counts{"expired": 1, "refused": 1}, ends: counts{"expired": 1}, streams: [2]int64{3, 1}, watched: 1, badWatches: 1,
		watches: []any{
			testkit.Sent(testkit.EndMark("5"), testkit.FailedWith(testkit.ErrExpired)),
			testkit.Sent(testkit.FailedWith(testkit.ErrExpired)), testkit.Sent(testkit.EndMark("7")),
		},
	},
}

// TestInspectReasons: the reasons for relists and for the ends of watches are counted.
func TestInspectReasons(t *testing.T) {
	for name, tc := range reasonsCases {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			testkit.QuietPanics(t)
			synctest.Test(t, tc.check)
		})
	}
}

func (tc reasonsCase) check(t *testing.T) {
	server := &testkit.Server{NoStream: !tc.stream, OnList: tc.onList, OnWatch: testkit.Watches(tc.watches...)}
	if server.OnList == nil {
		server.OnList = testkit.ListOf(testkit.PodList("5"), tc.errs...)
	}
	if tc.stream {
		tc.options.Requests.Mode = kinformer.ListModeWatchList
	}
	informer := informers.Of(server, tc.options)
	stop := informers.Run(t, informer)
	time.Sleep(time.Minute - 1)
	all := informers.Inspected(t, informer)
	stop()
	assert.True(t, all.Status.Synced)
	assert.Equal(t, tc.relists, all.Relists)
	assert.Equal(t, tc.ends, all.WatchEnds)
	assert.Equal(t, tc.lists, [2]int64{all.Lists.Ended, all.Lists.Failed}, "lists")
	assert.Equal(t, tc.streams, [2]int64{all.Streams.Ended, all.Streams.Failed}, "streams")
	assert.Equal(t, [2]int64{tc.watched, tc.badWatches}, [2]int64{all.Watches.Ended, all.Watches.Failed}, "watches")
	assert.Equal(t, tc.unopened, all.Unopened)
	assert.Zero(t, all.FailingSince)
	assert.Contains(t, strings.Join(informers.Texts(all.Status), ", "), tc.problem)
	tc.checkRequests(t, all)

	stopped := informers.Inspected(t, informer)
	assert.Equal(t, tc.ends["stopped"]+1, stopped.WatchEnds["stopped"])
	assert.Equal(t, tc.badWatches, stopped.Watches.Failed)
}

// checkRequests compares the single requests with the sums.
func (tc reasonsCase) checkRequests(t *testing.T, all inspect.Inspection) {
	ended, ends := map[string][2]int64{}, counts(nil)
	for _, r := range all.Requests {
		n := ended[r.Kind]
		n[0]++
		if r.Failed {
			n[1]++
		}
		ended[r.Kind] = n
		if r.Reason != "" {
			if ends == nil {
				ends = counts{}
			}
			ends[r.Reason]++
		}
	}
	assert.Equal(t, [3][2]int64{tc.lists, tc.streams, {tc.watched, tc.badWatches}},
		[3][2]int64{ended["list"], ended["watch-list"], ended["watch"]}, "requests")
	assert.Equal(t, tc.ends, ends)
}

// TestInspectDrops: left-out objects are counted by reason, and are a problem until a list has none.
func TestInspectDrops(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		list := testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodIn("other", "b", "2"), testkit.PodIn("other", "c", "3"))
		w := testkit.NewScriptedWatch(8)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(w)}
		informer := informers.Of(server, kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "ns"}})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			if obj.(*v1.Pod).Name == "bad" {
				return nil, errors.New("no")
			}
			return obj, nil
		}))
		defer informers.Run(t, informer)()
		for _, e := range []watch.Event{
			{Type: watch.Added, Object: &v1.Node{}}, {Type: watch.Modified}, {Type: "odd", Object: testkit.PodAt("a", "6")},
			{Type: watch.Added, Object: testkit.PodIn("other", "d", "7")}, testkit.Added("bad", "8"), testkit.Added("good", "9"),
		} {
			w.Events <- e
		}
		all := informers.Inspected(t, informer)
		assert.Equal(t, counts{"namespace": 3, "type": 1, "no-object": 1, "event-type": 1, "refused": 1}, all.Drops)
		assert.Equal(t, int64(6), all.Status.Dropped)
		assert.Equal(t, int64(6), all.Events)
		assert.Equal(t, 2, all.Status.Objects)
		assert.Contains(t, informers.Texts(all.Status), `6 objects of another type or namespace left out: object is of namespace "other", not "ns"`)
		server.OnList = testkit.ListOf(testkit.PodList("10", testkit.PodAt("a", "1")))
		w.Events <- testkit.FailedWith(testkit.ErrExpired)
		time.Sleep(2 * time.Second) // longer than the backoff
		all = informers.Inspected(t, informer)
		assert.Equal(t, int64(6), all.Status.Dropped)
		assert.Empty(t, informers.Texts(all.Status), "until a list has none of them")
	})
	synctest.Test(t, func(t *testing.T) {
		widget := func(kind string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "g/v1", "kind": kind, "metadata": map[string]any{"name": "x"}}}
		}
		w := testkit.NewScriptedWatch(2)
		list := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "5"}}}
		informer := cache.NewSharedIndexInformer(&testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(w)}, widget("Widget"), 0, nil)
		defer informers.Run(t, informer)()
		w.Events <- watch.Event{Type: watch.Added, Object: widget("Other")}
		w.Events <- watch.Event{Type: watch.Added, Object: &metav1.Status{}}
		assert.Equal(t, counts{"kind": 1, "type": 1}, informers.Inspected(t, informer).Drops)
		assert.Equal(t, "g/v1, Kind=Widget", informers.Inspected(t, informer).Type)
	})
}

// TestInspectOutages: the last 16 outages are kept, of which the last one may not be over.
func TestInspectOutages(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := informers.Quiet()
		server.OnWatch = func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			if n%2 == 1 {
				return nil, testkit.ErrRefused
			}
			w := testkit.NewScriptedWatch(0)
			time.AfterFunc(2*time.Second, func() { close(w.Events) })
			return w, nil
		}
		informer := informers.Of(server, kinformer.Options{})
		began := time.Now()
		stop := informers.Run(t, informer)
		time.Sleep(72*time.Second + time.Second/2)
		got := informers.Inspected(t, informer).Outages
		require.Len(t, got, 16)
		for i, outage := range got {
			want := inspect.Outage{Began: began.Add(time.Duration(27+3*i) * time.Second), Length: time.Second, Over: true}
			if i == 15 {
				want.Length, want.Over = time.Second/2, false
			}
			assert.Equal(t, want, outage)
		}
		stop()
		last := informers.Inspected(t, informer).Outages[15]
		assert.True(t, last.Over, "nobody asks any more")
		assert.Equal(t, time.Second/2, last.Length)
	})
}

// TestInspectFailingSince: FailingSince is the time of the first error that is not expected.
func TestInspectFailingSince(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(1)
		server := informers.Quiet()
		server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			switch {
			case n == 1:
				return w, nil
			case n < 5:
				return nil, testkit.ErrForbidden
			default:
				return watch.NewFake(), nil
			}
		}
		var expected atomic.Bool
		informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: func(context.Context, kinformer.Failure) kinformer.ErrorDecision {
			return kinformer.ErrorDecision{Expected: expected.Load(), After: time.Minute}
		}}})
		defer informers.Run(t, informer)()
		time.Sleep(time.Hour)
		assert.Zero(t, informers.Inspected(t, informer).FailingSince, "silence is no failure")
		began := time.Now()
		close(w.Events)
		time.Sleep(90 * time.Second)
		assert.Equal(t, began, informers.Inspected(t, informer).FailingSince)
		expected.Store(true)
		time.Sleep(time.Minute)
		assert.Zero(t, informers.Inspected(t, informer).FailingSince)
		time.Sleep(time.Hour)
		assert.Zero(t, informers.Inspected(t, informer).FailingSince)
		assert.Zero(t, informers.Inspected(t, informer).Status.Attempts)
	})
}
