// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// typedJournal is journal for typed handlers.
type typedJournal struct{ testkit.Journal }

func (j *typedJournal) OnAdd(pod *corev1.Pod, initial bool) { j.Journal.OnAdd(pod, initial) }

func (j *typedJournal) OnUpdate(old, current *corev1.Pod) { j.Journal.OnUpdate(old, current) }

func (j *typedJournal) OnDelete(deleted cache.DeletedObject[*corev1.Pod]) {
	j.Note("delete %s %s, unknown %t", deleted.GetKey(), describeOptional(deleted.OptionalObj), deleted.FinalStateUnknown != nil)
}

func describeOptional(p *corev1.Pod) string {
	if p == nil {
		return "nothing"
	}
	return testkit.Describe(p)
}

// TestDeliverTyped: the handler hears of everything, typed, and as the Delivery says.
func TestDeliverTyped(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		e.source.Put(testkit.Pod("b", "1"))
		synctest.Wait()
		release := make(chan struct{})
		handler := &typedJournal{}
		handler.On = func(string) { <-release }
		informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](e.informer)
		registration, err := informer.AddEventHandler(cache.DeliverTyped(handler, cache.Delivery{Name: "typed", Overflow: cache.OverflowCoalesce}))
		require.NoError(e, err)
		for range 3 {
			e.change("a", 3)
		}
		e.source.Remove("b")
		synctest.Wait()
		close(release)
		synctest.Wait()
		statistics := registration.(cache.MeasuredRegistration).Stats()
		assert.Equal(e, "typed", statistics.Name)
		assert.NotZero(e, statistics.Coalesced)
		lines := handler.Take()
		assert.Less(e, len(lines), 5)
		handler.Take()
		e.source.Remove("a")
		synctest.Wait()
		assert.Equal(e, []string{"delete ns/a a3, unknown false"}, handler.Take())
	})
}

// TestDeliverTypedOfTombstones: what is known of a deleted object is told, as client-go's own
// adapter does.
func TestDeliverTypedOfTombstones(t *testing.T) {
	handler := &typedJournal{}
	untyped := cache.DeliverTyped(handler, cache.Delivery{})
	theirs := testkit.AsClientGoAdaptsIt(t, handler)
	for _, obj := range []any{testkit.Pod("a", "1"), cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: testkit.Pod("a", "1")}, cache.DeletedFinalStateUnknown{Key: "ns/a"}} {
		untyped.OnDelete(obj)
		ours := handler.Take()
		theirs.OnDelete(obj)
		assert.Equal(t, handler.Take(), ours)
		assert.Len(t, ours, 1)
	}
	untyped.OnUpdate(testkit.Pod("a", "1"), testkit.Pod("a", "2"))
	assert.Equal(t, []string{"update a1 a2"}, handler.Take())
	assert.Panics(t, func() { untyped.OnAdd(&corev1.Node{}, false) })
	assert.Panics(t, func() { theirs.OnAdd(&corev1.Node{}, false) })
}

// TestDeliverTypedIsChecked: as Deliver is.
func TestDeliverTypedIsChecked(t *testing.T) {
	informer := cache.NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, 0, nil)
	_, err := informer.AddEventHandler(cache.DeliverTyped[*corev1.Pod](nil, cache.Delivery{}))
	assert.ErrorIs(t, err, cache.ErrNilHandler)
	_, err = informer.AddEventHandler(cache.DeliverTyped(&typedJournal{}, cache.Delivery{Parallel: -1}))
	assert.ErrorIs(t, err, cache.ErrBadDelivery)
	_, err = informer.AddEventHandler(cache.Deliver(cache.DeliverTyped(&typedJournal{}, cache.Delivery{}), cache.Delivery{}))
	assert.ErrorIs(t, err, cache.ErrBadDelivery)
	assert.Zero(t, informer.(ownInformer).EventHandlerCount())
}

// generatedPods are the pod informers of a generated factory that makes ours.
func generatedPods(source cache.ListerWatcher) coreinformers.PodInformer {
	factory := informers.NewSharedInformerFactory(nil, 0)
	factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
	return factory.Core().V1().Pods()
}

// handedOut is what controller-runtime's caches hand out an informer as, more or less.
type handedOut interface {
	HasSynced() bool
	HasSyncedChecker() cache.DoneChecker
	IsStopped() bool
}

