// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// page makes a page of a list with the pods named first and on, n of them, and another page behind
// it unless it is the last.
func page(first, n int, last bool) *v1.PodList {
	list := testkit.PodList("50")
	for i := first; i < first+n; i++ {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprintf("p%04d", i), fmt.Sprint(i+1)))
		list.Items[len(list.Items)-1].Labels = map[string]string{"app": "x"}
	}
	if !last {
		list.Continue = fmt.Sprint(first + n)
	}
	return list
}

// inPages is a list function that gives pages of size out of total pods, as each is asked for by
// arrived.
func inPages(total, size int, arrived func(*v1.PodList)) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
		first := 0
		if o.Continue != "" {
			if _, err := fmt.Sscan(o.Continue, &first); err != nil {
				return nil, err
			}
		}
		list := page(first, min(size, total-first), first+size >= total)
		arrived(list)
		return list, nil
	}
}

// TestPagesAreLetGo: when a page is asked for, the one before is gone, array and all; after the
// sync the last one is. Each item passed the transform once, and what was listed is in the store.
func TestPagesAreLetGo(t *testing.T) {
	for _, size := range []int{40, 1000} {
		var before weak.Pointer[v1.Pod]
		var kept []int
		transformed := map[string]int{}
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: inPages(1000, size, func(list *v1.PodList) {
			if !letGo(before) {
				kept = append(kept, len(kept))
			}
			before = weak.Make(&list.Items[0])
		})}
		informer := informers.Of(server, kinformer.Options{Requests: kinformer.Requests{PageSize: int64(size)}})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*v1.Pod)
			transformed[pod.Name]++
			pod.Labels = nil
			return pod, nil
		}))
		stop := informers.Run(t, informer)
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		assert.True(t, letGo(before), "the last page")
		assert.Empty(t, kept, "pages that were kept")
		assert.Len(t, informer.GetStore().List(), 1000)
		stop()
		assert.Len(t, transformed, 1000)
		for name, times := range transformed {
			assert.Equal(t, 1, times, name)
		}
	}
}

// TestForeignStoreKeepsNoPage: nor does a store that is not ours, which gets everything by one
// Replace.
func TestForeignStoreKeepsNoPage(t *testing.T) {
	var before weak.Pointer[v1.Pod]
	server := &testkit.Server{NoStream: true, OnList: inPages(20, 20, func(list *v1.PodList) { before = weak.Make(&list.Items[0]) }), OnWatch: testkit.Watches(testkit.ErrForbidden)}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.ErrorIs(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: reflector.Foreign(store)}).ListAndWatch(t.Context()), testkit.ErrForbidden)
	assert.True(t, letGo(before))
	assert.Len(t, store.List(), 20)
}

// TestListsAreNotWritten: a list that the ListerWatcher keeps stays as it was, whatever the
// transform does to its objects' fields.
func TestListsAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := page(0, 10, true)
		want := list.DeepCopy()
		informer := informers.Of(&testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches()}, kinformer.Options{})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*v1.Pod)
			pod.Labels, pod.UID, pod.ResourceVersion = nil, "", ""
			return pod, nil
		}))
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		assert.Equal(t, want, list)
	})
}

// TestExpiredPagesAreDiscarded: nothing of pages that led nowhere is seen, also by the transform's
// results.
func TestExpiredPagesAreDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches()}
		server.OnList = func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			switch n {
			case 1, 2:
				return page(10*n, 5, false), nil
			case 3:
				return nil, testkit.ErrExpired
			default:
				return testkit.PodList("60", testkit.PodAt("late", "55")), nil
			}
		}
		informer := informers.Of(server, kinformer.Options{})
		var mu sync.Mutex
		var heard []string
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, testkit.NameAt(obj))
		}})
		require.NoError(t, err)
		stop := informers.Run(t, informer)
		synctest.Wait()
		stop()
		assert.Equal(t, []string{"late@55"}, heard)
		assert.Equal(t, []string{"list rv=0 limit=500", "list rv= limit=500 continue=15", "list rv= limit=500 continue=25", "list rv=0 limit=0"}, server.Asked()[:4])
	})
}

