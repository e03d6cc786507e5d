// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

func TestPanickingKeyFunction(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, KeyFunction: func(any) (string, error) { panic("no key") }})
	assert.ErrorAs(t, q.Add(testkit.PodAt("a", "1")), &cache.KeyError{})
	assert.ErrorContains(t, q.Replace([]any{testkit.PodAt("a", "1")}, "1"), "key function panicked: no key")
	assert.Zero(t, depthOf(q))
}

// item is the object of the queue and store tests: key and content.
type item struct {
	key   string
	value int
}

var errNoItem = errors.New("not an item")

func itemKey(obj any) (string, error) {
	if it, ok := obj.(item); ok {
		return it.key, nil
	}
	return "", errNoItem
}

// knownItems is a naive KeyListerGetter.
type knownItems map[string]item

func (k knownItems) ListKeys() []string { return sets.List(sets.KeySet(k)) }

func (k knownItems) GetByKey(key string) (any, bool, error) {
	it, ok := k[key]
	return it, ok, nil
}

// impatientServer has a history of n updates of one pod. It ends a watch when more than slots events
// are unread, as a server does with slow watchers.
func impatientServer(n, slots int) *testkit.Server {
	return &testkit.Server{
		NoStream: true,
		OnList:   testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))),
		OnWatch: func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := strconv.Atoi(o.ResourceVersion)
			if err != nil {
				return nil, err
			}
			w := testkit.NewScriptedWatch(slots)
			for version := from + 1; version <= n; version++ {
				if len(w.Events) == slots {
					close(w.Events)
					break
				}
				w.Events <- testkit.Modified("a", fmt.Sprint(version))
			}
			return w, nil
		},
	}
}

// TestSlowConsumerWithALimit: a queue with a limit reaches the final state without another list,
// although the server ends its watches, and its length never exceeds the limit.
func TestSlowConsumerWithALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, events = 7, 200
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
		limited(queue, limit)
		server := impatientServer(events, 20)
		deepest, last, seen := 0, "", 0
		c := cache.New(&cache.Config{Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(obj any, _ bool) error {
			time.Sleep(time.Second)
			deepest = max(deepest, depthOf(queue))
			for _, d := range obj.(cache.Deltas) {
				if p, isPod := d.Object.(*corev1.Pod); isPod {
					last = p.ResourceVersion
					seen++
				}
			}
			return nil
		}})
		runController(t, c)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Equal(t, fmt.Sprint(events), last)
		assert.LessOrEqual(t, deepest, limit)
		assert.Equal(t, 1, server.Mu.Lists)
		assert.GreaterOrEqual(t, server.Mu.Watches, events/20)
		stats, err := inspect.QueueOf(c)
		require.NoError(t, err)
		assert.Equal(t, limit, stats.Limit)
		assert.Greater(t, stats.Pauses, uint64(events/limit-2))
		assert.Greater(t, stats.Paused, time.Duration(events/2)*time.Second)
		assert.Equal(t, events-1, seen)
	})
}

// TestFullQueueIsNotInTheWay: a full queue does not delay a list, a resync, or the end of the
// reflector; with a higher limit the reflector continues.
func TestFullQueueIsNotInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cache.AtomicFIFO()
		limited(queue, 2)
		server := impatientServer(9, 20)
		r := reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue), ResyncPeriod: time.Minute})
		stop := testkit.InBackground(t, r.Run)
		synctest.Wait()
		assert.Equal(t, 2, depthOf(queue), "the list and an update")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.Equal(t, 3, depthOf(queue), "and a resync")
		require.NoError(t, queue.Replace(nil, "5"))
		require.NoError(t, queue.Bookmark("6"))
		require.NoError(t, queue.Add(testkit.PodAt("b", "7")))
		assert.Equal(t, 6, depthOf(queue))
		stats, _ := inspect.QueueOf(queue)
		assert.EqualValues(t, 1, stats.Pauses)
		assert.Equal(t, time.Minute+time.Second, stats.Paused)
		limited(queue, 8)
		synctest.Wait()
		assert.Equal(t, 8, depthOf(queue))
		limited(queue, 0)
		synctest.Wait()
		assert.Equal(t, 6+7, depthOf(queue), "all that the server has")
		limited(queue, 1)
		time.Sleep(time.Minute)
		stop()
	})
}

