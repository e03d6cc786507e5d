// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/testkit/draw"
)

const modelKeys = 300

var (
	modelIndexes = []string{"first", "second", "third"}
	modelValues  = []string{"", "a", "b", "c", "d"}
)

func modelKey(i int) string { return "key-" + strconv.Itoa(i) }

// modelQueries are all queries that tables and snapshots share.
var modelQueries = func() []query {
	keys := make([]string, modelKeys)
	for i := range keys {
		keys[i] = modelKey(i)
	}
	among := append(modelValues, "wrong")
	ask := append(everyQuery(keys, modelIndexes, among), loopOf("", ""))
	for _, index := range modelIndexes {
		for _, value := range among {
			ask = append(ask, loopOf(index, value))
		}
	}
	return ask
}()

// loopOf loops over the objects with a value in an index, or over all with the index "".
func loopOf(index, value string) query {
	return func(of readable) (fits, note) {
		seq, err := sequence(of, index, value)
		if err != nil {
			return func(c contents) bool { return asIndexed(c, index, err) }, notef("ByIndexSeq(%s) = %v", index, err)
		}
		var got tally
		found := map[string]any{}
		for key, obj := range seq {
			got.add(obj.(*item).weights, 1)
			found[key] = obj
		}
		return func(c contents) bool {
			for key, obj := range found {
				if c.object(key) != obj {
					return false
				}
			}
			return (index == "" || c.has(index)) && got == c.members(index, value)
		}, notef("a loop over %s, %s = %v", index, value, found)
	}
}

// machine drives a table and the model with the same random calls.
type machine struct {
	table    *Table
	model    *state
	serial   int
	failures int
	expected int
	held     []heldSnapshot
}

type heldSnapshot struct {
	snapshot *Snapshot
	model    *state
}

func (x *machine) item(t *draw.T, key string) *item {
	x.serial++
	it := newItem(key, x.serial)
	for _, index := range modelIndexes {
		it.values[index] = draw.Slice(t, 0, 3, func() string { return draw.Of(t, modelValues...) })
		if draw.Int(t, 0, 7) == 0 {
			it.broken[index] = draw.Of(t, "error", "panic")
		}
	}
	return it
}

// expect counts the failures expected from filing an object in these indexes.
func (x *machine) expect(it *item, indexes []string) {
	for _, index := range indexes {
		if it.broken[index] != "" {
			x.expected++
		}
	}
}

func (x *machine) op(t *draw.T, keys int) Op {
	key := modelKey(draw.Int(t, 0, keys))
	if draw.Int(t, 0, 2) == 0 {
		delete(x.model.items, key)
		return Op{Key: key, Delete: true}
	}
	it := x.item(t, key)
	x.expect(it, x.model.indexes)
	x.model.items[key] = it
	return Op{Key: key, Object: it}
}

// Transaction applies a few operations, some of them on the same key.
func (x *machine) Transaction(t *draw.T) {
	before := maps.Clone(x.model.items)
	ops := make([]Op, draw.Int(t, 0, 5))
	for i := range ops {
		ops[i] = x.op(t, 8)
	}
	x.apply(t, ops, before)
}

func (x *machine) apply(t *draw.T, ops []Op, before map[string]*item) {
	var stamp Stamp
	if t.Bool() {
		old := x.model.rv
		x.model.rv = strconv.Itoa(x.serial)
		stamp = func(current string) string {
			require.Equal(t, old, current)
			return x.model.rv
		}
	}
	x.table.Apply(ops, stamp)
	require.NoError(t, checkOld(before, ops))
}

// Bulk puts or deletes a long run of keys, so that postings have many leaves, and then changes some
// of them again in the same batch.
func (x *machine) Bulk(t *draw.T) {
	before := maps.Clone(x.model.items)
	from := draw.Int(t, 0, modelKeys)
	to := draw.Int(t, from, modelKeys)
	drop := t.Bool()
	values := map[string][]string{}
	for _, index := range modelIndexes {
		values[index] = draw.Slice(t, 0, 2, func() string { return draw.Of(t, modelValues...) })
	}
	ops := []Op{}
	for i := from; i < to; i++ {
		key := modelKey(i)
		if drop {
			delete(x.model.items, key)
			ops = append(ops, Op{Key: key, Delete: true})
			continue
		}
		x.serial++
		it := newItem(key, x.serial)
		it.values = values
		x.model.items[key] = it
		ops = append(ops, Op{Key: key, Object: it})
	}
	for range draw.Int(t, 0, 5) {
		ops = append(ops, x.op(t, modelKeys-1))
	}
	x.apply(t, ops, before)
}

