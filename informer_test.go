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

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// page returns a page of a list with n pods, named from first on, and a continue token unless it is the
// last page.
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

// inPages returns a list function that serves total pods in pages of size. arrived is called with each
// page.
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

// TestPagesAreLetGo: when a page is requested, the array of the previous one is unreachable; after the
// sync so is that of the last one. Each item passes the transform once, and the listed objects are in
// the store.
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

// TestForeignStoreKeepsNoPage: with the user's own store, which receives all objects in one Replace, no
// page is kept either.
func TestForeignStoreKeepsNoPage(t *testing.T) {
	var before weak.Pointer[v1.Pod]
	server := &testkit.Server{NoStream: true, OnList: inPages(20, 20, func(list *v1.PodList) { before = weak.Make(&list.Items[0]) }), OnWatch: testkit.Watches(testkit.ErrForbidden)}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.ErrorIs(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: reflector.Foreign(store)}).ListAndWatch(t.Context()), testkit.ErrForbidden)
	assert.True(t, letGo(before))
	assert.Len(t, store.List(), 20)
}

// TestListsAreNotWritten: a list that the ListerWatcher keeps is not modified, even if the transform
// modifies fields of its objects.
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

// TestExpiredPagesAreDiscarded: objects of pages whose list expired are not stored, nor are their
// transformed forms.
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
		var heard cachetest.Recorder
		informers.Handle(t, informer, &heard)
		stop := informers.Run(t, informer)
		synctest.Wait()
		stop()
		assert.Equal(t, []string{"add ns/late 55 initial"}, heard.Take())
		assert.Equal(t, []string{"list rv=0 limit=500", "list rv= limit=500 continue=15", "list rv= limit=500 continue=25", "list rv=0 limit=0"}, server.Requests()[:4])
	})
}

// TestStreamTransformsOnArrival: each object of a watch-list passes the transform once, on arrival.
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

// TestOverriddenReplace: for a queue that embeds one of this package, its overriding methods are
// called.
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

// TestStopWhileStaging: a list that is complete but not published yet when the context ends is discarded.
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

// TestReflectorModel makes a server perform legal actions in any order: writes, bookmarks, closed and
// broken streams, errors of every kind, pages, duplicates, old versions, compactions. In the end
//
//   - the store equals the server,
//   - the handler has received consistent changes: no addition of an object that it had, no
//     change of one that it had not (a deletion that the server sends twice is delivered twice,
//     as in client-go),
//   - every version in a request was sent by the server before.
//
// FuzzReflectorModel shortens the sequence of actions of a failure.
func TestReflectorModel(t *testing.T) { draw.Check(t, playReflector) }

func FuzzReflectorModel(f *testing.F) { draw.Fuzz(f, playReflector) }

func playReflector(d *draw.T) {
	testkit.Reports(d.T)
	steps := draw.Slice(d, 0, 40, func() modelStep { return anyStep(d) })
	source := cachetest.Options{
		Example: &v1.Pod{}, NewList: func() runtime.Object { return &v1.PodList{} },
		WatchList: draw.Of(d, cachetest.WatchListServed, cachetest.WatchListServed, cachetest.WatchListUnsupported,
			cachetest.WatchListRefused, cachetest.WatchListIgnored),
		NoWatchCache: d.Bool(),
		FailAtStart:  d.Bool(),
	}
	pageSize := draw.Int[int64](d, 0, 3)
	synctest.Test(d.T, func(t *testing.T) { playModel(t, source, pageSize, steps) })
}

// modelStep is one action of the server. Few names and versions are drawn, so that they coincide.
type modelStep struct {
	op   string
	name string
	err  string
	verb cachetest.Verb
}

func anyStep(d *draw.T) modelStep {
	return modelStep{
		op: draw.Of(d,
			"put", "put", "put", "put", "delete", "delete", "tick", "bookmark", "cut", "break", "compact", "resend", "fail", "fail", "cut short",
			"error", "garbage", "forget", "pause", "pass",
		),
		name: draw.Of(d, "a", "b", "c", "d", "e"),
		err:  draw.Of(d, "429", "410", "500", "refused", "403", "404", "timeout"),
		verb: draw.Of(d, cachetest.VerbList, cachetest.VerbWatch, cachetest.VerbWatchList),
	}
}

// playModel performs the steps and reports the faults at the end.
func playModel(t *testing.T, options cachetest.Options, pageSize int64, steps []modelStep) {
	server := &modelServer{Source: cachetest.New(options)}
	server.mu.given = map[string]bool{"": true, "0": true}
	informer := kinformer.New(server, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Backoff: *testkit.Second(), PageSize: pageSize}})
	view := testkit.NewMirror()
	informers.Handle(t, informer, view)
	stop := informers.Run(t, informer)
	for i, s := range steps {
		server.perform(t, i, s)
		if s.op != "pause" {
			synctest.Wait()
		}
	}
	// Old events may have left the store with old objects, which the next list corrects.
	server.forget()
	time.Sleep(5 * time.Minute) // queued faults are used up, one each second, or each two minutes without data
	synctest.Wait()

	known, problems, _ := view.State()
	problems = slices.DeleteFunc(slices.Clone(problems), func(p string) bool { return strings.HasPrefix(p, "delete of unknown") })
	assert.Empty(t, append(server.faults(), problems...))
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, server.Versions(), informers.Versions(informer.GetStore().List()), "the store, %v", status)
	assert.Equal(t, server.Versions(), informers.Versions(slices.Collect(maps.Values(view.Objects))), "the handler knows %v", known)
	stop()
}

// modelServer records the versions that it has sent and the requests for other versions.
type modelServer struct {
	*cachetest.Source

	mu struct {
		sync.Mutex
		given map[string]bool
		wrong []string
	}
}

func (s *modelServer) perform(t *testing.T, i int, do modelStep) {
	switch do.op {
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

// resend sends the write again, and an older one. It ignores the panic of Source.Resend for compacted
// writes.
func (s *modelServer) resend(version string) {
	defer func() { _ = recover() }()
	rv, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	s.Resend(rv)
	s.Resend(rv - 1)
}

// forget makes every client list again: its watch fails with 410, and its state is older than the
// server's.
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
	events := make(chan watch.Event)
	noted := watch.NewProxyWatcher(events)
	go s.note(w, events, noted.StopChan())
	return noted, nil
}

// note passes events on until either side ends. Unlike watch.Filter, it ends if it is stopped while nobody receives.
func (s *modelServer) note(from watch.Interface, events chan<- watch.Event, stopped <-chan struct{}) {
	defer close(events)
	defer from.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case event, open = <-from.ResultChan():
		case <-stopped:
		}
		if !open {
			return
		}
		if accessor, err := meta.Accessor(event.Object); err == nil {
			s.gave(accessor.GetResourceVersion())
		}
		select {
		case events <- event:
		case <-stopped:
			return
		}
	}
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
