// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// runController runs c in a bubble and stops it at the end of the test.
func runController(t *testing.T, c cache.Controller) {
	t.Cleanup(informers.Run(t, c))
	synctest.Wait()
}

// TestCallbacksMayFeedTheWatch: Process, ProcessBatch and the handler of NewInformer run in their own
// goroutine, so they may wait until the reflector has read the events that they send.
func TestCallbacksMayFeedTheWatch(t *testing.T) {
	for name, build := range map[string]func(lw cache.ListerWatcher, heard func(obj any)) cache.Controller{
		"Process":      feedingController(false),
		"ProcessBatch": feedingController(true),
		"handler": func(lw cache.ListerWatcher, heard func(any)) cache.Controller {
			_, c := cache.NewInformer(lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs{
				AddFunc: heard, UpdateFunc: func(_, obj any) { heard(obj) }, DeleteFunc: heard,
			})
			return c
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			stream := watch.NewFake()
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(&corev1.PodList{}), OnWatch: testkit.Watches(stream)}
			var heard []string
			c := build(server, func(obj any) {
				heard = append(heard, testkit.Describe(obj))
				switch len(heard) {
				case 1:
					stream.Modify(testkit.Pod("a", "2"))
					stream.Modify(testkit.Pod("a", "3"))
				case 3:
					stream.Delete(testkit.Pod("a", "3"))
				}
			})
			runController(t, c)
			stream.Add(testkit.Pod("a", "1"))
			synctest.Wait()
			assert.Equal(t, []string{"a1", "a2", "a3", "a3"}, heard, name)
		})
	}
}

// feedingController returns a constructor of a controller that passes each object to heard, from Process or
// from both functions.
func feedingController(batches bool) func(lw cache.ListerWatcher, heard func(obj any)) cache.Controller {
	return func(lw cache.ListerWatcher, heard func(any)) cache.Controller {
		hearAll := func(deltas []cache.Delta, _ bool) error {
			for _, d := range deltas {
				if _, isObject := d.Object.(*corev1.Pod); isObject {
					heard(d.Object)
				}
			}
			return nil
		}
		config := &cache.Config{
			Queue: cache.AtomicFIFO(), ListerWatcher: lw, ObjectType: &corev1.Pod{},
			Process: func(obj any, initial bool) error { return hearAll(obj.(cache.Deltas), initial) },
		}
		if batches {
			config.ProcessBatch = hearAll
		}
		return cache.New(config)
	}
}

// lookingHandler compares the object of each call with the store at that moment.
type lookingHandler struct {
	t     *testing.T
	store cache.Store
	calls int
}

func (h *lookingHandler) OnAdd(obj any, _ bool) { h.isStored(obj) }

func (h *lookingHandler) OnUpdate(_, obj any) { h.isStored(obj) }

func (h *lookingHandler) isStored(obj any) {
	h.calls++
	stored, exists, _ := h.store.Get(obj)
	if assert.True(h.t, exists, "%s is gone", testkit.NameAt(obj)) {
		assert.Same(h.t, obj, stored, "%s is stored for %s", testkit.NameAt(stored), testkit.NameAt(obj))
	}
}

func (h *lookingHandler) OnDelete(obj any) {
	h.calls++
	_, exists, _ := h.store.Get(obj)
	assert.False(h.t, exists)
}

// TestStoreOfNewInformerIsWhereTheHandlerIs: regardless of the length of the queue, the store has
// exactly the object of the call during that call.
func TestStoreOfNewInformerIsWhereTheHandlerIs(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random, source, handler := rand.New(rand.NewPCG(seed, 0)), testkit.NewPods(), &lookingHandler{t: t}
			store, c := cache.NewInformer(source, &corev1.Pod{}, 7*time.Second, handler)
			handler.store = store
			runController(t, c)
			for range 100 {
				switch name := string(rune('a' + random.IntN(4))); random.IntN(12) {
				case 0:
					source.Bookmark()
				case 1:
					source.Expire()
				case 2:
					time.Sleep(time.Second) // until here all is one batch
				case 3, 4, 5:
					source.Remove(name)
				default:
					source.Put(testkit.Pod(name, "1"))
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.NotZero(t, handler.calls)
			if t.Failed() {
				t.Log("seed", seed)
			}
		})
	}
}

