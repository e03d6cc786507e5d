// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
)

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

// queueModel is what a queue that keeps deltas should hold, in the plainest form: all deltas in
// order of arrival.
type queueModel struct {
	known   knownItems
	waiting []keyedDelta
}

type keyedDelta struct {
	key string
	cache.Delta
}

func (m *queueModel) lastOf(key string) (cache.Delta, bool) {
	for _, d := range slices.Backward(m.waiting) {
		if d.key == key {
			return d.Delta, true
		}
	}
	return cache.Delta{}, false
}

func (m *queueModel) put(key string, typ cache.DeltaType, obj any) {
	m.waiting = append(m.waiting, keyedDelta{key, cache.Delta{Type: typ, Object: obj}})
}

// tombstones are the deletions that a list implies, first for what waits, then for what is known,
// sorted by key.
func (m *queueModel) tombstones(listed []item) (deltas []keyedDelta) {
	keys := sets.New[string]()
	for _, it := range listed {
		keys.Insert(it.key)
	}
	seen := sets.New[string]()
	for _, d := range m.waiting {
		if seen.Has(d.key) || keys.Has(d.key) {
			continue
		}
		seen.Insert(d.key)
		last, _ := m.lastOf(d.key)
		deltas = append(deltas, keyedDelta{d.key, cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: d.key, Obj: bare(last.Object)}}})
	}
	for _, key := range m.known.ListKeys() {
		if !seen.Has(key) && !keys.Has(key) {
			deltas = append(deltas, keyedDelta{key, cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: m.known[key]}}})
		}
	}
	return deltas
}

func bare(obj any) any {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return obj
}

func anyOf(items []item) []any {
	list := make([]any, len(items))
	for i, it := range items {
		list[i] = it
	}
	return list
}

var (
	drawItem = rapid.Custom(func(t *rapid.T) item {
		return item{key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"), value: rapid.IntRange(0, 99).Draw(t, "value")}
	})
	drawItems = rapid.SliceOfNDistinct(drawItem, 0, 4, func(it item) string { return it.key })
)

// realFIFORig drives a RealFIFO without atomic events and its model alike. known follows what was
// popped, as a store would.
type realFIFORig struct {
	fifo  *cache.RealFIFO
	model queueModel
}

func (r *realFIFORig) put(t *rapid.T, typ cache.DeltaType, put func(any) error) {
	it := drawItem.Draw(t, "item")
	require.NoError(t, put(it))
	r.model.put(it.key, typ, it)
}

func (r *realFIFORig) replace(t *rapid.T) {
	items := drawItems.Draw(t, "list")
	require.NoError(t, r.fifo.Replace(anyOf(items), "1"))
	for _, d := range r.model.tombstones(items) {
		if last, waits := r.model.lastOf(d.key); !waits || last.Type != cache.Deleted {
			r.model.waiting = append(r.model.waiting, d)
		}
	}
	for _, it := range items {
		r.model.put(it.key, cache.Replaced, it)
	}
}

func (r *realFIFORig) resync(t *rapid.T) {
	require.NoError(t, r.fifo.Resync())
	for _, key := range r.model.known.ListKeys() {
		if _, waits := r.model.lastOf(key); !waits {
			r.model.put(key, cache.Sync, r.model.known[key])
		}
	}
}

func (r *realFIFORig) pop(t *rapid.T) {
	if len(r.model.waiting) == 0 {
		return
	}
	popped, err := r.fifo.Pop(func(obj any, _ bool) error { return nil })
	require.NoError(t, err)
	require.Equal(t, cache.Deltas{r.model.waiting[0].Delta}, popped)
	r.apply(r.model.waiting[0])
	r.model.waiting = r.model.waiting[1:]
}

func (r *realFIFORig) popBatch(t *rapid.T) {
	if len(r.model.waiting) == 0 {
		return
	}
	var popped []cache.Delta
	require.NoError(t, r.fifo.PopBatch(func(deltas []cache.Delta, _ bool) error {
		assert.Greater(t, len(deltas), 1, "a batch of one goes to processSingle")
		popped = deltas
		return nil
	}, func(obj any, _ bool) error {
		popped = obj.(cache.Deltas)
		return nil
	}))
	seen := sets.New[string]()
	for i, delta := range popped {
		next := r.model.waiting[i]
		require.Equal(t, next.Delta, delta)
		require.False(t, seen.Has(next.key), "key %s twice in one batch", next.key)
		seen.Insert(next.key)
		r.apply(next)
	}
	r.model.waiting = r.model.waiting[len(popped):]
}

func (r *realFIFORig) apply(d keyedDelta) {
	if d.Type == cache.Deleted {
		delete(r.model.known, d.key)
	} else {
		r.model.known[d.key] = d.Object.(item)
	}
}

// driveRealFIFO does any operations to a RealFIFO and its model.
func driveRealFIFO(t *rapid.T) *realFIFORig {
	known := knownItems{}
	r := &realFIFORig{
		fifo:  cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, KnownObjects: known}),
		model: queueModel{known: known},
	}
	t.Repeat(map[string]func(*rapid.T){
		"add":      func(t *rapid.T) { r.put(t, cache.Added, r.fifo.Add) },
		"update":   func(t *rapid.T) { r.put(t, cache.Updated, r.fifo.Update) },
		"delete":   func(t *rapid.T) { r.put(t, cache.Deleted, r.fifo.Delete) },
		"replace":  r.replace,
		"resync":   r.resync,
		"pop":      r.pop,
		"popBatch": r.popBatch,
	})
	return r
}

func TestRealFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := driveRealFIFO(t)
		for len(r.model.waiting) > 0 {
			r.pop(t)
		}
		r.fifo.Close()
		_, err := r.fifo.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed)
	})
}

