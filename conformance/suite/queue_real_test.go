// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestRealFIFO(t *testing.T) {
	onEach(t, []queueCase{
		{"passes on everything in order", realPassesEverything},
		{"Replace deletes first, then replaces in order", realReplace},
		{"Replace deletes what lookups fail for, without object", realReplaceBrokenLookups},
		{"Replace with duplicate keys", realReplaceDuplicates},
		{"an atomic Replace is one delta", realReplaceAtomic},
		{"Resync passes over queued keys and does not resurrect", realResync},
		{"an atomic Resync is one delta", realResyncAtomic},
		{"bookmarks", realBookmark},
		{"options that do not fit together panic", realRefusals},
		{"transforms all but tombstones and syncs", realTransforms},
		{"a failing transform drops the item, or the whole list", realTransformError},
		{"names", realName},
		{"defaults", realDefaults},
		{"writers wait while an item is processed", realLocked},
		{"writers go on while an item is processed, unlocking", realUnlocked},
		{"metrics", realMetrics},
		{"the depth after a bookmark", realBookmarkDepth},
	})
}

func newReal(impl implementation, opts cache.RealFIFOOptions) cache.QueueWithBatch {
	if opts.KeyFunction == nil {
		opts.KeyFunction = keyOrRefuse
	}
	if opts.KnownObjects == nil && !opts.AtomicEvents {
		opts.KnownObjects = known()
	}
	return impl.queues.real(opts)
}

func newAtomic(impl implementation) cache.QueueWithBatch {
	return newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
}

func realPassesEverything(t *testing.T, impl implementation) {
	for _, opts := range []cache.RealFIFOOptions{{}, {AtomicEvents: true}} {
		q := newReal(impl, opts)
		require.NoError(t, q.Add(pod("a", "1")))
		require.NoError(t, q.Add(pod("b", "2")))
		require.NoError(t, q.Update(pod("a", "3")))
		require.NoError(t, q.Delete(pod("a", "4")))
		require.NoError(t, q.Delete(pod("a", "5")))
		require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "ns/none"}))
		assert.Equal(t, []string{
			"[Added a@1]", "[Added b@2]", "[Updated a@3]", "[Deleted a@4]", "[Deleted a@5]", "[Deleted gone(nil)]",
		}, drain(t, q))
	}
}

func realReplace(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{KnownObjects: known(pod("known", "1"), pod("kept", "2"), pod("both", "3"))})
	require.NoError(t, q.Add(pod("queued", "4")))
	require.NoError(t, q.Update(pod("both", "5")))
	require.NoError(t, q.Add(pod("deleted", "6")))
	require.NoError(t, q.Delete(pod("deleted", "7")))
	require.NoError(t, q.Replace([]any{pod("z", "8"), pod("kept", "9"), pod("a", "10")}, "10"))
	assert.Equal(t, []string{
		"[Added queued@4]", "[Updated both@5]", "[Added deleted@6]", "[Deleted deleted@7]",
		"[Deleted gone(queued@4)]", "[Deleted gone(both@5)]", "[Deleted gone(known@1)]",
		"[Replaced z@8]", "[Replaced kept@9]", "[Replaced a@10]",
	}, drain(t, q))
}

func realReplaceBrokenLookups(t *testing.T, impl implementation) {
	for _, lookups := range []cache.KeyListerGetter{broken{"ns/a"}, vanished{"ns/a"}} {
		q := newReal(impl, cache.RealFIFOOptions{KnownObjects: lookups})
		require.NoError(t, q.Replace(nil, "1"))
		require.NoError(t, q.Resync())
		assert.Equal(t, popped{"[Deleted gone(nil)]", true}, pop(t, q))
		assert.True(t, q.HasSynced(), "synthetic deletes belong to the first list")
		require.NoError(t, q.Resync())
		assert.Empty(t, drain(t, q), "nothing to sync without the object")
	}
}

func realReplaceDuplicates(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{})
	require.NoError(t, q.Replace([]any{pod("a", "1"), pod("b", "2"), pod("a", "3")}, "3"))
	for _, want := range []string{"[Replaced a@1]", "[Replaced b@2]", "[Replaced a@3]"} {
		assert.False(t, q.HasSynced())
		assert.Equal(t, popped{want, true}, pop(t, q))
	}
	assert.True(t, q.HasSynced())
}