// TestSlowHandlerOfNewInformer: while the handler does not return, at most 2000 changes wait, and the watch is not read; then the
// store gets the last state without another list. So does a RealFIFO that is unlocked while it processes.
func TestSlowHandlerOfNewInformer(t *testing.T) {
	const events, bound = 9000, 2000
	for name, follow := range map[string]func(server cache.ListerWatcher, process func()) cache.Controller{
		"NewInformer": func(server cache.ListerWatcher, process func()) cache.Controller {
			_, c := cache.NewInformer(server, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { process() }, UpdateFunc: func(any, any) { process() },
			})
			return c
		},
		"RealFIFO": func(server cache.ListerWatcher, process func()) cache.Controller {
			q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
			return cache.New(&cache.Config{Queue: q, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(any, bool) error { process(); return nil }})
		},
		"embedded": func(server cache.ListerWatcher, process func()) cache.Controller {
			q := struct{ *cache.RealFIFO }{cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})}
			return cache.New(&cache.Config{Queue: q, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(any, bool) error { process(); return nil }})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, release := impatientServer(events, 100), make(chan struct{})
			c := follow(server, func() { <-release })
			runController(t, c)
			time.Sleep(10 * time.Minute)
			stats, err := inspect.QueueOf(c)
			require.NoError(t, err)
			assert.Equal(t, bound, stats.Depth, name)
			assert.NotZero(t, stats.Pauses, name)
			close(release)
			time.Sleep(10 * time.Minute)
			assert.Equal(t, fmt.Sprint(events), c.LastSyncResourceVersion(), name)
			assert.Equal(t, 1, server.Mu.Lists, name)
		})
	}
}

// TestRoomForAShortPage: a page of one item with the largest possible remaining item count allocates
// next to nothing.
func TestRoomForAShortPage(t *testing.T) {
	testkit.Reports(t)
	var before, after goruntime.MemStats
	remaining, page := int64(math.MaxInt64), testkit.PodList("5", testkit.PodAt("a", "1"))
	page.RemainingItemCount, page.Continue = &remaining, "next"
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue != "" {
				return nil, testkit.ErrForbidden
			}
			return page, nil
		}}
		goruntime.ReadMemStats(&before)
		stop := informers.Run(t, informers.Of(server, kinformer.Options{}))
		synctest.Wait()
		stop()
		goruntime.ReadMemStats(&after)
		assert.Len(t, server.Requests(), 2)
	})
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// anError is an error, and its report.
type anError struct {
	set     func(cache.SharedIndexInformer) error
	happens func(*cachetest.Source)
	told    string
}

// someErrors returns errors that are reported by several goroutines and functions of an informer.
func someErrors() map[string]anError {
	nothing := func(cache.SharedIndexInformer) error { return nil }
	failsLists := func(s *cachetest.Source) {
		s.FailNext(cachetest.VerbWatchList, cachetest.InternalError())
		s.FailNext(cachetest.VerbList, cachetest.InternalError())
		s.Inject(cachetest.ErrorEvent(cachetest.Expired()))
	}
	createsBad := func(s *cachetest.Source) { s.Create(badPod("bad", "")) }
	return map[string]anError{
		"list": {nothing, failsLists, "Failed to watch"},
		"list, and a handler of the program's": {func(i cache.SharedIndexInformer) error {
			return i.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler)
		}, failsLists, "Failed to watch"},
		"event": {nothing, func(s *cachetest.Source) { s.Inject(cachetest.Garbage(&corev1.Pod{})...) }, "Watch event dropped"},
		"transform": {func(i cache.SharedIndexInformer) error {
			return i.SetTransform(refusing(refusals["error"]))
		}, createsBad, "Unable to write a watch event to the store"},
		"index function": {func(i cache.SharedIndexInformer) error {
			return i.AddIndexers(cache.Indexers{"v": refusingIndex("error")})
		}, createsBad, "Index function failed"},
	}
}