// TestStreamTransformsOnArrival: each object of a watch-list passes the transform once, as it
// comes.
func TestStreamTransformsOnArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		informer := informers.Of(&testkit.Server{OnWatch: testkit.Watches(w)}, kinformer.Options{})
		var times []string
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			times = append(times, testkit.NameAt(obj))
			return obj, nil
		}))
		stop := informers.Run(t, informer)
		for i := range table.BlockLen {
			w.Events <- testkit.Added(fmt.Sprintf("p%d", i), "1")
		}
		synctest.Wait()
		assert.Len(t, times, table.BlockLen, "before the end mark")
		w.Events <- testkit.Modified("p1", "2")
		w.Events <- testkit.Deleted("p2", "3")
		w.Events <- testkit.Added("p2", "4")
		w.Events <- testkit.Deleted("p3", "5")
		w.Events <- testkit.EndMark("6")
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		stop()
		assert.Equal(t, []string{"p1@2", "p2@4"}, times[table.BlockLen:])
		assert.Len(t, informer.GetStore().ListKeys(), table.BlockLen-1)
	})
}

// TestOverriddenReplace: a queue that embeds ours is called by the methods it has.
func TestOverriddenReplace(t *testing.T) {
	queue := &replaceCounter{RealFIFO: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})}
	server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("7", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("b", "8"), testkit.FailedWith(testkit.ErrExpired)))}
	require.NoError(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue)}).ListAndWatch(t.Context()))
	assert.Equal(t, 1, queue.replaced)
	assert.Equal(t, 1, queue.added)
}

type replaceCounter struct {
	*cache.RealFIFO
	replaced int
	added    int
}

func (q *replaceCounter) Add(obj any) error {
	q.added++
	return q.RealFIFO.Add(obj)
}

func (q *replaceCounter) Replace(items []any, version string) error {
	q.replaced++
	return q.RealFIFO.Replace(items, version)
}

// TestStopWhileStaging: a list that is being staged when the context ends is not published.
func TestStopWhileStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: inPages(1000, 500, func(list *v1.PodList) {
			if list.Continue == "" {
				cancel()
			}
		})}
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
		began := time.Now()
		require.NoError(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue)}).ListAndWatch(ctx))
		assert.Zero(t, time.Since(began))
		assert.False(t, queue.HasSynced())
	})
}

// TestReflectorModel lets a server do legal things in any order to an informer: writes, bookmarks,
// closed and broken streams, errors of every kind, pages, duplicates, old versions, forgotten
// history. Whatever that was, in the end
//
//   - the store is what the server has,
//   - the handler was told, step by step, how it came to that: no addition of what it knew, no
//     change of what it did not (a deletion that the server sends twice reaches handlers twice, as
//     in client-go),
//   - every version that was asked for is one that the server gave before.
//
// A failure shrinks to the shortest way there.
func TestReflectorModel(t *testing.T) {
	testkit.Reports(t)
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(anyStep(), 0, 40).Draw(r, "steps")
		source := cachetest.Options{
			Example: &v1.Pod{}, NewList: func() runtime.Object { return &v1.PodList{} },
			WatchList: rapid.SampledFrom([]cachetest.WatchListMode{
				cachetest.WatchListServed, cachetest.WatchListServed, cachetest.WatchListUnsupported, cachetest.WatchListRefused, cachetest.WatchListIgnored,
			}).Draw(r, "watch-list"),
			NoWatchCache: rapid.Bool().Draw(r, "no watch cache"),
			FailAtStart:  rapid.Bool().Draw(r, "fail at start"),
		}
		pageSize := rapid.Int64Range(0, 3).Draw(r, "page size")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = playModel(t, source, pageSize, steps) })
		if len(faults) > 0 {
			r.Fatal(faults)
		}
	})
}

// modelStep is something that the server does. Names and versions are drawn small, so that they
// meet.
type modelStep struct {
	what string
	name string
	err  string
	verb cachetest.Verb
}

func anyStep() *rapid.Generator[modelStep] {
	return rapid.Custom(func(r *rapid.T) modelStep {
		return modelStep{
			what: rapid.SampledFrom([]string{
				"put", "put", "put", "put", "delete", "delete", "tick", "bookmark", "cut", "break", "compact", "resend", "fail", "fail", "cut short",
				"error", "garbage", "forget", "pause", "pass",
			}).Draw(r, "what"),
			name: rapid.StringMatching("[a-e]").Draw(r, "name"),
			err:  rapid.SampledFrom([]string{"429", "410", "500", "refused", "403", "404", "timeout"}).Draw(r, "error"),
			verb: rapid.SampledFrom([]cachetest.Verb{cachetest.VerbList, cachetest.VerbWatch, cachetest.VerbWatchList}).Draw(r, "verb"),
		}
	})
}

