// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// atomicRig drives a RealFIFO with atomic events and the plainest model of one: all deltas in order
// of arrival, and how many of the first ones make up the initial list.
type atomicRig struct {
	fifo      *cache.RealFIFO
	waiting   []keyedDelta // with key "" for those that are alone in a batch
	populated bool
	initial   int
	closed    bool
}

func (r *atomicRig) put(typ cache.DeltaType, put func(any) error) func(*rapid.T) {
	return func(t *rapid.T) {
		it := drawItem.Draw(t, "item")
		require.NoError(t, put(it))
		r.populated = true
		r.waiting = append(r.waiting, keyedDelta{it.key, delta(typ, it)})
	}
}

func (r *atomicRig) putBatch(t *rapid.T) {
	items := drawItems.Draw(t, "batch")
	batch := make([]event.Record, len(items))
	for i, it := range items {
		batch[i] = event.Record{Type: cache.Updated, Object: it}
		r.waiting = append(r.waiting, keyedDelta{it.key, delta(cache.Updated, it)})
	}
	r.populated = r.populated || len(items) > 0
	require.Empty(t, cache.EngineOf(r.fifo).PutBatch(batch))
}

func (r *atomicRig) replace(t *rapid.T) {
	items := anyOf(drawItems.Draw(t, "list"))
	require.NoError(t, r.fifo.Replace(items, "1"))
	r.waiting = append(r.waiting, keyedDelta{"", delta(cache.ReplacedAll, cache.ReplacedAllInfo{ResourceVersion: "1", Objects: items})})
	if !r.populated {
		r.populated, r.initial = true, len(r.waiting)
	}
}

func (r *atomicRig) resync(t *rapid.T) {
	require.NoError(t, r.fifo.Resync())
	r.waiting = append(r.waiting, keyedDelta{"", delta(cache.SyncAll, cache.SyncAllInfo{})})
}

func (r *atomicRig) bookmark(t *rapid.T) {
	require.NoError(t, r.fifo.Bookmark("7"))
	r.waiting = append(r.waiting, keyedDelta{"", delta(cache.Bookmark, cache.BookmarkInfo{ResourceVersion: "7"})})
}

func (r *atomicRig) close(*rapid.T) {
	r.fifo.Close()
	r.closed = true
}

// took checks what was taken against the front of the model.
func (r *atomicRig) took(t *rapid.T, taken []cache.Delta, isInInitialList bool) {
	require.NotEmpty(t, taken)
	assert.Equal(t, r.initial > 0 || !r.populated, isInInitialList)
	keys := sets.New[string]()
	for i, d := range taken {
		next := r.waiting[i]
		require.Equal(t, next.Delta, d)
		require.False(t, keys.Has(next.key) || next.key == "" && len(taken) > 1, "%v", taken)
		keys.Insert(next.key)
	}
	if r.initial > 0 {
		require.LessOrEqual(t, len(taken), r.initial, "beyond the end of the initial list")
		r.initial -= len(taken)
	}
	r.waiting = r.waiting[len(taken):]
}

func (r *atomicRig) pop(t *rapid.T) {
	r.popBy(t, func(took func([]cache.Delta, bool) error) error {
		_, err := r.fifo.Pop(func(obj any, initial bool) error { return took(obj.(cache.Deltas), initial) })
		return err
	})
}

func (r *atomicRig) popBatch(t *rapid.T) {
	r.popBy(t, func(took func([]cache.Delta, bool) error) error {
		return r.fifo.PopBatch(took, func(obj any, initial bool) error { return took(obj.(cache.Deltas), initial) })
	})
}

func (r *atomicRig) popBy(t *rapid.T, pop func(took func([]cache.Delta, bool) error) error) {
	if len(r.waiting) == 0 && !r.closed {
		return
	}
	if len(r.waiting) == 0 {
		require.ErrorIs(t, pop(nil), cache.ErrFIFOClosed)
		return
	}
	require.NoError(t, pop(func(taken []cache.Delta, initial bool) error {
		r.took(t, taken, initial)
		return nil
	}))
}

func (r *atomicRig) check(t *rapid.T) {
	assert.Equal(t, r.populated && r.initial == 0, r.fifo.HasSynced())
	assert.Equal(t, r.closed, r.fifo.IsClosed())
	assert.Equal(t, len(r.waiting), depthOf(r.fifo))
}

// atomicOperations does any operations to a RealFIFO with atomic events and its model.
func atomicOperations(t *rapid.T) {
	r := &atomicRig{fifo: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		KeyFunction: itemKey, AtomicEvents: true, EmitDeltaTypeBookmark: true,
		UnlockWhileProcessing: rapid.Bool().Draw(t, "unlocked"),
	})}
	t.Repeat(map[string]func(*rapid.T){
		"add":      r.put(cache.Added, r.fifo.Add),
		"update":   r.put(cache.Updated, r.fifo.Update),
		"delete":   r.put(cache.Deleted, r.fifo.Delete),
		"batch":    r.putBatch,
		"replace":  r.replace,
		"resync":   r.resync,
		"bookmark": r.bookmark,
		"pop":      r.pop,
		"popBatch": r.popBatch,
		"close":    r.close,
		"":         r.check,
	})
	for len(r.waiting) > 0 {
		r.pop(t)
	}
}

func TestAtomicRealFIFOAgainstModel(t *testing.T) { rapid.Check(t, atomicOperations) }