// TestEverythingIsKnownOfWhatFactoriesHandOut: without a type assertion of the user.
func TestEverythingIsKnownOfWhatFactoriesHandOut(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		pods := generatedPods(e.source)
		go pods.Informer().RunWithContext(e.Context())
		require.NoError(e, cache.WaitForSync(e.Context(), pods.Informer()))
		typed := coreinformers.ToTypedPodInformer(pods).TypedInformer()
		own := pods.Informer()
		for name, informer := range map[string]handedOut{
			"generated": own, "generated, typed": typed, "typed again": coreinformers.ToPodIndexInformer(own),
			"typed twice": cache.NewTypedSharedIndexInformer[*corev1.Pod](typed), "wrapped": struct{ cache.SharedIndexInformer }{typed},
		} {
			status, err := cache.StatusOf(informer)
			require.NoError(e, err, name)
			assert.True(e, status.Synced, name)
			assert.Equal(e, 1, status.Objects, name)
			_, ok := cache.QueueStatsOf(informer)
			assert.True(e, ok, name)
			assertSnapshot(e, informer)
			assert.NoError(e, cache.WaitForVersion(e.Context(), informer, "1"), name)
		}
		for _, indexer := range []cache.Store{own.GetIndexer(), own.GetStore(), typed.GetIndexer(), typed.GetTypedIndexer(), cache.NewTypedSharedIndexInformer[*corev1.Pod](typed).GetTypedIndexer()} {
			assertSnapshot(e, indexer)
			assert.NotNil(e, cache.StoreOf(indexer), "All, Len and their kin do not copy")
			_, ok := cache.IndexFailures(indexer)
			assert.True(e, ok)
		}
	})
}

func assertSnapshot(e *exact, storeOrInformer any) {
	name := fmt.Sprintf("%T", storeOrInformer)
	snapshot, err := cache.SnapshotOf(storeOrInformer)
	require.NoError(e, err, name)
	assert.Equal(e, 1, snapshot.Len(), name)
	stats, ok := cache.SnapshotStatsOf(storeOrInformer)
	assert.True(e, ok, name)
	assert.Equal(e, 1, stats.Open, name)
	snapshot.Close()
}

// filtered is an indexer that shows only some of another one.
type filtered struct{ cache.Indexer }

func (filtered) ListKeys() []string { return []string{"ns/a"} }

// wrapsItself is an informer that is not ours and passes itself on.
type wrapsItself struct{ cache.SharedIndexInformer }

func (w wrapsItself) GetController() cache.Controller { return w }

// TestWhatIsNotOursIsNotSupported: nor are wrappers of stores that may show something else than
// what is inside.
func TestWhatIsNotOursIsNotSupported(t *testing.T) {
	foreign := clientgo.NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, 0, nil)
	typed := clientgo.NewTypedSharedIndexInformer[*corev1.Pod](foreign)
	for _, informer := range []handedOut{foreign, typed, wrapsItself{foreign}} {
		_, err := cache.StatusOf(informer)
		assert.ErrorIs(t, err, cache.ErrNotSupported)
		_, ok := cache.QueueStatsOf(informer)
		assert.False(t, ok)
		assert.ErrorIs(t, cache.WaitForVersion(t.Context(), informer, "1"), cache.ErrNotSupported)
	}
	partial := filtered{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	require.NoError(t, partial.Add(testkit.Pod("a", "1")))
	require.NoError(t, partial.Add(testkit.Pod("b", "1")))
	for _, store := range []any{foreign, typed, foreign.GetStore(), typed.GetTypedIndexer(), partial, (*corev1.Pod)(nil), nil} {
		_, err := cache.SnapshotOf(store)
		assert.ErrorIs(t, err, cache.ErrForeignStore)
		_, ok := cache.SnapshotStatsOf(store)
		assert.False(t, ok)
	}
	assert.Equal(t, 1, cache.Len(partial))
	next, stop := iter.Pull2(cache.TypedAll[*corev1.Pod](partial))
	defer stop()
	key, _, _ := next()
	assert.Equal(t, "ns/a", key)
	_, _, more := next()
	assert.False(t, more)
	assert.Nil(t, cache.StoreOf(nil))
}