// TestCloseEndsAPause: a closed queue accepts everything, so that no reflector waits for a consumer
// that has ended.
func TestCloseEndsAPause(t *testing.T) {
	queue := cache.AtomicFIFO()
	limited(queue, 1)
	require.NoError(t, queue.Add(testkit.PodAt("a", "1")))
	items, freed := cache.EngineOf(queue).Room()
	assert.Zero(t, items)
	queue.Close()
	<-freed
	items, freed = cache.EngineOf(queue).Room()
	assert.Positive(t, items)
	assert.Nil(t, freed)
}

func depthOf(queue any) int {
	stats, _ := inspect.QueueOf(queue)
	return stats.Depth
}

// TestPauseIsNoSilenceOfTheServer: the idle timeout, after the first bookmark, counts only the time in
// which the reflector reads the watch.
func TestPauseIsNoSilenceOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cache.AtomicFIFO()
		limited(queue, 2)
		stream := testkit.Sent(testkit.Bookmark("2"), testkit.Modified("a", "3"), testkit.Modified("a", "4"))
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(stream)}
		r := reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue), IdleTimeout: time.Minute})
		defer testkit.InBackground(t, r.Run)()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=1"}, server.Requests())
		assert.Equal(t, 2, depthOf(queue))
		limited(queue, 0)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		assert.Len(t, server.Requests(), 2)
		assert.Equal(t, 4, depthOf(queue))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "watch rv=4", server.Requests()[2], "now it is silent")
	})
}

var errTransform = errors.New("cannot transform")

// badPod returns a pod that the transform refuses.
func badPod(name, version string) *corev1.Pod {
	p := testkit.PodAt(name, version)
	p.Labels = map[string]string{"v": "bad"}
	return p
}

// TestListsWithoutSomeOfTheirObjects: for queues that send a list object by object, objects that cannot
// be transformed still count as listed.
func TestListsWithoutSomeOfTheirObjects(t *testing.T) {
	testkit.Reports(t)
	known := knownItems{"a": {"a", 1}, "gone": {"gone", 1}}
	failing := func(obj any) (any, error) {
		if obj.(item).key == "a" {
			return nil, errTransform
		}
		return obj, nil
	}
	real, delta := cache.NewRealFIFO(itemKey, known, failing), cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known, Transformer: failing})
	cache.EngineOf(real).Reader.Transform.KeepCached, cache.EngineOf(delta).Reader.Transform.KeepCached = true, true
	for name, q := range map[string]cache.Queue{"RealFIFO": real, "DeltaFIFO": delta} {
		require.NoError(t, q.Replace([]any{item{"a", 2}, item{"b", 2}}, "2"), name)
		var keys []string
		require.NoError(t, cache.EngineOf(q).PopAll(func(batch []event.Record, _ bool) error {
			for i := range batch {
				keys = append(keys, batch[i].Key)
			}
			return nil
		}))
		assert.ElementsMatch(t, []string{"gone", "b"}, keys, name)
	}
}