// deltaFIFORig drives a DeltaFIFO and its model alike. The model's known objects stay empty if the
// DeltaFIFO has none.
type deltaFIFORig struct {
	fifo   *cache.DeltaFIFO
	model  queueModel
	knows  bool
	closed bool
}

func (r *deltaFIFORig) close(*rapid.T) {
	r.fifo.Close()
	r.closed = true
}

func (r *deltaFIFORig) put(t *rapid.T, typ cache.DeltaType, put func(any) error) {
	it := drawItem.Draw(t, "item")
	require.NoError(t, put(it))
	r.queue(it.key, typ, it)
}

// queue appends to the model what a DeltaFIFO should append: no deletion of the unknown, one
// deletion in a row.
func (r *deltaFIFORig) queue(key string, typ cache.DeltaType, obj any) {
	last, waits := r.model.lastOf(key)
	if _, known := r.model.known[key]; typ == cache.Deleted && !waits && !known {
		return
	}
	if typ == cache.Deleted && waits && last.Type == cache.Deleted {
		if _, unknown := last.Object.(cache.DeletedFinalStateUnknown); unknown {
			for i, d := range slices.Backward(r.model.waiting) {
				if d.key == key {
					r.model.waiting[i].Object = obj
					return
				}
			}
		}
		return
	}
	r.model.put(key, typ, obj)
}

func (r *deltaFIFORig) replace(t *rapid.T) {
	items := drawItems.Draw(t, "list")
	require.NoError(t, r.fifo.Replace(anyOf(items), "1"))
	tombstones := r.model.tombstones(items)
	for _, it := range items {
		r.queue(it.key, cache.Replaced, it)
	}
	for _, d := range tombstones {
		r.queue(d.key, cache.Deleted, d.Object)
	}
}

func (r *deltaFIFORig) resync(t *rapid.T) {
	require.NoError(t, r.fifo.Resync())
	for _, key := range r.model.known.ListKeys() {
		if _, waits := r.model.lastOf(key); !waits {
			r.model.put(key, cache.Sync, r.model.known[key])
		}
	}
}

// pop takes whichever key the queue hands out: after a Replace the order among the deletions is not
// promised. All other keys must come in order of arrival.
func (r *deltaFIFORig) pop(t *rapid.T) {
	if len(r.model.waiting) == 0 {
		if r.closed {
			_, err := r.fifo.Pop(take)
			require.ErrorIs(t, err, cache.ErrFIFOClosed)
		}
		return
	}
	popped, err := r.fifo.Pop(func(any, bool) error { return nil })
	require.NoError(t, err)
	key, err := r.fifo.KeyOf(popped)
	require.NoError(t, err)
	var want cache.Deltas
	rest := r.model.waiting[:0:0]
	for _, d := range r.model.waiting {
		if d.key == key {
			want = append(want, d.Delta)
		} else {
			rest = append(rest, d)
		}
	}
	require.Equal(t, want, popped)
	if first := r.model.waiting[0]; first.key != key {
		_, tombstone := want[0].Object.(cache.DeletedFinalStateUnknown)
		_, firstTombstone := first.Object.(cache.DeletedFinalStateUnknown)
		require.True(t, tombstone && firstTombstone, "%s came before %s", key, first.key)
	}
	r.model.waiting = rest
	if !r.knows {
		return
	}
	if last := want.Newest(); last.Type == cache.Deleted {
		delete(r.model.known, key)
	} else {
		r.model.known[key] = last.Object.(item)
	}
}

func TestDeltaFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := knownItems{}
		options := cache.DeltaFIFOOptions{KeyFunction: itemKey, EmitDeltaTypeReplaced: true}
		knows := rapid.Bool().Draw(t, "with known objects")
		if knows {
			options.KnownObjects = known
		}
		r := &deltaFIFORig{fifo: cache.NewDeltaFIFOWithOptions(options), model: queueModel{known: known}, knows: knows}
		t.Repeat(map[string]func(*rapid.T){
			"add":     func(t *rapid.T) { r.put(t, cache.Added, r.fifo.Add) },
			"update":  func(t *rapid.T) { r.put(t, cache.Updated, r.fifo.Update) },
			"delete":  func(t *rapid.T) { r.put(t, cache.Deleted, r.fifo.Delete) },
			"replace": r.replace,
			"resync":  r.resync,
			"pop":     r.pop,
			"close":   r.close,
		})
		for len(r.model.waiting) > 0 {
			r.pop(t)
		}
	})
}

// TestFIFOAgainstModel: the newest state of each waiting object, in order of first arrival.
func TestFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fifo := cache.NewFIFO(itemKey)
		waiting := map[string]item{}
		put := func(t *rapid.T) {
			it := drawItem.Draw(t, "item")
			require.NoError(t, fifo.Add(it))
			waiting[it.key] = it
		}
		pop := func(t *rapid.T) {
			if len(waiting) == 0 {
				return
			}
			obj, err := fifo.Pop(func(any, bool) error { return nil })
			require.NoError(t, err)
			key := obj.(item).key
			require.Equal(t, waiting[key], obj, fmt.Sprintf("state of %s", key))
			delete(waiting, key)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": put,
			"pop": pop,
			"delete": func(t *rapid.T) {
				it := drawItem.Draw(t, "item")
				require.NoError(t, fifo.Delete(it))
				delete(waiting, it.key)
			},
			"replace": func(t *rapid.T) {
				items := drawItems.Draw(t, "list")
				require.NoError(t, fifo.Replace(anyOf(items), ""))
				clear(waiting)
				for _, it := range items {
					waiting[it.key] = it
				}
			},
			"resync": func(t *rapid.T) { require.NoError(t, fifo.Resync()) },
		})
		for len(waiting) > 0 {
			pop(t)
		}
	})
}
