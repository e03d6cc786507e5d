// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// openPipeline returns a pipeline over the store that tells nobody, and whose queue hands nothing
// on by itself.
func openPipeline(s *keyedStore, options queueOptions) *pipeline {
	p := newPipeline(s, &processFailures{}, func([]event.Change) {})
	options.logger = klog.Background()
	p.open(options)
	return p
}

// PipelineQueue has the methods of a Queue for a pipeline, as far as they put something.
type PipelineQueue struct {
	queueSeat
	*queue.Queue
	pipeline *pipeline
}

func (q *PipelineQueue) Add(obj any) error { return q.Put(Added, obj) }

func (q *PipelineQueue) Update(obj any) error { return q.Put(Updated, obj) }

func (q *PipelineQueue) Delete(obj any) error { return q.Put(Deleted, obj) }

func (q *PipelineQueue) Replace(list []any, version string) error {
	next := q.pipeline.Stage(len(list), false)
	for _, obj := range list {
		if err := next.Put(obj); err != nil {
			return err
		}
	}
	return next.Publish(version)
}

// TestReflectorServesOthersWhileItIsHeldBack: neither a handler with OverflowBlock nor a full queue
// keeps the reflector from its resyncs, its watchdog and the end of its context.
func TestReflectorServesOthersWhileItIsHeldBack(t *testing.T) {
	for name, hold := range map[string]struct {
		limit    int
		delivery fanout.Options
	}{
		"a handler with OverflowBlock": {delivery: fanout.Options{Overflow: fanout.Block, Max: 1}},
		"a full queue":                 {limit: 1, delivery: fanout.Options{Overflow: fanout.Block, Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := testkit.NewScriptedWatch(0)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "5"))), OnWatch: testkit.Watches(stream)}
				informer := NewSharedIndexInformer(server, &corev1.Pod{}, time.Minute, nil).(*sharedIndexInformer)
				informer.config.Limit = hold.limit
				release, resyncs := make(chan struct{}), 0
				_, err := informer.AddEventHandler(fanout.Delivered{Options: hold.delivery, ResourceEventHandler: ResourceEventHandlerFuncs{
					UpdateFunc: func(_, obj any) {
						if testkit.NameAt(obj) == "a@6" {
							<-release
						}
					},
				}})
				require.NoError(t, err)
				_, err = informer.AddEventHandler(ResourceEventHandlerFuncs{
					UpdateFunc: func(old, obj any) {
						if old == obj {
							resyncs++
						}
					},
				})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					informer.RunWithContext(ctx)
				}()
				synctest.Wait()
				stream.Events <- testkit.Modified("a", "6")
				synctest.Wait()
				select {
				case stream.Events <- testkit.Modified("a", "7"):
					t.Error("the watch is read although the handler has no room")
				case <-time.After(time.Second):
				}
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				assert.GreaterOrEqual(t, resyncs, 2)
				cancel()
				time.AfterFunc(time.Minute, func() { close(release) })
				synctest.Wait()
				status, err := inspect.StatusOf(informer)
				require.NoError(t, err)
				assert.Equal(t, inspect.PhaseStopped, status.Phase, "the end of the context is noticed at once")
				<-ended
			})
		})
	}
}

// TestAddIndexersHoldsNoLockOfTheInformer: an index function that AddIndexers calls may ask the
// informer, and others need not wait for it.
func TestAddIndexersHoldsNoLockOfTheInformer(t *testing.T) {
	informer := NewSharedIndexInformer(&testkit.Server{}, &corev1.Pod{}, 0, nil).(*sharedIndexInformer)
	require.NoError(t, informer.store.Add(testkit.PodAt("a", "1")))
	asked := 0
	require.NoError(t, informer.AddIndexers(Indexers{"asks": func(any) ([]string, error) {
		asked++
		_, err := inspect.StatusOf(informer)
		require.NoError(t, err)
		assert.False(t, informer.IsStopped() || informer.HasStarted())
		_, err = informer.AddEventHandler(ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		return nil, nil
	}}))
	assert.Equal(t, 1, asked)
}

// TestStageModel: whatever comes in whatever order, each kind of stage ends with the last state of
// each key.
func TestStageModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{})
		ours := p.Stage(0, true)
		store := &testkit.StoreLog{}
		theirs := reflector.Foreign(store).Stage(0, true)
		want := map[string]string{}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			pod := testkit.PodAt(rapid.StringMatching("[a-f]").Draw(t, "name"), fmt.Sprint(i))
			if kind := rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Added, watch.Deleted}).Draw(t, "kind"); kind == watch.Deleted {
				delete(want, pod.Name)
				require.NoError(t, ours.Remove(pod))
				require.NoError(t, theirs.Remove(pod))
			} else {
				want[pod.Name] = testkit.NameAt(pod)
				require.NoError(t, ours.Put(pod))
				require.NoError(t, theirs.Put(pod))
			}
		}
		var names []string
		for _, name := range want {
			names = append(names, name)
		}
		slices.Sort(names)

		require.NoError(t, theirs.Publish("99"))
		got := strings.Fields(strings.TrimPrefix(store.Entries()[0], "replace 99:"))
		slices.Sort(got)
		assert.ElementsMatch(t, names, got)

		require.NoError(t, ours.Publish("99"))
		require.NoError(t, p.queue.PopAll(p.handle))
		stored := map[string]string{}
		for _, obj := range p.contents.Table.List() {
			stored[obj.(*corev1.Pod).Name] = testkit.NameAt(obj)
		}
		require.Equal(t, want, stored)
	})
}