// TestRefusedDeletionsInQueues: a deletion from a watch that cannot be transformed is queued with the
// last object that the queue has or knows, if there is one. An atomic queue, which knows none, queues
// it without an object. A deletion from another caller is not queued.
func TestRefusedDeletionsInQueues(t *testing.T) {
	refuses := false
	transform := func(obj any) (any, error) {
		if refuses {
			return nil, errTransform
		}
		return obj, nil
	}
	known := knownItems{"known": {"known", 1}}
	for name, test := range map[string]struct {
		queue cache.Queue
		want  []string
	}{
		"RealFIFO": {cache.NewRealFIFO(itemKey, known, transform), []string{
			"Added new1", "Deleted unknown(known1)", "Deleted unknown(new1)",
		}},
		"atomic RealFIFO": {cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, AtomicEvents: true, Transformer: transform}), []string{
			"Added new1", "Deleted unknown(known)", "Deleted unknown(new)", "Deleted unknown(none)",
		}},
		"DeltaFIFO": {cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known, Transformer: transform}), []string{
			"Added new1", "Deleted unknown(new1)", "Deleted unknown(known1)",
		}},
		"DeltaFIFO of unknown objects": {cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, Transformer: transform}), []string{
			"Added new1", "Deleted unknown(new1)",
		}},
	} {
		refuses = false
		require.NoError(t, test.queue.Add(item{"new", 1}), name)
		refuses = true
		assert.ErrorIs(t, test.queue.Delete(item{"new", 2}), errTransform, name)
		records := []event.Record{{Type: cache.Added, Object: item{"none", 1}}}
		for _, key := range []string{"known", "new", "none"} {
			records = append(records, event.Record{Type: cache.Deleted, Object: item{key, 2}})
		}
		refused := cache.EngineOf(test.queue).PutBatch(records)
		require.Len(t, refused, 1, name)
		assert.Equal(t, cache.Added, refused[0].Type, name)
		assert.Equal(t, test.want, popped(t, test.queue), name)
		assert.Empty(t, cache.EngineOf(test.queue).Reader.Transform.Behind(), name)
	}
}

// popped returns the pending deltas of the queue.
func popped(t *testing.T, q cache.Queue) (deltas []string) {
	for q.Close(); ; {
		_, err := q.Pop(func(obj any, _ bool) error {
			for _, d := range obj.(cache.Deltas) {
				deltas = append(deltas, string(d.Type)+" "+itemOf(d.Object))
			}
			return nil
		})
		if errors.Is(err, cache.ErrFIFOClosed) {
			return deltas
		}
		require.NoError(t, err)
	}
}

func itemOf(obj any) string {
	switch of := obj.(type) {
	case cache.DeletedFinalStateUnknown:
		if of.Obj == nil {
			return "unknown(" + of.Key + ")"
		}
		return "unknown(" + itemOf(of.Obj) + ")"
	case item:
		return fmt.Sprint(of.key, of.value)
	default:
		return fmt.Sprint(obj)
	}
}

// TestRefusedUntilReplaced: a refused object counts as behind until a Replace with the object succeeds,
// even if one fails for another object.
func TestRefusedUntilReplaced(t *testing.T) {
	refused := item{"a", 1}
	q := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, Transformer: func(obj any) (any, error) {
		if obj == refused {
			return nil, errTransform
		}
		return obj, nil
	}})
	behind := cache.EngineOf(q).Reader.Transform.Behind
	require.ErrorIs(t, q.Add(item{"a", 1}), errTransform)
	assert.Equal(t, map[string]struct{}{"a": {}}, behind())
	refused = item{"b", 1}
	require.ErrorIs(t, q.Replace([]any{item{"a", 1}, item{"b", 1}}, "1"), errTransform)
	assert.Equal(t, map[string]struct{}{"a": {}, "b": {}}, behind())
	require.NoError(t, q.Replace([]any{item{"a", 1}, item{"b", 2}}, "2"))
	assert.Empty(t, behind())
}

// TestPanicOfAProcessFunctionIsReported: a panic is reported with the key of the item, and counted, for
// each function that takes items from the queue.
func TestPanicOfAProcessFunctionIsReported(t *testing.T) {
	texts, panics := testkit.Reports(t), testkit.QuietPanics(t)
	for name, queue := range map[string]cache.Queue{
		"RealFIFO":  cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}),
		"DeltaFIFO": cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{}),
		"FIFO":      cache.NewFIFO(cache.MetaNamespaceKeyFunc),
		"foreign":   foreignQueue{cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})},
	} {
		before, panicsBefore := len(texts()), panics()
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "2")))}
			seen := []string{}
			c := cache.New(&cache.Config{Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(obj any, _ bool) error {
				seen = append(seen, event.Name(obj))
				if event.Name(obj) == `"ns/a"` {
					panic("cannot process")
				}
				return nil
			}})
			runController(t, c)
			assert.Contains(t, seen, `"ns/a"`, name)
			stats, err := inspect.QueueOf(c)
			require.NoError(t, err, name)
			assert.EqualValues(t, 1, stats.ProcessErrors, name)
			assert.ErrorContains(t, stats.LastProcessError, `panicked on "ns/a": cannot process`, name)
		})
		assert.Len(t, texts(), before+1, name)
		assert.Equal(t, panicsBefore+1, panics(), name)
	}
}