// playModel performs the steps and returns what is wrong in the end.
func playModel(t *testing.T, options cachetest.Options, pageSize int64, steps []modelStep) []string {
	server := &modelServer{Source: cachetest.New(options)}
	server.mu.given = map[string]bool{"": true, "0": true}
	informer := kinformer.New(server, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Backoff: *testkit.Second(), PageSize: pageSize}})
	view := testkit.NewMirror()
	informers.Handle(t, informer, view)
	stop := informers.Run(t, informer)
	for i, s := range steps {
		server.perform(t, i, s)
		if s.what != "pause" {
			synctest.Wait()
		}
	}
	// Old events may have left the store with old objects; a list that is needed sets that right.
	server.forget()
	time.Sleep(5 * time.Minute) // faults that are queued are used up, one a second, or two minutes of silence each
	synctest.Wait()

	known, problems, _ := view.State()
	problems = slices.DeleteFunc(slices.Clone(problems), func(p string) bool { return strings.HasPrefix(p, "delete of unknown") })
	faults := append(server.faults(), problems...)
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	if stored := informers.Versions(informer.GetStore().List()); !maps.Equal(stored, server.Versions()) {
		faults = append(faults, fmt.Sprintf("the store has %v, the server %v, %v", stored, server.Versions(), status))
	}
	if heard := informers.Versions(slices.Collect(maps.Values(view.Objects))); !maps.Equal(heard, server.Versions()) {
		faults = append(faults, fmt.Sprintf("the handler knows %v, the server has %v", known, server.Versions()))
	}
	stop()
	return faults
}

// modelServer keeps what it has given and what it was asked for beyond that.
type modelServer struct {
	*cachetest.Source

	mu struct {
		sync.Mutex
		given map[string]bool
		wrong []string
	}
}

func (s *modelServer) perform(t *testing.T, i int, do modelStep) {
	switch do.what {
	case "put":
		pod := testkit.PodAt(do.name, "")
		pod.Labels = map[string]string{"v": strconv.Itoa(i)}
		s.Put(pod)
	case "delete":
		if s.Get("ns", do.name) != nil {
			s.Delete("ns", do.name)
		}
	case "tick":
		s.Tick()
	case "bookmark":
		s.Bookmark()
	case "cut":
		s.Cut()
	case "break":
		s.Break()
	case "compact":
		s.Compact(s.ResourceVersion())
	case "resend":
		if pod, ok := s.Get("ns", do.name).(*v1.Pod); ok {
			s.resend(pod.ResourceVersion)
		}
	case "fail":
		s.FailNext(do.verb, testkit.FailureNamed(t, do.err))
	case "cut short":
		s.Script(do.verb, cachetest.Fault{Stream: cachetest.StreamScript{Cut: true, CutAfter: i % 3}})
	case "error":
		s.Inject(cachetest.ErrorEvent(testkit.FailureNamed(t, do.err)))
	case "garbage":
		s.Inject(cachetest.Garbage(testkit.PodAt("garbage", "1"))...)
	case "forget":
		s.forget()
	case "pass":
		time.Sleep(time.Duration(i%7) * 700 * time.Millisecond)
	case "pause": // the next step follows at once
	}
}

// resend sends the write again, and an older one, unless they were compacted, at which
// Source.Resend panics.
func (s *modelServer) resend(version string) {
	defer func() { _ = recover() }()
	rv, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	s.Resend(rv)
	s.Resend(rv - 1)
}

// forget makes every client list again: it finds the history gone, and itself behind.
func (s *modelServer) forget() {
	heal := s.Partition()
	s.Put(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "z", Labels: map[string]string{"v": strconv.FormatUint(s.ResourceVersion(), 10)}}})
	s.Compact(s.ResourceVersion())
	heal()
}

func (s *modelServer) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.asked("list", o)
	list, err := s.Source.ListWithContext(ctx, o)
	if accessor, e := meta.ListAccessor(list); err == nil && e == nil {
		s.gave(accessor.GetResourceVersion())
	}
	return list, err
}

func (s *modelServer) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.asked("watch", o)
	w, err := s.Source.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if accessor, err := meta.Accessor(event.Object); err == nil {
			s.gave(accessor.GetResourceVersion())
		}
		return event, true
	}), nil
}

func (s *modelServer) gave(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.given[version] = true
}

func (s *modelServer) asked(what string, o metav1.ListOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.given[o.ResourceVersion] {
		s.mu.wrong = append(s.mu.wrong, fmt.Sprintf("%s at %q, which the server never gave", what, o.ResourceVersion))
	}
}

func (s *modelServer) faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.wrong
}