// TestUniqueKeysInTheBatchesOfNewInformer: they are as large as they can be.
func TestUniqueKeysInTheBatchesOfNewInformer(t *testing.T) {
	p := openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{})
	q := p.queue
	for _, pod := range []*corev1.Pod{testkit.PodAt("a", "1"), testkit.PodAt("b", "2"), testkit.PodAt("c", "3"), testkit.PodAt("b", "4"), testkit.PodAt("c", "5")} {
		assert.NoError(t, q.Put(Updated, pod))
	}
	assert.NoError(t, q.Bookmark("6"))
	next := p.Stage(1, false)
	assert.NoError(t, next.Put(testkit.PodAt("d", "7")))
	assert.NoError(t, next.Publish("7"))
	assert.NoError(t, q.Put(Updated, testkit.PodAt("d", "8")))
	var sizes []int
	for range 5 {
		assert.NoError(t, q.PopUnique(func(batch []event.Record, _ bool) error {
			sizes = append(sizes, len(batch))
			return nil
		}))
	}
	assert.Equal(t, []int{3, 2, 1, 1, 1}, sizes)
}

// forgetful is a transform that, as a label says, keeps the version, drops it, makes another of it,
// drops the UID, or fails.
func forgetful(obj any) (any, error) {
	p := obj.(*corev1.Pod).DeepCopy()
	switch p.Labels["do"] {
	case "drop":
		p.ResourceVersion = ""
	case "alter":
		p.ResourceVersion = "5"
	case "nameless":
		p.UID = ""
	case "fail":
		return nil, errors.New("cannot take it")
	}
	return p, nil
}

// TestReceivedVersionsDecideWhateverTheQueue: a pipeline that is told of each record whether it was
// transformed finds the same changes and resyncs as one that takes every object for transformed.
func TestReceivedVersionsDecideWhateverTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var outlined [2][]string
		var both [2]*pipeline
		options := queueOptions{}
		options.keepCached = rapid.Bool().Draw(t, "keepCached")
		transforms := rapid.IntRange(0, 3).Draw(t, "transforms") > 0
		for i := range both {
			switch options.transform = forgetful; {
			case !transforms && i == 0:
				options.transform = nil
			case !transforms:
				options.transform = func(obj any) (any, error) { return obj, nil } // so that everything counts as transformed
			}
			both[i] = openPipeline(newStore(MetaNamespaceKeyFunc, nil), options)
			both[i].deliver = func(changes []event.Change) { outlined[i] = outlines(changes) }
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			feedBoth(t, both)
			if rapid.Bool().Draw(t, "pop") && both[0].queue.Waiting.Len() > 0 {
				for _, p := range both {
					require.NoError(t, p.queue.PopAll(p.handle))
				}
				require.Equal(t, outlined[1], outlined[0])
			}
			require.Equal(t, both[1].applier.Received, both[0].applier.Received)
			require.Equal(t, both[1].contents.Table.RV(), both[0].contents.Table.RV())
		}
	})
}