// foreignQueue is a Queue that is unknown to this package.
type foreignQueue struct{ cache.Queue }

// closedOnce is a Queue whose Close may be called only once.
type closedOnce struct {
	cache.Queue
	closed chan struct{}
}

func (q closedOnce) Close() {
	close(q.closed)
	q.Queue.Close()
}

// TestQueueIsClosedOnce: a user's queue is closed once, although the context and the reflector end.
func TestQueueIsClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := closedOnce{cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{}), make(chan struct{})}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches()}
		stop := informers.Run(t, cache.New(&cache.Config{Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(any, bool) error { return nil }}))
		synctest.Wait()
		stop()
		<-queue.closed
	})
}

// TestProcessErrorHandlerOfAnInformer: OnError is called for a batch whose processing panicked, and may add
// handlers; the informer continues.
func TestProcessErrorHandlerOfAnInformer(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(1)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(stream)}
		var heard []error
		var informer cache.SharedIndexInformer
		s, stop := informers.On(t, server, func(s cache.SharedIndexInformer) {
			informer = s
			cache.WrapDetector(s, func(d cache.MutationDetector) cache.MutationDetector { return &panicsOn{d, "a@1", "b@2"} })
		}, kinformer.Options{Queue: kinformer.Queue{OnError: func(_ context.Context, err error) {
			heard = append(heard, err)
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			assert.NoError(t, err)
		}}})
		defer stop()
		require.Len(t, heard, 1)
		assert.ErrorContains(t, heard[0], "a batch of 1")
		time.Sleep(2 * time.Second) // longer than the pause after a panic
		stream.Events <- testkit.Added("b", "2")
		synctest.Wait()
		require.Len(t, heard, 2)
		assert.ErrorContains(t, heard[1], `begins with ns/b: cannot take b@2`)
		time.Sleep(2 * time.Second)
		stream.Events <- testkit.Added("c", "3")
		synctest.Wait()
		assert.Len(t, s.GetIndexer().List(), 3)
		stats, _ := inspect.QueueOf(s)
		assert.EqualValues(t, 2, stats.ProcessErrors)
		assert.Equal(t, 2, panics())
	})
}

// panicsOn is a mutation detector that panics for the named objects.
type panicsOn struct {
	cache.MutationDetector
	first, second string
}

func (d *panicsOn) AddObject(obj any) {
	if name := testkit.NameAt(obj); name == d.first || name == d.second {
		panic(fmt.Sprint("cannot take ", name))
	}
}

func TestStatsOfOtherThings(t *testing.T) {
	none, err := inspect.QueueOf(cache.NewSharedInformer(nil, &corev1.Pod{}, 0))
	assert.NoError(t, err, "not started")
	assert.Zero(t, none)
	for name, other := range map[string]any{"nil": nil, "a FIFO": cache.NewFIFO(nil)} {
		_, err := inspect.QueueOf(other)
		assert.ErrorIs(t, err, inspect.ErrForeign, name)
	}
	q := cache.AtomicFIFO()
	require.NoError(t, q.Add(testkit.Pod("a", "1")))
	stats, err := inspect.QueueOf(q)
	assert.NoError(t, err)
	assert.Equal(t, inspect.Queue{Depth: 1, Limit: 2000}, stats)
}

// probe is an index function that reads the store on each call, that is, during writes.
type probe struct {
	mu    sync.Mutex
	store cache.Store
	seen  []string // the observed states, in order
}