// refusingIndex returns an index function that fails in this way for objects with the label v=bad.
func refusingIndex(way string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		_, err := refusing(refusals[way])(obj)
		return []string{""}, err
	}
}

// TestFirstErrorInABubble: in a program that has kept apimachinery's error handlers and added one, an
// informer in a bubble continues at once after an error, and the program's handler receives the error.
// The last error of the process was on the real clock, decades after the bubble's.
func TestFirstErrorInABubble(t *testing.T) {
	for name, failure := range someErrors() {
		t.Run(name, func(t *testing.T) {
			utilruntime.HandleError(errors.New("the last error, of the real clock"))
			told := alsoReported(t)
			synctest.Test(t, func(t *testing.T) {
				source := cachetest.Of(testkit.Pod("a", ""))
				informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
				require.NoError(t, failure.set(informer))
				defer informers.Run(t, informer)()
				synctest.Wait()
				failure.happens(source)
				synctest.Wait()
				source.Create(testkit.Pod("late", ""))
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Contains(t, informer.GetStore().ListKeys(), "ns/late")
			})
			assert.Contains(t, told(), failure.told)
		})
	}
}

// alsoReported adds an error handler until the test ends. The returned function returns the messages that
// it has received.
func alsoReported(t *testing.T) func() []string {
	var told testkit.Journal
	before := utilruntime.ErrorHandlers
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	utilruntime.ErrorHandlers = append(slices.Clone(before), func(_ context.Context, _ error, msg string, _ ...any) { told.Note("%s", msg) })
	return told.Take
}

// within fails the test if do does not return in time.
func within(t *testing.T, what string, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, what)
	}
}

// TestWatchIsReadWhileIndexersAreAdded: while AddIndexers blocks writes to the store, the watch is
// still read: events, its end, and a list.
func TestWatchIsReadWhileIndexersAreAdded(t *testing.T) {
	const events = 100
	first, second := watch.NewFake(), watch.NewFake()
	server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("9", testkit.PodAt("a", "9"))), OnWatch: testkit.Watches(first, second)}
	s := kinformer.New(server, &corev1.Pod{}, kinformer.Options{Indexers: cache.Indexers{"unused": func(any) ([]string, error) { return nil, nil }}})
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() { defer close(running); s.RunWithContext(ctx) }()
	defer func() { cancel(); <-running }()
	within(t, "informer does not sync", func() { <-s.HasSyncedChecker().Done() })

	inside, held, added := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	go func() {
		added <- s.AddIndexers(cache.Indexers{"version": func(obj any) ([]string, error) {
			if testkit.NameAt(obj) == "a@9" {
				close(inside)
				<-held
			}
			version, _ := event.VersionOf(obj)
			return []string{version}, nil
		}})
	}()
	within(t, "the index function is not called", func() { <-inside })
	within(t, "the watch is not read", func() {
		for i := range events {
			first.Modify(testkit.PodAt("a", fmt.Sprint(10+i)))
		}
		first.Error(&testkit.ErrExpired.ErrStatus)
		second.Modify(testkit.PodAt("a", "200"))
		second.Modify(testkit.PodAt("a", "201"))
	})
	within(t, "status waits", func() {
		status, err := inspect.StatusOf(s)
		assert.NoError(t, err)
		assert.EqualValues(t, 2, status.Lists)
	})
	assert.Equal(t, "a@9", testkit.NameAt(s.GetIndexer().List()[0]))

	release()
	within(t, "the store does not catch up", func() {
		assert.NoError(t, <-added)
		assert.NoError(t, kinformer.WaitForVersion(ctx, s, "201"))
	})
	found, err := s.GetIndexer().ByIndex("version", "201")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// slowIndex is an index function with an adjustable duration.
type slowIndex struct {
	takes atomic.Int64
	calls atomic.Int64
}

func (i *slowIndex) values(obj any) ([]string, error) {
	i.calls.Add(1)
	time.Sleep(time.Duration(i.takes.Load()))
	version, _ := event.VersionOf(obj)
	return []string{version}, nil
}