func realReplaceAtomic(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, q.Replace([]any{pod("z", "1"), pod("a", "2"), pod("z", "3")}, "7"))
	require.NoError(t, q.Add(pod("b", "8")))
	require.NoError(t, q.Replace(nil, "9"))
	assert.Equal(t, []string{"[ReplacedAll all@7[z@1 a@2 z@3]]", "[Added b@8]", "[ReplacedAll all@9[]]"}, drain(t, q))
}

func realResync(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{KnownObjects: known(pod("a", "1"), pod("b", "2"), pod("c", "3"))})
	require.NoError(t, q.Update(pod("a", "4")))
	require.NoError(t, q.Delete(pod("b", "5")))
	require.NoError(t, q.Resync())
	require.NoError(t, q.Resync())
	assert.Equal(t, []string{"[Updated a@4]", "[Deleted b@5]", "[Sync c@3]"}, drain(t, q))
}

func realResyncAtomic(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, q.Resync())
	assert.False(t, q.HasSynced(), "a resync is no list")
	require.NoError(t, q.Update(pod("a", "4")))
	require.NoError(t, q.Resync())
	assert.Equal(t, []string{"[SyncAll all]", "[Updated a@4]", "[SyncAll all]"}, drain(t, q))
}

func bookmarks(t *testing.T, q cache.Queue) cache.ReflectorBookmarkStore {
	t.Helper()
	store, ok := q.(cache.ReflectorBookmarkStore)
	require.True(t, ok)
	return store
}

func realBookmark(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, bookmarks(t, q).Bookmark("1"))
	assert.False(t, q.HasSynced(), "a bookmark is no list")
	require.NoError(t, q.Replace([]any{pod("a", "2")}, "2"))
	require.NoError(t, bookmarks(t, q).Bookmark("3"))
	assert.Equal(t, popped{"[Bookmark @1]", true}, pop(t, q))
	assert.False(t, q.HasSynced())
	assert.Equal(t, popped{"[ReplacedAll all@2[a@2]]", true}, pop(t, q))
	assert.True(t, q.HasSynced())
	assert.Equal(t, []string{"[Bookmark @3]"}, drain(t, q))

	silent := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true})
	require.NoError(t, bookmarks(t, silent).Bookmark("1"))
	assert.Empty(t, drain(t, silent))
}

func realRefusals(t *testing.T, impl implementation) {
	for what, opts := range map[string]cache.RealFIFOOptions{
		"atomic with known objects":    {AtomicEvents: true, KnownObjects: known()},
		"unlocking without atomic":     {UnlockWhileProcessing: true, KnownObjects: known()},
		"bookmarks without atomic":     {EmitDeltaTypeBookmark: true, KnownObjects: known()},
		"neither atomic nor knowledge": {},
	} {
		assert.Panics(t, func() { impl.queues.real(opts) }, what)
	}
}

func realTransforms(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{KnownObjects: known(pod("k", "9")), Transformer: shout})
	transforming, ok := q.(cache.TransformingStore)
	require.True(t, ok)
	assert.NotNil(t, transforming.Transformer())
	require.NoError(t, q.Resync())
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Update(pod("a", "2")))
	require.NoError(t, q.Delete(pod("a", "3")))
	require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "4")}))
	require.NoError(t, q.Replace([]any{pod("r", "5")}, "5"))
	assert.Equal(t, []string{
		"[Sync k@9]", "[Added a@1!]", "[Updated a@2!]", "[Deleted a@3!]", "[Deleted gone(a@4)]", "[Deleted gone(k@9)]",
		"[Replaced r@5!]",
	}, drain(t, q))

	q = newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Transformer: shout})
	given := []any{pod("r", "5"), pod("s", "6")}
	require.NoError(t, q.Replace(given, "7"))
	assert.Equal(t, []string{"[ReplacedAll all@7[r@5! s@6!]]"}, drain(t, q))
}