func (p *probe) index(obj any) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := view.Of(p.store)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	filed, err := s.ByIndex("probe", "all")
	if err != nil {
		return nil, err
	}
	newest := ""
	for _, listed := range s.All() {
		newest = event.LaterVersion(newest, listed.(*corev1.Pod).ResourceVersion)
	}
	p.seen = append(p.seen, fmt.Sprintf("%q: %d, %d filed, newest %q", s.ResourceVersion(), s.Len(), len(maps.Collect(filed)), newest))
	return []string{"all"}, err
}

// TestReadersSeeABatchWhole: pending events of the watch are one batch, and a list is one Replace. A
// read during either returns the state before it.
func TestReadersSeeABatchWhole(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		const size = 100
		var events []watch.Event
		later := testkit.PodList("3000", testkit.PodAt("a", "1"))
		for i := range size {
			events = append(events, testkit.Added(fmt.Sprintf("b-%d", i), fmt.Sprint(1000+i)))
			later.Items = append(later.Items, *testkit.PodAt(fmt.Sprintf("b-%d", i), fmt.Sprint(2000+i)))
		}
		events = append(events, testkit.Deleted("z", "1100"), testkit.Modified("a", "1101"), testkit.FailedWith(testkit.ErrExpired))
		lists := []runtime.Object{testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodAt("z", "2")), later}
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(testkit.Sent(events...)),
			OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) { return lists[n-1], nil }}
		p := &probe{}
		informer := kinformer.New(server, &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Backoff: *testkit.Second()}, Indexers: cache.Indexers{"probe": p.index}})
		p.store = informer.GetStore()
		stop := informers.Run(t, informer)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		want := slices.Concat(
			slices.Repeat([]string{`"": 0, 0 filed, newest ""`}, 2),
			slices.Repeat([]string{`"5": 2, 2 filed, newest "2"`}, size+1),
			slices.Repeat([]string{`"1101": 101, 101 filed, newest "1101"`}, size+1),
		)
		assert.Equal(t, want, p.seen)
		assert.Equal(t, "3000", informer.LastSyncResourceVersion())
	})
}

// refusals are the ways in which a transform can fail for an object.
var refusals = map[string]func() (any, error){
	"error":       func() (any, error) { return nil, errTransform },
	"panic":       func() (any, error) { panic("cannot transform") },
	"nil":         func() (any, error) { return nil, nil },
	"nil pointer": func() (any, error) { return (*corev1.Pod)(nil), nil },
}

// refusing returns a transform that fails in this way for objects with the label v=bad.
func refusing(way func() (any, error)) cache.TransformFunc {
	return func(obj any) (any, error) {
		if obj.(*corev1.Pod).Labels["v"] == "bad" {
			return way()
		}
		return obj, nil
	}
}

// refusedCase runs do with a synced informer, which has an index by label, for each kind of queue and
// each kind of failure.
func refusedCase(t *testing.T, do func(*testing.T, *informers.Relisting)) {
	for kind, options := range map[string]kinformer.Options{
		"arrivals": {}, "limited": {Queue: kinformer.Queue{Limit: 1}},
		"cached": {Queue: kinformer.Queue{KeepCached: true}},
	} {
		for way, refuse := range refusals {
			t.Run(kind+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &informers.Relisting{Source: cachetest.Of()}
					r.SharedIndexInformer = kinformer.Constructor(options)(r.Source, &corev1.Pod{}, 0, cache.Indexers{"v": byLabelV})
					require.NoError(t, r.SetTransform(refusing(refuse)))
					informers.Handle(t, r, &r.Recorder)
					defer informers.Run(t, r)()
					synctest.Wait()
					do(t, r)
				})
			})
		}
	}
}

func byLabelV(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels["v"]}, nil }

// refuses updates the object so that the transform fails for it.
func refuses(r *informers.Relisting, name string) {
	cachetest.PatchAs(r.Source, "ns", name, func(p *corev1.Pod) { p.Labels = map[string]string{"v": "bad"} })
	synctest.Wait()
}

