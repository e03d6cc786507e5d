// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

func TestController(t *testing.T) {
	onStage(t, []informerCase{
		{name: "fills the queue and empties it", run: controllerRuns},
		{name: "works with any queue", run: controllerQueues},
		{name: "hands batches to ProcessBatch if the gate allows", run: controllerBatches},
		{name: "errors of Process", run: controllerProcessErrors},
		{name: "a panic in Process costs the item and a second", run: controllerPanic},
		{name: "stopping waits for the running Process and drops the rest", run: controllerStop},
		{name: "resyncs when ShouldResync says so", run: controllerResync},
		{name: "the error handler without a context goes first", run: controllerErrorHandlers},
		{name: "the page size is the limit of LIST", run: controllerPageSize, only: byList},
		{name: "MinWatchTimeout only raises the timeout", run: controllerWatchTimeout},
	})
}

// processed records the arguments of Process and ProcessBatch. fail, if set, returns their results.
type processed struct {
	testkit.Journal
	fail func(line string) error
}

func (p *processed) note(line string, initial bool) error {
	if initial {
		line += " initial"
	}
	p.Note("%s", line)
	if p.fail != nil {
		return p.fail(line)
	}
	return nil
}

func (p *processed) one(obj any, initial bool) error { return p.note(label(obj), initial) }

func (p *processed) many(deltas []cache.Delta, initial bool) error {
	return p.note("batch "+fmt.Sprint(deltaLabels(deltas)), initial)
}

func (s *stage) config(q cache.Queue, p *processed) *cache.Config {
	return &cache.Config{Queue: q, ListerWatcher: s.source, ObjectType: &corev1.Pod{}, Process: p.one}
}

func controllerRuns(t *testing.T, s *stage) {
	p := &processed{}
	c := s.impl.informers.controller(s.config(newAtomic(s.impl), p))
	assert.False(t, c.HasSynced())
	assert.Empty(t, c.LastSyncResourceVersion())
	s.source.put(pod("a", ""))
	r := s.start(c)
	assert.Equal(t, []string{"[ReplacedAll all@11[a@11]] initial"}, p.Take())
	assert.True(t, c.HasSynced())
	assert.True(t, cache.IsDone(c.HasSyncedChecker()))
	assert.Equal(t, "11", c.LastSyncResourceVersion())
	s.source.put(pod("b", ""))
	settle()
	s.source.remove("a")
	settle()
	s.source.Inject(testkit.Bookmark("20"))
	settle()
	assert.Equal(t, []string{"[Added b@12]", "[Deleted a@13]", "[Bookmark @20]"}, p.Take())
	assert.Equal(t, "20", c.LastSyncResourceVersion())
	r.stop()
	assert.Zero(t, s.source.Watching(), "the watch is stopped")
	assert.True(t, c.HasSynced())
}

func controllerQueues(t *testing.T, s *stage) {
	for _, kind := range queueKinds {
		p := &processed{}
		q := kind.make(s.impl, queueParts{})
		s.source = newSource(s.source.mode)
		s.source.put(pod("a", ""))
		c := s.impl.informers.controller(s.config(q, p))
		r := s.start(c)
		s.source.put(pod("b", ""))
		settle()
		assert.Len(t, p.Take(), 2, kind.name)
		assert.True(t, c.HasSynced(), kind.name)
		r.stop()
		assert.True(t, q.(interface{ IsClosed() bool }).IsClosed(), kind.name)
	}
}

func controllerBatches(t *testing.T, s *stage) {
	for _, gate := range []bool{true, false} {
		featurestesting.SetFeatureDuringTest(t, features.InOrderInformersBatchProcess, gate)
		p := &processed{}
		q := newAtomic(s.impl)
		config := s.config(q, p)
		config.ProcessBatch = p.many
		require.NoError(t, q.Add(pod("x", "1")))
		require.NoError(t, q.Add(pod("y", "2")))
		r := s.start(s.impl.informers.controller(config))
		want := []string{"[Added x@1]", "[Added y@2]", "[ReplacedAll all@10[]]"}
		if gate {
			want = []string{"batch [Added x@1 Added y@2]", "[ReplacedAll all@10[]]"}
		}
		assert.Equal(t, want, p.Take())
		r.stop()
	}
}