func realTransformError(t *testing.T, impl implementation) {
	for _, atomic := range []bool{false, true} {
		q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: atomic, Transformer: refuse})
		assert.ErrorIs(t, q.Replace([]any{pod("bad", "1")}, "1"), errRefused)
		assert.False(t, q.HasSynced(), "a list that failed is no list")
		assert.ErrorIs(t, q.Add(pod("bad", "2")), errRefused)
		assert.ErrorIs(t, q.Update(pod("bad", "3")), errRefused)
		assert.ErrorIs(t, q.Delete(pod("bad", "4")), errRefused)
		assert.True(t, q.HasSynced(), "a write that failed was a write")
		assert.Empty(t, drain(t, q))
	}
}

func realName(t *testing.T, impl implementation) {
	id := reservedName(t, "informer")
	assert.Equal(t, "RealFIFO", newAtomic(impl).HasSyncedChecker().Name())
	named := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Name: "mine", Identifier: id, MetricsProvider: newMetrics()})
	assert.Equal(t, "informer", named.HasSyncedChecker().Name(), "the identifier's name is stronger")
}

func realDefaults(t *testing.T, impl implementation) {
	q := impl.queues.real(cache.RealFIFOOptions{AtomicEvents: true})
	require.NoError(t, q.Add(pod("a", "1")), "the key function defaults to MetaNamespaceKeyFunc")
	assert.Error(t, q.Add("junk"))
	assert.Equal(t, []string{"[Added a@1]"}, drain(t, q))
	delta := impl.queues.delta(cache.DeltaFIFOOptions{})
	require.NoError(t, delta.Add(pod("a", "1")))
	assert.Equal(t, []string{"[Added a@1]"}, drain(t, delta))
}

// addWhileProcessing adds an item from another goroutine during a Pop and returns what ended first.
func addWhileProcessing(t *testing.T, q cache.QueueWithBatch, wait bool) (order []string) {
	require.NoError(t, q.Add(pod("a", "1")))
	begun, ended := make(chan struct{}), make(chan struct{})
	events := make(chan string, 2)
	_, err := q.Pop(func(any, bool) error {
		go func() {
			defer close(ended)
			close(begun)
			assert.NoError(t, q.Add(pod("b", "2")))
			events <- "added"
		}()
		<-begun
		if wait {
			<-ended
		} else {
			for range 100 {
				runtime.Gosched()
			}
		}
		events <- "processed"
		return nil
	})
	require.NoError(t, err)
	<-ended
	return []string{<-events, <-events}
}

func realLocked(t *testing.T, impl implementation) {
	for _, opts := range []cache.RealFIFOOptions{{}, {AtomicEvents: true}} {
		assert.Equal(t, []string{"processed", "added"}, addWhileProcessing(t, newReal(impl, opts), false))
	}
}

func realUnlocked(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	assert.Equal(t, []string{"added", "processed"}, addWhileProcessing(t, q, true))
	assert.Equal(t, []string{"[Added b@2]"}, drain(t, q))
}

func realMetrics(t *testing.T, impl implementation) {
	m := newMetrics()
	id := reservedName(t, "fifo")
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Identifier: id, MetricsProvider: m})
	assert.Equal(t, []cache.InformerNameAndResource{id, id}, m.ids(), "depth and latency, no store")
	assert.Equal(t, 0, m.made("version"))
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Update(pod("a", "2")))
	require.NoError(t, q.Delete(pod("a", "3")))
	assert.Equal(t, 3.0, m.queued.last())
	require.NoError(t, q.Replace(nil, "4"))
	require.NoError(t, q.Resync())
	assert.Equal(t, 5.0, m.queued.last())
	assert.Equal(t, 0, m.latency.count())
	for range 5 {
		pop(t, q)
	}
	assert.Equal(t, 0.0, m.queued.last())
	assert.Equal(t, 5, m.latency.count(), "one for each Pop")

	unreserved := newMetrics()
	newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, MetricsProvider: unreserved})
	assert.Empty(t, unreserved.ids())
}

func realBookmarkDepth(t *testing.T, impl implementation) {
	m := newMetrics()
	q := newReal(impl, cache.RealFIFOOptions{
		AtomicEvents: true, EmitDeltaTypeBookmark: true, Identifier: reservedName(t, "fifo"), MetricsProvider: m,
	})
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, bookmarks(t, q).Bookmark("2"))
	assert.Equal(t, differs(t, impl, "the depth counts a bookmark when it is put, not only from the next write on", 1.0, 2.0), m.queued.last())
}