// informerOnSlow runs an informer in a bubble with this index function.
func informerOnSlow(t *testing.T, server *testkit.Server, index *slowIndex) (s cache.SharedIndexInformer, stop func()) {
	return informers.On(t, server, func(s cache.SharedIndexInformer) {
		require.NoError(t, s.AddIndexers(cache.Indexers{"version": index.values}))
	}, kinformer.Options{})
}

// TestSlowIndexFunctionsDoNotHoldUpTheWatch: the goroutine that reads the watch runs no index functions.
func TestSlowIndexFunctionsDoNotHoldUpTheWatch(t *testing.T) {
	const events = 5 * table.BlockLen
	for name, list := range map[string]*corev1.PodList{"empty list": testkit.PodList("1"), "list": testkit.PodList("1", testkit.PodAt("x", "1"))} {
		synctest.Test(t, func(t *testing.T) {
			stream, index := watch.NewFake(), &slowIndex{}
			s, stop := informerOnSlow(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(stream)}, index)
			defer stop()
			index.takes.Store(int64(time.Second))
			start, before := time.Now(), index.calls.Load()
			for i := range events {
				stream.Modify(testkit.PodAt(fmt.Sprint("p", i), fmt.Sprint(2+i)))
			}
			assert.Zero(t, time.Since(start), name)
			time.Sleep(events * time.Second)
			synctest.Wait()
			assert.EqualValues(t, events, index.calls.Load()-before, "once for each")
			assert.Len(t, s.GetIndexer().ListKeys(), events+len(list.Items))
		})
	}
}

// TestPanicsOfAnIndexFailureHook: the hook's panics, in a program that survives them, neither delay events nor
// keep them from handlers.
func TestPanicsOfAnIndexFailureHook(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		const events, failing = 200, 20
		stream, heard := watch.NewFake(), 0
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches(stream)}
		s, stop := informers.On(t, server, func(s cache.SharedIndexInformer) {
			calls := 0
			require.NoError(t, s.AddIndexers(cache.Indexers{"fails": func(any) ([]string, error) {
				if calls++; calls%(events/failing) == 0 {
					return nil, testkit.ErrInternal
				}
				return nil, nil
			}}))
			informers.Handle(t, s, cache.ResourceEventHandlerFuncs{AddFunc: func(any) { heard++ }})
		}, kinformer.Options{OnIndexFailure: func(kinformer.IndexFailure) { panic("hook") }})
		defer stop()
		start := time.Now()
		for i := range events {
			stream.Add(testkit.PodAt(fmt.Sprint("p", i), fmt.Sprint(2+i)))
			synctest.Wait()
		}
		assert.Equal(t, events, heard)
		assert.Zero(t, time.Since(start))
		assert.Len(t, s.GetStore().ListKeys(), events)
		assert.Equal(t, failing, panics())
	})
}

// TestQuickIndexFunctionsEarnNoCredit: index functions that become slow within a list delay it by a block of calls,
// however many were quick.
func TestQuickIndexFunctionsEarnNoCredit(t *testing.T) {
	const quick, slow = 20_000, 1000
	list := testkit.PodList("1")
	for i := range quick + slow {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), "1"))
	}
	synctest.Test(t, func(t *testing.T) {
		began, watched := time.Now(), time.Duration(0)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
			watched = time.Since(began)
			return watch.NewFake(), nil
		}}
		calls := 0
		_, stop := informers.On(t, server, func(s cache.SharedIndexInformer) {
			require.NoError(t, s.AddIndexers(cache.Indexers{"slow": func(any) ([]string, error) {
				if calls++; calls > quick {
					time.Sleep(time.Millisecond)
				}
				return nil, nil
			}}))
		}, kinformer.Options{})
		defer stop()
		time.Sleep(time.Minute)
		assert.LessOrEqual(t, watched, 2*table.BlockLen*time.Millisecond)
		assert.Equal(t, quick+slow, calls)
	})
}

