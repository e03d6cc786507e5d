// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// transformCounts counts how often each received object, told by name and version, passes the
// transform function. Objects with the label v=bad cannot be transformed.
type transformCounts map[string]int

var errTransform = errors.New("cannot transform")

func (c transformCounts) transform(obj any) (any, error) {
	c[testkit.NameAt(obj)]++
	if obj.(*corev1.Pod).Labels["v"] == "bad" {
		return nil, errTransform
	}
	return obj, nil
}

// badPod is a pod that cannot be transformed.
func badPod(name, version string) *corev1.Pod {
	p := testkit.PodAt(name, version)
	p.Labels = map[string]string{"v": "bad"}
	return p
}

// informerOn runs an informer on a scripted server in a bubble until the returned function is
// called.
func informerOn(t *testing.T, server *testkit.Server, setUp func(cache.SharedIndexInformer), options ...cache.Option) (s cache.SharedIndexInformer, stop func()) {
	s = cache.InformerFunc(options...)(server, &corev1.Pod{}, time.Minute, cache.Indexers{})
	setUp(s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.RunWithContext(ctx); close(done) }()
	synctest.Wait()
	return s, func() { cancel(); <-done }
}

// TestTransformErrorOfAWatchEvent keeps the cached object, and the informer says that it is behind
// until a version passes.
func TestTransformErrorOfAWatchEvent(t *testing.T) {
	texts := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(1)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(stream)}
		s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) { require.NoError(t, s.SetTransform(transformCounts{}.transform)) })
		defer stop()
		stream.Events <- watch.Event{Type: watch.Modified, Object: badPod("a", "2")}
		synctest.Wait()
		assert.Equal(t, "a@1", testkit.NameAt(s.GetIndexer().List()[0]))
		stats, ok := cache.QueueStatsOf(s)
		assert.True(t, ok)
		assert.Equal(t, 1, stats.Untransformed)
		assert.EqualValues(t, 1, stats.TransformErrors)
		assert.ErrorIs(t, stats.LastTransformError, errTransform)
		status, err := cache.StatusOf(s)
		require.NoError(t, err)
		assert.Equal(t, []string{"1 objects are not as on the server: the transform function refused them"}, status.Degraded)
		require.Len(t, texts(), 1)
		stream.Events <- testkit.Modified("a", "3")
		synctest.Wait()
		assert.Equal(t, "a@3", testkit.NameAt(s.GetIndexer().List()[0]))
		stats, _ = cache.QueueStatsOf(s.GetController())
		assert.Zero(t, stats.Untransformed)
		assert.EqualValues(t, 1, stats.TransformErrors)
		status, _ = cache.StatusOf(s.GetController())
		assert.Empty(t, status.Degraded)
	})
}

// TestCachedOnTransformError: a list brings all objects but the one that fails, which stays as it
// was.
func TestCachedOnTransformError(t *testing.T) {
	texts := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(1)
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(stream)}
		server.OnList = listInTurn([]*corev1.PodList{
			testkit.PodList("1", testkit.PodAt("a", "1"), testkit.PodAt("b", "1"), testkit.PodAt("c", "1")),
			testkit.PodList("5", badPod("a", "5"), testkit.PodAt("b", "5"), badPod("new", "5")),
		})
		handler := &testkit.Journal{}
		s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) {
			require.NoError(t, s.SetTransform(transformCounts{}.transform))
			_, err := s.AddEventHandler(handler)
			require.NoError(t, err)
		}, cache.WithCachedOnTransformError())
		defer stop()
		handler.Take()
		stream.Events <- testkit.FailedWith(testkit.ErrExpired)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"delete unknown(c)", "update b b"}, handler.Take())
		held := []string{}
		for _, obj := range s.GetIndexer().List() {
			held = append(held, testkit.NameAt(obj))
		}
		assert.ElementsMatch(t, []string{"a@1", "b@5"}, held)
		stats, _ := cache.QueueStatsOf(s)
		assert.Equal(t, 2, stats.Untransformed)
		assert.Len(t, texts(), 2)
	})
}

// TestListsWithoutSomeOfTheirObjects: to the queues that send a list object by object, what cannot
// be transformed is listed all the same.
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

// listInTurn answers with one list after the other, then with the last one.
func listInTurn(lists []*corev1.PodList) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		return lists[min(n, len(lists))-1], nil
	}
}

// TestRefusedDeletionsOfTheUnknown: a deletion that a DeltaFIFO would leave out is left out if it
// cannot be transformed, too, and no deletion leaves its object behind.
func TestRefusedDeletionsOfTheUnknown(t *testing.T) {
	failing := func(any) (any, error) { return nil, errTransform }
	q := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: knownItems{"known": {"known", 1}}, Transformer: failing})
	refused := cache.EngineOf(q).PutBatch([]event.Record{{Type: cache.Added, Object: item{"a", 1}}, {Type: cache.Deleted, Object: item{"a", 1}}, {Type: cache.Deleted, Object: item{"known", 2}}})
	require.Len(t, refused, 1)
	assert.Equal(t, cache.Added, refused[0].Type)
	assert.NoError(t, q.Delete(item{"b", 1}))
	assert.ErrorIs(t, q.Delete(item{"known", 2}), errTransform)
	assert.Zero(t, cache.EngineOf(q).Reader.Transform.Untransformed())
	assert.Equal(t, []string{"Deleted unknown(known1)"}, popped(t, q))
}

// TestRefusedDeletionsInQueues: a deletion of a watch that cannot be transformed is queued with the
// last object that the queue has or knows, if there is one, and in an atomic queue, which knows
// none, without. One that somebody else puts is not queued.
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
	} {
		refuses = false
		require.NoError(t, test.queue.Add(item{"new", 1}), name)
		refuses = true
		assert.ErrorIs(t, test.queue.Delete(item{"new", 2}), errTransform, name)
		var records []event.Record
		for _, key := range []string{"known", "new", "none"} {
			records = append(records, event.Record{Type: cache.Deleted, Object: item{key, 2}})
		}
		assert.Empty(t, cache.EngineOf(test.queue).PutBatch(records), name)
		assert.Equal(t, test.want, popped(t, test.queue), name)
		assert.Zero(t, cache.EngineOf(test.queue).Reader.Transform.Untransformed(), name)
	}
}

// popped returns what waits in the queue.
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

// TestRefusedUntilReplaced: an object that was refused counts as behind until a Replace that has it
// succeeds, not while one fails for another object.
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