// Replace replaces all objects. One key occurs twice.
func (x *machine) Replace(t *draw.T) {
	n := draw.Int(t, 0, 20)
	x.serial++
	x.model.rv = strconv.Itoa(x.serial)
	x.model.items = map[string]*item{}
	var ops []Op
	for range n {
		key := modelKey(draw.Int(t, 0, modelKeys-1))
		it := x.item(t, key)
		x.expect(it, x.model.indexes)
		x.model.items[key] = it
		ops = append(ops, Op{Key: key, Object: it})
	}
	x.table.Replace(pairsOf(ops), n, x.model.rv)
}

// AddIndexers adds an index, or fails because it exists.
func (x *machine) AddIndexers(t *draw.T) {
	name := draw.Of(t, modelIndexes...)
	err := x.table.AddIndexers(map[string]IndexFunc{name: itemIndex(name)})
	if slices.Contains(x.model.indexes, name) {
		require.ErrorIs(t, err, ErrIndexExists)
		return
	}
	require.NoError(t, err)
	x.model.indexes = append(x.model.indexes, name)
	for _, it := range x.model.items {
		x.expect(it, []string{name})
	}
}

// Hold takes a snapshot and keeps it across writes.
func (x *machine) Hold(t *draw.T) {
	if len(x.held) < 4 {
		x.held = append(x.held, heldSnapshot{x.table.Snapshot(), x.model.clone().sum()})
	}
}

// Release closes one of the snapshots.
func (x *machine) Release(t *draw.T) {
	if len(x.held) == 0 {
		return
	}
	i := draw.Int(t, 0, len(x.held)-1)
	x.held[i].snapshot.Close()
	x.held = slices.Delete(x.held, i, i+1)
}

// Union calls Index, which unites postings.
func (x *machine) Union(t *draw.T) {
	it := x.item(t, "probe")
	index := draw.Of(t, modelIndexes...)
	switch {
	case it.broken[index] == "":
		require.NoError(t, differs(x.model.sum(), x.table, []query{unionOf(index, it, it.values[index]...)}))
	case it.broken[index] == "error":
		_, err := x.table.Index(index, it)
		require.ErrorIs(t, err, map[bool]error{true: errBroken, false: ErrNoIndex}[x.model.has(index)])
	}
}

func (x *machine) Check(t *draw.T) {
	x.table.w.Lock()
	err := x.table.verify()
	x.table.w.Unlock()
	require.NoError(t, err)
	require.NoError(t, differs(x.model.sum(), x.table, modelQueries))
	for _, h := range x.held {
		require.NoError(t, differs(h.model, h.snapshot, modelQueries))
	}
	require.Equal(t, x.expected, x.failures)
	var counted uint64
	for _, ix := range x.table.Survey().Indexes {
		counted += ix.Failures
	}
	require.Equal(t, uint64(x.expected), counted)
	require.ElementsMatch(t, x.model.indexes, slices.Collect(maps.Keys(x.table.Indexers())))
	require.Equal(t, x.model.lacking, x.table.Lacking())
	require.Equal(t, len(x.held), x.table.Snapshots().Open)
	if len(x.held) == 0 {
		requireNothingKept(t, x.table)
	}
}

func newMachine(t *draw.T, indexes int) *machine {
	x := &machine{model: newState()}
	indexers := map[string]IndexFunc{}
	for _, name := range modelIndexes[:indexes] {
		indexers[name] = itemIndex(name)
		x.model.indexes = append(x.model.indexes, name)
	}
	x.table = New(indexers, Options{OnIndexFailures: func(failures []IndexFailure) {
		for _, f := range failures {
			require.ErrorIs(t, f.Err, errBroken, fmt.Sprint(f))
		}
		x.failures += len(failures)
	}})
	return x
}