// feed gives both pipelines the same; what cannot be transformed is refused.
func feedBoth(t *rapid.T, both [2]*pipeline) {
	draw := func() *corev1.Pod {
		p := testkit.Pod(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "4", "5", "6"}).Draw(t, "version"))
		p.UID = "uid"
		p.Labels = map[string]string{"do": rapid.SampledFrom([]string{"keep", "drop", "alter", "nameless", "fail"}).Draw(t, "do")}
		return p
	}
	switch rapid.IntRange(0, 3).Draw(t, "op") {
	case 0:
		listed := []*corev1.Pod{draw(), draw()}[:rapid.IntRange(0, 2).Draw(t, "listed")]
		for _, p := range both {
			next, err := p.Stage(0, false), error(nil)
			for _, obj := range listed {
				err = errors.Join(err, next.Put(obj.DeepCopy()))
			}
			_ = errors.Join(err, next.Publish("7")) // or nothing, if something cannot be transformed
		}
	case 1:
		for _, p := range both {
			require.NoError(t, p.Resync())
		}
	default:
		records := make([]event.Record, 3)
		for i := range records {
			obj := draw()
			records[i] = event.Record{Type: rapid.SampledFrom([]DeltaType{Added, Updated, Deleted}).Draw(t, "typ"), Version: obj.ResourceVersion, Object: obj}
		}
		for _, p := range both {
			copied := slices.Clone(records)
			for i := range copied {
				copied[i].Object = copied[i].Object.(*corev1.Pod).DeepCopy()
			}
			p.Put(copied)
		}
	}
}

// outlines says what changes mean.
func outlines(changes []event.Change) (lines []string) {
	for i := range changes {
		c := &changes[i]
		lines = append(lines, fmt.Sprint(c.Kind, c.Key, c.Initial, c.Resync, c.Size()))
	}
	slices.Sort(lines)
	return lines
}

func TestProducerAppliesWhileTheConsumerIsIdle(t *testing.T) {
	s, q := informerAndQueue()
	require.Empty(t, q.PutBatch(updatesOf(3)))
	assert.Zero(t, q.Waiting.Len())
	assert.Len(t, s.store.List(), 3)
	assert.True(t, q.HasSynced())
}

// TestProducerHandsOverWhatCannotBeDoneAtOnce: something waits already, a handler is joining, or
// the queue is closed.
func TestProducerHandsOverWhatCannotBeDoneAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *sharedIndexInformer, q *queue.Queue)
		waiting int
	}{
		"something waits":    {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { _ = q.Put(Added, testkit.Pod("x", "1")) }, waiting: 4},
		"a handler is added": {prepare: func(s *sharedIndexInformer, _ *queue.Queue) { s.pipeline.delivery.Lock() }, waiting: 3},
		"closed":             {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { q.Close() }, waiting: 3},
	} {
		s, q := informerAndQueue()
		test.prepare(s, q)
		require.Empty(t, q.PutBatch(updatesOf(3)), name)
		assert.Equal(t, test.waiting, q.Waiting.Len(), name)
		s.pipeline.delivery.TryLock()
		s.pipeline.delivery.Unlock()
		require.NoError(t, q.PopAll(s.pipeline.handle), name)
		assert.Len(t, s.store.List(), test.waiting, name)
	}
}

// panickingDetector is a part of the informer that fails.
type panickingDetector struct{ MutationDetector }

func (panickingDetector) AddObject(any) { panic("cannot take it") }

// TestPanicInTheProducer: it is reported as in the consumer, and neither lock is left held.
func TestPanicInTheProducer(t *testing.T) {
	panics := testkit.QuietPanics(t)
	s, q := informerAndQueue()
	good := s.mutationDetector
	s.mutationDetector = panickingDetector{}
	require.Empty(t, q.PutBatch(updatesOf(1)))
	assert.Equal(t, 1, panics())
	s.mutationDetector = good
	require.Empty(t, q.PutBatch(updatesOf(2)))
	assert.Len(t, s.store.List(), 2)
}

// TestRefusedRecordsAreLeftOut: the others of the batch are queued in their order, and the slice
// comes back empty.
func TestRefusedRecordsAreLeftOut(t *testing.T) {
	failure := errors.New("cannot transform")
	q := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Transformer: func(obj any) (any, error) {
		switch obj.(*corev1.Pod).Name {
		case "bad":
			return nil, failure
		case "worse":
			panic("cannot transform")
		}
		return obj, nil
	}})
	batch := []event.Record{
		{Type: Updated, Object: testkit.Pod("a", "1")}, {Type: Updated, Object: testkit.Pod("bad", "1")}, {Type: Deleted, Object: nil},
		{Type: Bookmark, Version: "7"}, {Type: Added, Object: testkit.Pod("worse", "1")}, {Type: Deleted, Object: testkit.Pod("b", "1")},
	}
	refused := q.queue.PutBatch(batch)
	require.Len(t, refused, 3)
	assert.ErrorIs(t, refused[0].Err, failure)
	assert.ErrorAs(t, refused[1].Err, &KeyError{})
	assert.ErrorContains(t, refused[2].Err, "panicked: cannot transform")
	assert.Equal(t, make([]event.Record, len(batch)), batch)
	var got []string
	require.NoError(t, q.queue.PopAll(func(batch []event.Record, _ bool) error {
		for _, rec := range batch {
			got = append(got, fmt.Sprint(rec.Type, " ", rec.Key))
		}
		return nil
	}))
	assert.Equal(t, []string{"Updated ns/a", "Deleted ns/b"}, got, "bookmarks are dropped unless asked for")
}