// TestSlowIndexFunctionsDoNotHoldUpAList: the watch follows the list after one call.
func TestSlowIndexFunctionsDoNotHoldUpAList(t *testing.T) {
	const objects = 200
	list := testkit.PodList("1")
	for i := range objects {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), "1"))
	}
	synctest.Test(t, func(t *testing.T) {
		index := &slowIndex{}
		index.takes.Store(int64(time.Second))
		first, second := watch.NewFake(), watch.NewFake()
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(first, second)}
		s, stop := informerOnSlow(t, server, index)
		defer stop()
		start := time.Now()
		first.Modify(testkit.PodAt("p0", "2"))
		assert.LessOrEqual(t, time.Since(start), time.Second)
		assert.False(t, s.HasSynced())
		time.Sleep((objects + 1) * time.Second)
		synctest.Wait()
		assert.True(t, s.HasSynced())
		assert.EqualValues(t, objects+1, index.calls.Load(), "once for each")
		found, err := s.GetIndexer().ByIndex("version", "1")
		require.NoError(t, err)
		assert.Len(t, found, objects-1)

		first.Error(&testkit.ErrExpired.ErrStatus)
		asked := len(server.Requests())
		time.Sleep(10 * time.Second) // the backoff, and the call
		synctest.Wait()
		assert.Len(t, server.Requests(), asked+2, "a list and a watch")
		time.Sleep(objects * time.Second)
		synctest.Wait()
		found, err = s.GetIndexer().ByIndex("version", "1")
		require.NoError(t, err)
		assert.Len(t, found, objects)
	})
}

// TestIndexFailuresShow: failures are reported once for each write and index, and shown in the status
// while objects are missing.
func TestIndexFailuresShow(t *testing.T) {
	texts := testkit.Reports(t)
	const bad = 100
	list := testkit.PodList("1", testkit.PodAt("good", "1"))
	for i := range bad {
		list.Items = append(list.Items, *badPod(fmt.Sprint("bad", i), "1"))
	}
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(bad)
		s, stop := informers.On(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(stream)}, func(s cache.SharedIndexInformer) {
			require.NoError(t, s.AddIndexers(cache.Indexers{"f": refusingIndex("error"), "p": refusingIndex("panic")}))
		}, kinformer.Options{})
		defer stop()
		require.Len(t, texts(), 2)
		for i, text := range slices.Sorted(slices.Values(texts())) {
			name := []string{"f", "p"}[i]
			assert.Contains(t, text, fmt.Sprintf("unable to calculate an index entry for key \"ns/bad0\" on index %q", name))
			assert.Contains(t, text, fmt.Sprintf("index %s objects %d", name, bad))
			assert.Equal(t, name == "p", strings.Contains(text, "stack goroutine"), text)
		}
		requireMissing := func(n int) {
			status := informers.Status(t, s)
			var want []string
			for _, name := range []string{"f", "p"} {
				if n > 0 {
					want = append(want, fmt.Sprintf("index %q lacks the objects for which its function failed: %d", name, n))
				}
			}
			require.Equal(t, want, informers.Texts(status))
		}
		requireMissing(bad)
		stream.Events <- testkit.Modified("bad0", "2")
		stream.Events <- testkit.Deleted("bad1", "3")
		synctest.Wait()
		requireMissing(bad - 2)
		for i := range bad {
			stream.Events <- testkit.Deleted(fmt.Sprint("bad", i), "4")
		}
		synctest.Wait()
		requireMissing(0)
		require.Len(t, texts(), 2)
		indices := informers.Inspected(t, s).Indices
		require.Len(t, indices, 2)
		assert.Equal(t, []uint64{bad, bad}, []uint64{indices[0].Failures, indices[1].Failures})
	})
}

// TestControllersAreComparable: programs use the controllers of informers as keys of maps.
func TestControllersAreComparable(t *testing.T) {
	informer := cache.NewSharedIndexInformer(informers.Quiet(), &corev1.Pod{}, 0, cache.Indexers{})
	controllers := map[cache.Controller]bool{informer.GetController(): true}
	assert.Len(t, controllers, 1)
}