func controllerProcessErrors(t *testing.T, s *stage) {
	p := &processed{fail: func(line string) error {
		if line == "[Added bad@11]" {
			return errors.New("cannot process")
		}
		return nil
	}}
	s.start(s.impl.informers.controller(s.config(newAtomic(s.impl), p)))
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	settle()
	assert.Equal(t, []string{"[ReplacedAll all@10[]] initial", "[Added bad@11]", "[Added good@12]"}, p.Take(), "no second try")
	assert.Equal(t, differs(t, s.impl, "errors of process functions are reported, client-go drops them", false, true),
		s.mentions("cannot process"))
}

func controllerPanic(t *testing.T, s *stage) {
	panics := survivePanics(t)
	p := &processed{fail: func(line string) error {
		if line == "[Added bad@11]" {
			panic("in process")
		}
		return nil
	}}
	s.start(s.impl.informers.controller(s.config(newAtomic(s.impl), p)))
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	settle()
	assert.Equal(t, []string{"[ReplacedAll all@10[]] initial", "[Added bad@11]"}, p.Take())
	pass(time.Second)
	assert.Equal(t, []string{"[Added good@12]"}, p.Take())
	assert.Equal(t, []any{"in process"}, panics())
}

func controllerStop(t *testing.T, s *stage) {
	g := make(chan struct{})
	p := &processed{fail: func(line string) error {
		if line == "[Added a@11]" {
			<-g
		}
		return nil
	}}
	q := newReal(s.impl, cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	r := s.start(s.impl.informers.controller(s.config(q, p)))
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	settle()
	r.cancel()
	settle()
	assert.False(t, closed(r.done))
	close(g)
	<-r.done
	assert.Equal(t, []string{"[ReplacedAll all@10[]] initial", "[Added a@11]"}, p.Take())
}

func controllerResync(t *testing.T, s *stage) {
	p := &processed{}
	var asked atomic.Int64
	config := s.config(newAtomic(s.impl), p)
	config.FullResyncPeriod = time.Minute
	config.ShouldResync = func() bool {
		return asked.Add(1)%2 == 0
	}
	r := s.start(s.impl.informers.controller(config))
	p.Take()
	pass(59 * time.Second)
	assert.Zero(t, asked.Load())
	pass(4*time.Minute + 2*time.Second)
	assert.Equal(t, int64(5), asked.Load())
	assert.Equal(t, []string{"[SyncAll all]", "[SyncAll all]"}, p.Take())
	r.stop()

	config = s.config(newAtomic(s.impl), p)
	config.FullResyncPeriod = time.Minute
	s.start(s.impl.informers.controller(config))
	p.Take()
	pass(3*time.Minute + time.Second)
	assert.Len(t, p.Take(), 3, "without ShouldResync every time")
}

func controllerErrorHandlers(t *testing.T, s *stage) {
	s.source.fail(errors.New("no answer"))
	var plain, contextual int
	config := s.config(newAtomic(s.impl), &processed{})
	config.WatchErrorHandlerWithContext = func(context.Context, *cache.Reflector, error) { contextual++ }
	s.start(s.impl.informers.controller(config)).stop()
	assert.Equal(t, 1, contextual)
	config.WatchErrorHandler = func(*cache.Reflector, error) { plain++ }
	config.Queue = newAtomic(s.impl)
	s.start(s.impl.informers.controller(config)).stop()
	assert.Equal(t, 1, plain)
	assert.Equal(t, 1, contextual)
}

func controllerPageSize(t *testing.T, s *stage) {
	config := s.config(newAtomic(s.impl), &processed{})
	config.WatchListPageSize = 7
	s.start(s.impl.informers.controller(config))
	assert.Equal(t, int64(7), s.source.Requests()[0].Options.Limit)
}

func controllerWatchTimeout(t *testing.T, s *stage) {
	for minimum, bounds := range map[time.Duration][2]int64{
		0: {300, 600}, time.Minute: {300, 600}, 20 * time.Minute: {1200, 2400},
	} {
		drawn := map[int64]bool{}
		for range 20 {
			config := s.config(newAtomic(s.impl), &processed{})
			config.MinWatchTimeout = minimum
			r := s.start(s.impl.informers.controller(config))
			requests := s.source.Requests()
			watched := requests[len(requests)-1].Options
			assert.GreaterOrEqual(t, *watched.TimeoutSeconds, bounds[0])
			assert.LessOrEqual(t, *watched.TimeoutSeconds, bounds[1])
			assert.True(t, watched.AllowWatchBookmarks)
			drawn[*watched.TimeoutSeconds] = true
			r.stop()
		}
		assert.Greater(t, len(drawn), 2, "drawn from the range")
	}
}

func TestInformer(t *testing.T) {
	onStage(t, []informerCase{
		{name: "calls its handler in order, after the store", run: informerOrder},
		{name: "passes on updates that change nothing", run: informerUnchanged},
		{name: "tells a relist as tombstones, then updates and adds", run: informerRelist},
		{name: "a panic within a batch", run: informerPanicInBatch},
		{name: "metrics", run: informerMetrics},
	})
}

// plain returns a pod informer from NewInformerWithOptions.
func (s *stage) plain(handler cache.ResourceEventHandler) (cache.Store, cache.Controller) {
	return s.impl.informers.informer(cache.InformerOptions{ListerWatcher: s.source, ObjectType: &corev1.Pod{}, Handler: handler})
}

func informerOrder(t *testing.T, s *stage) {
	rec := &recorder{}
	var store cache.Store
	var stored []string
	rec.hook = func(string) { stored = append(stored, store.LastStoreSyncResourceVersion()) }
	store, c := s.plain(rec)
	s.source.put(pod("a", ""))
	r := s.start(c)
	s.source.put(pod("b", ""))
	settle()
	s.source.put(pod("a", ""))
	settle()
	s.source.remove("b")
	settle()
	assert.Equal(t, []string{"add a@11 initial", "add b@12", "update a@11 a@13", "delete b@14"}, rec.take())
	assert.Equal(t, []string{"11", "12", "13", "14"}, stored)
	assert.Equal(t, []string{"a@13"}, labels(store.List()))
	assert.True(t, c.HasSynced())
	assert.Equal(t, "14", c.LastSyncResourceVersion())
	r.stop()
}

func informerUnchanged(t *testing.T, s *stage) {
	rec := &recorder{}
	_, c := s.plain(rec)
	s.source.put(pod("a", ""))
	s.start(c)
	rec.take()
	for _, rv := range []string{"11", ""} {
		s.source.Inject(watch.Event{Type: watch.Modified, Object: pod("a", rv)})
		settle()
		s.source.Inject(watch.Event{Type: watch.Modified, Object: pod("a", rv)})
		settle()
	}
	assert.Equal(t, []string{"update a@11 a@11", "update a@11 a@11", "update a@11 a@", "update a@ a@"}, rec.take(),
		"one handler needs no sorting out")
}

func informerRelist(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.plain(rec)
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.start(c)
	rec.take()
	s.source.miss([]*corev1.Pod{pod("c", "")}, "a")
	s.relist()
	lines := rec.take()
	require.Len(t, lines, 3)
	assert.Equal(t, "delete gone(a@11)", lines[0])
	assert.ElementsMatch(t, []string{"update b@12 b@12", "add c@13"}, lines[1:])
	assert.Equal(t, []string{"b@12", "c@13"}, sorted(store.List()))
}

// ofPods returns a transform of pods that leaves other objects alone.
func ofPods(transform func(*corev1.Pod) any) cache.TransformFunc {
	return func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			return transform(p), nil
		}
		return obj, nil
	}
}