// Draft fills a draft in blocks, with removals, while the table may be written, and installs it.
func (x *machine) Draft(t *draw.T) {
	d := x.table.Draft(draw.Int(t, 0, 30))
	began, indexes := x.model.clone(), slices.Clone(x.model.indexes)
	want, later, block := map[string]*item{}, map[string]*item{}, &Block{}
	for range draw.Int(t, 0, 4) {
		block.Reset()
		for range draw.Int(t, 0, 8) {
			it := x.item(t, modelKey(draw.Int(t, 0, 40)))
			if block.Objects[block.N] = it; t.Bool() {
				block.Text[block.N] = []byte(it.key)
			} else {
				block.Keys[block.N] = it.key
			}
			block.N++
			want[it.key] = it
		}
		d.Look(block)
		for i, key := range block.Keys[:block.N] {
			require.Equal(t, block.Objects[i].(*item).key, key)
			require.Equal(t, began.object(key), block.Former[i])
		}
		filed := x.put(t, d, block)
		for _, obj := range block.Objects[:block.N] {
			if it := obj.(*item); filed {
				x.expect(it, indexes)
				delete(later, it.key)
			} else {
				later[it.key] = it
			}
		}
		for range draw.Int(t, 0, 3) {
			key := modelKey(draw.Int(t, 0, 40))
			_, had := want[key]
			place, ok := d.Remove(key)
			require.Equal(t, had, ok, "place %d", place)
			delete(want, key)
			delete(later, key)
		}
		if draw.Int(t, 0, 7) == 0 {
			x.Transaction(t)
			x.AddIndexers(t)
		}
		if d.Current() {
			continue
		}
		d.Renew()
		require.True(t, d.Current())
		began = x.model.clone()
	}
	for _, it := range later {
		x.expect(it, indexes)
	}
	if t.Bool() {
		require.Equal(t, len(later), d.Complete())
	}
	x.finish(t, d, want, began, indexes)
}

// put puts a block in the draft, which runs the index functions now or later.
func (x *machine) put(t *draw.T, d *Draft, block *Block) (filed bool) {
	if draw.Int(t, 0, 3) == 0 {
		x.table.functions.Lock()
		defer x.table.functions.Unlock()
	}
	if draw.Int(t, 0, 7) == 0 {
		d.Postpone()
	}
	return d.Put(block)
}

// finish checks the content of the draft, and installs it.
func (x *machine) finish(t *draw.T, d *Draft, want map[string]*item, began *state, indexes []string) {
	require.Equal(t, len(want), d.Len())
	seen := map[string]bool{}
	for place, got := range d.All {
		require.False(t, seen[got.Key], "place %d", place)
		seen[got.Key] = true
		require.Same(t, want[got.Key], got.Object)
		require.Equal(t, began.object(got.Key), got.Former)
		require.True(t, d.Has(got.Key))
	}
	require.Len(t, seen, len(want))
	missing := map[string]bool{}
	for key, obj := range d.Missing {
		require.Same(t, began.items[key], obj)
		missing[key] = true
	}
	for key := range began.items {
		require.Equal(t, want[key] == nil, missing[key])
	}
	x.serial++
	x.model.rv, x.model.items = strconv.Itoa(x.serial), want
	for _, it := range want {
		for _, name := range x.model.indexes {
			if !slices.Contains(indexes, name) {
				x.expect(it, []string{name})
			}
		}
	}
	x.table.Install(d, x.model.rv)
}

func TestModel(t *testing.T) { draw.Check(t, playModel) }

func FuzzModel(f *testing.F) { draw.Fuzz(f, playModel) }

func playModel(t *draw.T) {
	x := newMachine(t, draw.Int(t, 0, 3))
	t.Repeat(map[string]func(*draw.T){
		"transaction":  x.Transaction,
		"transaction2": x.Transaction,
		"transaction3": x.Transaction,
		"bulk":         x.Bulk,
		"replace":      x.Replace,
		"draft":        x.Draft,
		"draft2":       x.Draft,
		"addIndexers":  x.AddIndexers,
		"hold":         x.Hold,
		"release":      x.Release,
		"union":        x.Union,
		"":             x.Check,
	})
	for _, h := range x.held {
		h.snapshot.Close()
	}
	requireNothingKept(t, x.table)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