// requireRight requires that the informer reports the given number of objects behind, and that the
// store has reached the version of the server.
func requireRight(r *informers.Relisting, t *testing.T, behind int) {
	t.Helper()
	synctest.Wait()
	seen, err := inspect.Of(r)
	require.NoError(t, err)
	require.Equal(t, behind, seen.Queue.Untransformed)
	if behind == 0 {
		require.Empty(t, informers.Texts(seen.Status))
	} else {
		require.Equal(t, []string{fmt.Sprint(behind, " objects are not as on the server: the transform function refused them")}, informers.Texts(seen.Status))
	}
	require.Equal(t, fmt.Sprint(r.ResourceVersion()), r.LastSyncResourceVersion())
}

// TestRefusedDeletion: the cached object is deleted, with the last known state, and added when it is
// created again.
func TestRefusedDeletion(t *testing.T) {
	texts := testkit.Reports(t)
	refusedCase(t, func(t *testing.T, r *informers.Relisting) {
		before := len(texts())
		r.Create(testkit.Pod("a", "good"))
		refuses(r, "a")
		requireRight(r, t, 1)
		r.Delete("ns", "a")
		requireRight(r, t, 0)
		assert.Empty(t, r.GetStore().List())
		assert.Empty(t, r.GetIndexer().ListIndexFuncValues("v"))
		assert.Equal(t, []string{"add ns/a 2", "delete ns/a 2 unknown"}, r.Recorder.Take())
		assert.NoError(t, kinformer.WaitForVersion(t.Context(), r, fmt.Sprint(r.ResourceVersion())))
		told := strings.Join(texts()[before:], "\n")
		assert.Contains(t, told, "without its last state")
		r.Create(testkit.Pod("a", "again"))
		requireRight(r, t, 0)
		assert.Len(t, r.GetStore().List(), 1)
		seen, _ := inspect.Of(r)
		assert.EqualValues(t, 2, seen.Queue.TransformErrors, "the transform is asked about deletions")
		assert.Equal(t, map[string]int64{"refused": 1}, seen.Drops, "the update: a deletion that was made is no change that was dropped")
	})
}

// TestRefusedAtRandom: after random refusals the idle informer has exactly the last accepted state of
// each object on the server, reports how many of them are behind, and has delivered that state.
func TestRefusedAtRandom(t *testing.T) {
	testkit.Reports(t)
	for kind, options := range map[string]kinformer.Options{
		"arrivals": {}, "limited": {Queue: kinformer.Queue{Limit: 2}},
		"cached": {Queue: kinformer.Queue{KeepCached: true}}, "limited, cached": {Queue: kinformer.Queue{Limit: 2, KeepCached: true}},
	} {
		t.Run(kind, func(t *testing.T) {
			draw.Check(t, func(d *draw.T) {
				synctest.Test(d.T, func(t *testing.T) { refusedAtRandom(t, d, strings.Contains(kind, "cached"), options) })
			})
		})
	}
}

func refusedAtRandom(t *testing.T, d *draw.T, relists bool, options kinformer.Options) {
	source, mirror := cachetest.Of(), testkit.NewMirror()
	slow := func(obj any) ([]string, error) { // so that changes wait in the queue
		time.Sleep(time.Millisecond)
		return byLabelV(obj)
	}
	informer := kinformer.Constructor(options)(source, &corev1.Pod{}, 0, cache.Indexers{"v": slow})
	refused := draw.Slice(d, 1, 40, d.Bool)
	require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
		if version, _ := strconv.Atoi(obj.(*corev1.Pod).ResourceVersion); refused[version%len(refused)] {
			return nil, errTransform
		}
		return obj, nil
	}))
	informers.Handle(t, informer, mirror)
	defer informers.Run(t, informer)()
	synctest.Wait()
	for range draw.Int(d, 1, 8) {
		for range draw.Int(d, 1, 8) {
			name := draw.Of(d, "a", "b", "c")
			if deleted := draw.Int(d, 0, 2) == 0; !deleted {
				source.Put(testkit.Pod(name, fmt.Sprint(source.ResourceVersion())))
			} else if source.Get("ns", name) != nil {
				source.Delete("ns", name)
			}
		}
		if relists && draw.Int(d, 0, 3) == 0 {
			require.NoError(t, kinformer.Relist(informer))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		requireAsPassed(t, source, informer, mirror)
	}
}