// annotate marks every pod. Marking a pod twice has the same result as once.
var annotate = ofPods(func(p *corev1.Pod) any {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, "seen", "yes")
	return p
})

func informerPanicInBatch(t *testing.T, s *stage) {
	survivePanics(t)
	rec := &recorder{}
	rec.hook = func(line string) {
		if line == "add a@11 initial" {
			panic("in handler")
		}
	}
	_, c := s.plain(rec)
	s.source.put(pod("a", ""))
	if s.source.mode == byList {
		s.source.put(pod("b", ""))
	}
	s.start(c)
	pass(time.Second)
	if s.source.mode == byList {
		assert.Equal(t, differs(t, s.impl, "a panic costs one notification, in client-go the rest of its batch as well",
			[]string{"add a@11 initial"}, []string{"add a@11 initial", "add b@12 initial"}), rec.take())
	}
	assert.True(t, c.HasSynced())
}

func informerMetrics(t *testing.T, s *stage) {
	m := &metrics{}
	m.Depth.Last = -1 // never set
	_, c := s.impl.informers.informer(cache.InformerOptions{
		ListerWatcher: s.source, ObjectType: &corev1.Pod{}, Handler: &recorder{},
		Identifier: reservedName(t, "plain"), InformerMetricsProvider: m,
	})
	s.source.put(pod("a", ""))
	s.start(c)
	assert.ElementsMatch(t, []string{"queued", "latency", "version"}, m.made)
	assert.Equal(t, 11.0, m.Version.Last)
	assert.Equal(t, 0.0, m.Depth.Last)
}