// TestProducersConsumersAndCloser: whoever processes, it is one at a time and in order for each
// key, and after Close all that was put before is processed.
func TestProducersConsumersAndCloser(t *testing.T) {
	const producers, batches, size = 4, 200, 5
	everyRecordQueue(t, func(t *testing.T, q *queue.Queue) {
		var inside, seen atomic.Int64
		last := map[string]string{}
		process := func(batch []event.Record, _ bool) error {
			assert.EqualValues(t, 1, inside.Add(1))
			for _, rec := range batch {
				assert.Less(t, last[rec.Key], rec.Version, rec.Key)
				last[rec.Key] = rec.Version
			}
			seen.Add(int64(len(batch)))
			inside.Add(-1)
			return nil
		}
		q.Unlocked = true
		q.Direct = func(batch []event.Record, initial bool) bool { return process(batch, initial) == nil }
		var putting, popping sync.WaitGroup
		for p := range producers {
			putting.Go(func() {
				for b := range batches {
					batch := make([]event.Record, size)
					for i := range batch {
						version := fmt.Sprintf("%06d", b*size+i+1)
						batch[i] = event.Record{Type: Updated, Object: testkit.Pod(fmt.Sprint("p", p), version), Version: version}
					}
					assert.Empty(t, q.PutBatch(batch))
				}
			})
		}
		for range 2 {
			popping.Go(func() {
				for !errors.Is(q.PopAll(process), ErrFIFOClosed) {
				}
			})
		}
		putting.Wait()
		q.Close()
		popping.Wait()
		assert.EqualValues(t, producers*batches*size, seen.Load())
	})
}

func everyRecordQueue(t *testing.T, test func(t *testing.T, q *queue.Queue)) {
	t.Run("in order of arrival", func(t *testing.T) { test(t, AtomicFIFO().queue) })
	t.Run("by key", func(t *testing.T) { test(t, NewDeltaFIFO(nil, nil).queue) })
}

// TestCloseDoesNotWaitForTheConsumer, whoever the consumer is just now.
func TestCloseDoesNotWaitForTheConsumer(t *testing.T) {
	for _, byProducer := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			q, release, ended := AtomicFIFO().queue, make(chan struct{}), false
			slow := func([]event.Record, bool) bool { <-release; return true }
			if byProducer {
				q.Direct = slow
			}
			go func() { _ = q.PutBatch(updatesOf(queue.PopBatchSize * 3)) }()
			go func() {
				for !errors.Is(q.PopAll(func(batch []event.Record, initial bool) error { slow(batch, initial); return nil }), ErrFIFOClosed) {
				}
				ended = true
			}()
			synctest.Wait()
			q.Close()
			assert.True(t, q.IsClosed())
			synctest.Wait()
			assert.False(t, ended, "the consumer ends after the last call")
			close(release)
			synctest.Wait()
			assert.True(t, ended)
		})
	}
}

// updatesOf are updates of n pods, as a reflector collects them.
func updatesOf(n int) []event.Record {
	batch := make([]event.Record, n)
	for i := range batch {
		p := testkit.Pod(fmt.Sprint("p", i), "1")
		p.Namespace, p.ResourceVersion = "default", fmt.Sprint(i+1)
		batch[i] = event.Record{Type: Updated, Object: p, Version: p.ResourceVersion}
	}
	return batch
}

// keysThatAStoreHas are the keys of objects, as a store finds them.
type keysThatAStoreHas map[string]string

func (k keysThatAStoreHas) Key(text []byte) (string, bool) {
	key, ok := k[string(text)]
	return key, ok
}

// TestQueueAllocatesNothing: in steady state a batch of objects that the store has costs no memory
// on its way through a queue.
func TestQueueAllocatesNothing(t *testing.T) {
	for name, q := range map[string]*queue.Queue{
		"in order of arrival": AtomicFIFO().queue,
		"by key":              NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: NewStore(MetaNamespaceKeyFunc)}).queue,
	} {
		events, batch, keys := updatesOf(100), make([]event.Record, 100), keysThatAStoreHas{}
		for i := range events {
			key, err := MetaNamespaceKeyFunc(events[i].Object)
			require.NoError(t, err)
			keys[key] = key
		}
		q.Reader.Keys.Known = keys
		nothing := func([]event.Record, bool) error { return nil }
		perBatch := testing.AllocsPerRun(100, func() {
			copy(batch, events)
			require.Empty(t, q.PutBatch(batch))
			require.NoError(t, q.PopAll(nothing))
		})
		assert.LessOrEqual(t, perBatch, 1.0, name)
	}
}