// requireAsPassed requires that the store, its index and the handler agree, have only objects that are
// on the server, and that objects in another version are counted.
func requireAsPassed(t *testing.T, source *cachetest.Source, informer cache.SharedIndexInformer, mirror *testkit.Mirror) {
	held, behind := map[string]string{}, 0
	for _, obj := range informer.GetStore().List() {
		pod := obj.(*corev1.Pod)
		held["ns/"+pod.Name] = pod.ResourceVersion
		require.Contains(t, source.Versions(), "ns/"+pod.Name)
		require.Contains(t, informer.GetIndexer().ListIndexFuncValues("v"), pod.Labels["v"])
	}
	for key, version := range source.Versions() {
		if held[key] != version {
			behind++
		}
	}
	stats, _ := inspect.QueueOf(informer)
	require.Equal(t, behind, stats.Untransformed)
	known, problems, _ := mirror.State()
	problems = slices.DeleteFunc(slices.Clone(problems), func(p string) bool {
		return strings.HasPrefix(p, "delete of unknown") // as in client-go: the deletion of an unknown object is delivered
	})
	require.Empty(t, problems)
	require.Equal(t, testkit.StateOfPods(slices.Values(informer.GetStore().List())), known)
}

// nothings are values that a transform may return instead of an object and an error.
var nothings = map[string]any{
	"nil":         nil,
	"nil pointer": (*corev1.Pod)(nil),
	"nil map":     map[string]any(nil),
	"nil slice":   []any(nil),
}

// TestQueuesRefuseANilTransformed: in each call nothing is queued, and the error is counted.
func TestQueuesRefuseANilTransformed(t *testing.T) {
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.NoError(t, known.Add(badPod("a", "1")))
	for what, nothing := range nothings {
		losing := refusing(func() (any, error) { return nothing, nil })
		for name, q := range map[string]cache.Queue{
			"RealFIFO":        cache.NewRealFIFO(cache.MetaNamespaceKeyFunc, cache.NewStore(cache.MetaNamespaceKeyFunc), losing),
			"atomic RealFIFO": cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, Transformer: losing}),
			"DeltaFIFO":       cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, Transformer: losing}),
		} {
			for call, err := range map[string]error{
				"Add":     q.Add(badPod("a", "2")),
				"Update":  q.Update(badPod("a", "2")),
				"Delete":  q.Delete(badPod("a", "2")),
				"Replace": q.Replace([]any{testkit.Pod("b", "2"), badPod("a", "2")}, "2"),
			} {
				assert.ErrorIs(t, err, event.ErrNilTransformed, "%s for %s: %s", what, name, call)
			}
			stats, _ := inspect.QueueOf(q)
			assert.Zero(t, stats.Depth, "%s for %s", what, name)
			assert.EqualValues(t, 4, stats.TransformErrors, "%s for %s", what, name)
			assert.Equal(t, 1, stats.Untransformed, "%s for %s", what, name)
			assert.ErrorIs(t, stats.LastTransformError, event.ErrNilTransformed)
		}
	}
}

// TestStoreRefusesANilTransformed: calls of a store WithTransformer then change nothing.
func TestStoreRefusesANilTransformed(t *testing.T) {
	for what, nothing := range nothings {
		s := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithTransformer(refusing(func() (any, error) { return nothing, nil })))
		require.NoError(t, s.Add(testkit.Pod("b", "1")))
		assert.ErrorIs(t, s.Add(badPod("a", "1")), event.ErrNilTransformed, what)
		assert.ErrorIs(t, s.Update(badPod("b", "2")), event.ErrNilTransformed, what)
		assert.ErrorIs(t, s.Replace([]any{badPod("a", "1")}, "2"), event.ErrNilTransformed, what)
		assert.Equal(t, []string{"ns/b"}, s.ListKeys(), what)
	}
}

// limited sets the limit of a queue.
func limited(queue cache.Queue, n int) { door.QueueOf(queue).SetLimit(n) }