// TestPlainConstructors covers the constructors with positional parameters, most of them deprecated and
// all of them in use.
func TestPlainConstructors(t *testing.T) {
	onStage(t, []informerCase{
		{name: "NewSharedInformer", run: plainShared},
		{name: "NewInformer", run: plainInformer},
		{name: "NewIndexerInformer", run: plainIndexer},
		{name: "NewTransformingInformer", run: plainTransforming},
		{name: "NewTransformingIndexerInformer", run: plainTransformingIndexer},
		{name: "NewDeltaFIFO", run: plainDelta, only: byList},
		{name: "NewRealFIFO", run: plainReal, only: byList},
	})
}

// byApps are the indexers of the indexed informers.
var byApps = cache.Indexers{"app": byLabel("app")}

// resynced runs the informer with one pod for two resync periods of a minute. The stored pod must have the
// mark of annotate, or none.
func (s *stage) resynced(
	t *testing.T, store cache.Store, runner interface{ RunWithContext(context.Context) }, rec *recorder, mark string,
) {
	s.source.put(labelled("a", "", "app", "x"))
	s.start(runner)
	pass(2*time.Minute + time.Second)
	assert.Equal(t, []string{"add a@11 initial", "update a@11 a@11", "update a@11 a@11"}, rec.take())
	assert.Equal(t, []string{"a@11"}, labels(store.List()))
	assert.Equal(t, mark, store.List()[0].(*corev1.Pod).Annotations["seen"])
}

func plainShared(t *testing.T, s *stage) {
	informer := s.impl.informers.plainShared(s.source, &corev1.Pod{}, time.Minute)
	s.resynced(t, informer.GetStore(), informer, listen(t, informer), "")
	_, ok := informer.(cache.SharedIndexInformer)
	assert.True(t, ok)
}

func plainInformer(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.impl.informers.plainInformer(s.source, &corev1.Pod{}, time.Minute, rec)
	s.resynced(t, store, c, rec, "")
}

func plainIndexer(t *testing.T, s *stage) {
	rec := &recorder{}
	indexer, c := s.impl.informers.plainIndexer(s.source, &corev1.Pod{}, time.Minute, rec, byApps)
	s.resynced(t, indexer, c, rec, "")
	assert.Equal(t, []string{"a@11"}, members(t, indexer, "app", "x"))
}

func plainTransforming(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.impl.informers.plainTransforming(s.source, &corev1.Pod{}, time.Minute, rec, annotate)
	s.resynced(t, store, c, rec, "yes")
}

func plainTransformingIndexer(t *testing.T, s *stage) {
	rec := &recorder{}
	indexer, c := s.impl.informers.plainTransformingIndexer(s.source, &corev1.Pod{}, time.Minute, rec, byApps, annotate)
	s.resynced(t, indexer, c, rec, "yes")
	assert.Equal(t, []string{"a@11"}, members(t, indexer, "app", "x"))
}

func plainDelta(t *testing.T, s *stage) {
	q := s.impl.queues.plainDelta(keyOrRefuse, known(pod("gone", "1")))
	require.NoError(t, q.Replace([]any{pod("a", "2")}, "2"))
	assert.Equal(t, []string{"[Sync a@2]", "[Deleted gone(gone@1)]"}, drain(t, q), "Sync, not Replaced")
	assert.Equal(t, "DeltaFIFO", q.HasSyncedChecker().Name())
	q = s.impl.queues.plainDelta(keyOrRefuse, nil)
	require.NoError(t, q.Replace(nil, "1"), "without known objects")
}

func plainReal(t *testing.T, s *stage) {
	q := s.impl.queues.plainReal(keyOrRefuse, known(pod("gone", "1")), shout)
	require.NoError(t, q.Replace([]any{pod("a", "2")}, "2"))
	assert.Equal(t, []string{"[Deleted gone(gone@1)]", "[Replaced a@2!]"}, drain(t, q))
	assert.Panics(t, func() { s.impl.queues.plainReal(keyOrRefuse, nil, nil) })
}