// informerAndQueue are an informer with the namespace index, started as far as its controller, and
// its queue.
func informerAndQueue() (*sharedIndexInformer, *queue.Queue) {
	s := NewSharedIndexInformerWithOptions(nil, &corev1.Pod{}, SharedIndexInformerOptions{
		Indexers: Indexers{NamespaceIndex: MetaNamespaceIndexFunc},
	}).(*sharedIndexInformer)
	s.start(context.Background())
	return s, s.pipeline.queue
}

// TestAllocationsOfAnUpdate: one event on its own from the reflector's hands into the store, with
// the namespace index and without handlers, allocates nothing.
func TestAllocationsOfAnUpdate(t *testing.T) {
	_, q := informerAndQueue()
	events, batch, next := updatesOf(100), make([]event.Record, 1), 0
	for _, event := range events { // every object is known before
		batch[0] = event
		require.Empty(t, q.PutBatch(batch))
	}
	perEvent := testing.AllocsPerRun(1000, func() {
		batch[0] = events[next%len(events)]
		next++
		require.Empty(t, q.PutBatch(batch))
	})
	assert.Zero(t, q.Waiting.Len(), "the producer applies")
	assert.Zero(t, perEvent)
}

func readerOf(keyFunc KeyFunc) *event.Keys {
	r := &event.Keys{Opens: event.OpensDeltas}
	r.Init(keyFunc, isMetaNamespaceKeyFunc(keyFunc))
	return r
}

// TestUsualKeys are those of MetaNamespaceKeyFunc, however they are come by.
func TestUsualKeys(t *testing.T) {
	cluster := testkit.PodAt("node", "1")
	cluster.Namespace = ""
	for name, keyFunc := range map[string]KeyFunc{
		"none": nil, "ours": MetaNamespaceKeyFunc, "client-go's": clientgo.DeletionHandlingMetaNamespaceKeyFunc,
		"another": func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj) },
	} {
		r := readerOf(keyFunc)
		assert.Equal(t, name != "another", r.Usual, name)
		for _, obj := range []any{testkit.PodAt("a", "1"), cluster, ExplicitKey("x/y/z"), testkit.PodAt("a", "2")} {
			want, err := MetaNamespaceKeyFunc(obj)
			require.NoError(t, err)
			for _, again := range []bool{false, true} {
				got, err := r.KeyOf(obj, again)
				require.NoError(t, err)
				assert.Equal(t, want, got, name)
			}
		}
		for _, bad := range []any{nil, "no metadata", 7, (*corev1.Pod)(nil), Deltas{}, Delta{}} {
			_, err := r.KeyOf(bad, true)
			assert.ErrorAs(t, err, &KeyError{}, "%s: %T", name, bad)
		}
		key, err := r.KeyOf(Deltas{{Type: Added, Object: testkit.PodAt("a", "1")}, {Type: Deleted, Object: DeletedFinalStateUnknown{Key: "ns/b"}}}, true)
		require.NoError(t, err)
		assert.Equal(t, "ns/b", key)
	}
}

// TestKnownKeysAreTheStores: an event for an object that the store has allocates no key.
func TestKnownKeysAreTheStores(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	long := testkit.PodAt(strings.Repeat("x", 2*event.StackKey), "1")
	require.NoError(t, s.Add(testkit.PodAt("a", "1")))
	require.NoError(t, s.Add(long))
	r := readerOf(nil)
	r.Known = s.objects.table
	var event any = testkit.PodAt("a", "2")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if key, err := r.KeyOf(event, true); key != "ns/a" || err != nil {
			panic(key)
		}
	}))
	for _, obj := range []any{long, testkit.PodAt("unknown", "1")} {
		want, err := MetaNamespaceKeyFunc(obj)
		require.NoError(t, err)
		got, err := r.KeyOf(obj, true)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestInformersFindKeysInTheirStore: the queue of every informer shares the strings of the store
// that it is for.
func TestInformersFindKeysInTheirStore(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	require.NoError(t, s.Add(testkit.PodAt("a", "1")))
	known, ok := s.objects.table.Key([]byte("ns/a"))
	require.True(t, ok)
	key, err := openPipeline(s, queueOptions{}).queue.Reader.Keys.KeyOf(testkit.PodAt("a", "2"), true)
	require.NoError(t, err)
	assert.Same(t, unsafe.StringData(known), unsafe.StringData(key))
}
