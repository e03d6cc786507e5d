// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// item is an object with its index values.
type item struct {
	key    string
	serial int
	values map[string][]string
	// broken maps the indexes whose function fails for this object to the kind of failure.
	broken map[string]string
}

var errBroken = errors.New("broken object")

// itemIndex is the IndexFunc of one index over items.
func itemIndex(name string) IndexFunc {
	return func(obj any) ([]string, error) {
		it := obj.(*item)
		switch it.broken[name] {
		case "error":
			return []string{"wrong"}, errBroken
		case "panic":
			panic(errBroken)
		}
		return it.values[name], nil
	}
}

// modelState is a reference implementation of the table's state.
type modelState struct {
	rv      string
	objects map[string]*item
	indexes []string
}

func (m *modelState) clone() *modelState {
	return &modelState{rv: m.rv, objects: maps.Clone(m.objects), indexes: slices.Clone(m.indexes)}
}

func (m *modelState) find(index, value string) []string {
	keys := []string{}
	for key, it := range m.objects {
		if it.broken[index] == "" && slices.Contains(it.values[index], value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *modelState) values(index string) []string {
	set := map[string]bool{}
	for _, it := range m.objects {
		if it.broken[index] == "" {
			for _, v := range it.values[index] {
				set[v] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// lacking counts the objects that each index lacks because its function failed.
func (m *modelState) lacking() (n map[string]int) {
	for _, it := range m.objects {
		for _, index := range m.indexes {
			if it.broken[index] != "" {
				if n == nil {
					n = map[string]int{}
				}
				n[index]++
			}
		}
	}
	return n
}

// readable has the methods that tables and snapshots share.
type readable interface {
	RV() string
	Len() int
	Get(key string) (any, bool)
	List() []any
	ListKeys() []string
	ByIndex(index, value string) ([]any, error)
	IndexKeys(index, value string) ([]string, error)
	Count(index, value string) (int, error)
	IndexValues(index string) ([]string, error)
	All() iter.Seq2[string, any]
	ByIndexSeq(index, value string) (iter.Seq2[string, any], error)
}

var (
	_ readable = (*Table)(nil)
	_ readable = (*Snapshot)(nil)
)

const modelKeys = 300

var (
	modelIndexes = []string{"first", "second", "third"}
	modelValues  = []string{"", "a", "b", "c", "d"}
)

func modelKey(i int) string { return "key-" + strconv.Itoa(i) }

// requireSame compares every answer that r can give with the model.
func requireSame(t require.TestingT, m *modelState, r readable) {
	require.Equal(t, m.rv, r.RV())
	require.Equal(t, len(m.objects), r.Len())
	require.Equal(t, slices.Sorted(maps.Keys(m.objects)), slices.Sorted(slices.Values(r.ListKeys())))
	require.Equal(t, serials(slices.Collect(maps.Values(m.objects))), serialsOf(r.List()))
	for i := range modelKeys {
		obj, ok := r.Get(modelKey(i))
		want, has := m.objects[modelKey(i)]
		require.Equal(t, has, ok)
		if has {
			require.Same(t, want, obj)
		}
	}
	all := map[string]*item{}
	for key, obj := range r.All() {
		require.NotContains(t, all, key)
		all[key] = obj.(*item)
	}
	require.Equal(t, len(m.objects), len(all))
	for key, it := range all {
		require.Same(t, m.objects[key], it)
	}
	for _, index := range modelIndexes {
		requireSameIndex(t, m, r, index)
	}
}

func requireSameIndex(t require.TestingT, m *modelState, r readable, index string) {
	if !slices.Contains(m.indexes, index) {
		_, err := r.ByIndex(index, "a")
		require.ErrorIs(t, err, ErrNoIndex)
		_, err = r.IndexValues(index)
		require.ErrorIs(t, err, ErrNoIndex)
		_, err = r.ByIndexSeq(index, "a")
		require.ErrorIs(t, err, ErrNoIndex)
		return
	}
	values, err := r.IndexValues(index)
	require.NoError(t, err)
	require.ElementsMatch(t, m.values(index), values)
	for _, value := range append(modelValues, "wrong") {
		want := m.find(index, value)
		keys, err := r.IndexKeys(index, value)
		require.NoError(t, err)
		require.Equal(t, want, append([]string{}, keys...))
		n, err := r.Count(index, value)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		objs, err := r.ByIndex(index, value)
		require.NoError(t, err)
		wanted := make([]*item, len(want))
		for i, key := range want {
			wanted[i] = m.objects[key]
		}
		require.Equal(t, serials(wanted), serialsOf(objs))
		seq, err := r.ByIndexSeq(index, value)
		require.NoError(t, err)
		require.Equal(t, want, append([]string{}, slices.Sorted(firstOf(seq))...))
	}
}

func firstOf(seq iter.Seq2[string, any]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range seq {
			if !yield(k) {
				return
			}
		}
	}
}

func serials(items []*item) []int {
	out := make([]int, len(items))
	for i, it := range items {
		out[i] = it.serial
	}
	slices.Sort(out)
	return out
}

func serialsOf(objs []any) []int {
	items := make([]*item, len(objs))
	for i, o := range objs {
		items[i] = o.(*item)
	}
	return serials(items)
}

// machine drives a table and the model with the same random calls.
type machine struct {
	table    *Table
	model    *modelState
	serial   int
	failures []IndexFailure
	expected int
	held     []heldSnapshot
}

type heldSnapshot struct {
	snapshot *Snapshot
	model    *modelState
}

func (x *machine) item(t *rapid.T, key string) *item {
	x.serial++
	it := &item{key: key, serial: x.serial, values: map[string][]string{}, broken: map[string]string{}}
	for _, index := range modelIndexes {
		it.values[index] = rapid.SliceOfN(rapid.SampledFrom(modelValues), 0, 3).Draw(t, index)
		if rapid.IntRange(0, 9).Draw(t, "break "+index) == 0 {
			it.broken[index] = rapid.SampledFrom([]string{"error", "panic"}).Draw(t, "how")
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

func (x *machine) op(t *rapid.T, keys int) Op {
	key := modelKey(rapid.IntRange(0, keys).Draw(t, "key"))
	if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
		delete(x.model.objects, key)
		return Op{Key: key, Delete: true}
	}
	it := x.item(t, key)
	x.expect(it, x.model.indexes)
	x.model.objects[key] = it
	return Op{Key: key, Object: it}
}

// Transaction applies a few operations, some of them on the same key.
func (x *machine) Transaction(t *rapid.T) {
	before := maps.Clone(x.model.objects)
	ops := make([]Op, rapid.IntRange(0, 5).Draw(t, "ops"))
	for i := range ops {
		ops[i] = x.op(t, 8)
	}
	x.apply(t, ops, before)
}

func (x *machine) apply(t *rapid.T, ops []Op, before map[string]*item) {
	var stamp Stamp
	if rapid.Bool().Draw(t, "stamped") {
		old := x.model.rv
		x.model.rv = strconv.Itoa(x.serial)
		stamp = func(current string) string {
			require.Equal(t, old, current)
			return x.model.rv
		}
	}
	x.table.Apply(ops, stamp)
	for _, op := range ops {
		old, had := before[op.Key]
		require.Equal(t, had, op.Had)
		if had {
			require.Same(t, old, op.Old)
		}
		delete(before, op.Key)
		if !op.Delete {
			before[op.Key] = op.Object.(*item)
		}
	}
}

// Bulk puts or deletes a long run of keys, so that postings have many leaves, and then changes some
// of them again in the same batch.
func (x *machine) Bulk(t *rapid.T) {
	before := maps.Clone(x.model.objects)
	from := rapid.IntRange(0, modelKeys).Draw(t, "from")
	to := rapid.IntRange(from, modelKeys).Draw(t, "to")
	drop := rapid.Bool().Draw(t, "delete")
	values := map[string][]string{}
	for _, index := range modelIndexes {
		values[index] = rapid.SliceOfN(rapid.SampledFrom(modelValues), 0, 2).Draw(t, index)
	}
	ops := []Op{}
	for i := from; i < to; i++ {
		key := modelKey(i)
		if drop {
			delete(x.model.objects, key)
			ops = append(ops, Op{Key: key, Delete: true})
			continue
		}
		x.serial++
		it := &item{key: key, serial: x.serial, values: values}
		x.model.objects[key] = it
		ops = append(ops, Op{Key: key, Object: it})
	}
	for range rapid.IntRange(0, 5).Draw(t, "again") {
		ops = append(ops, x.op(t, modelKeys-1))
	}
	x.apply(t, ops, before)
}

// Replace replaces all objects. One key occurs twice.
func (x *machine) Replace(t *rapid.T) {
	n := rapid.IntRange(0, 20).Draw(t, "n")
	x.serial++
	x.model.rv = strconv.Itoa(x.serial)
	x.model.objects = map[string]*item{}
	type pair struct {
		key string
		it  *item
	}
	var pairs []pair
	for range n {
		key := modelKey(rapid.IntRange(0, modelKeys-1).Draw(t, "key"))
		it := x.item(t, key)
		x.expect(it, x.model.indexes)
		x.model.objects[key] = it
		pairs = append(pairs, pair{key, it})
	}
	x.table.Replace(func(yield func(string, any) bool) {
		for _, p := range pairs {
			if !yield(p.key, p.it) {
				return
			}
		}
	}, n, x.model.rv)
}

// AddIndexers adds an index, or fails because it exists.
func (x *machine) AddIndexers(t *rapid.T) {
	name := rapid.SampledFrom(modelIndexes).Draw(t, "index")
	err := x.table.AddIndexers(map[string]IndexFunc{name: itemIndex(name)})
	if slices.Contains(x.model.indexes, name) {
		require.ErrorIs(t, err, ErrIndexExists)
		return
	}
	require.NoError(t, err)
	x.model.indexes = append(x.model.indexes, name)
	for _, it := range x.model.objects {
		x.expect(it, []string{name})
	}
}

// Hold takes a snapshot and keeps it across writes.
func (x *machine) Hold(t *rapid.T) {
	if len(x.held) < 4 {
		x.held = append(x.held, heldSnapshot{x.table.Snapshot(), x.model.clone()})
	}
}

// Release closes one of the snapshots.
func (x *machine) Release(t *rapid.T) {
	if len(x.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(x.held)-1).Draw(t, "which")
	x.held[i].snapshot.Close()
	x.held = slices.Delete(x.held, i, i+1)
}

// Union compares the results of Index, which unites postings.
func (x *machine) Union(t *rapid.T) {
	it := x.item(t, "probe")
	index := rapid.SampledFrom(modelIndexes).Draw(t, "index")
	if it.broken[index] == "panic" {
		return
	}
	objs, err := x.table.Index(index, it)
	switch {
	case !slices.Contains(x.model.indexes, index):
		require.ErrorIs(t, err, ErrNoIndex)
	case it.broken[index] != "":
		require.ErrorIs(t, err, errBroken)
	default:
		require.NoError(t, err)
		want := map[string]*item{}
		for _, value := range it.values[index] {
			for _, key := range x.model.find(index, value) {
				want[key] = x.model.objects[key]
			}
		}
		require.Equal(t, serials(slices.Collect(maps.Values(want))), serialsOf(objs))
	}
}

func (x *machine) Check(t *rapid.T) {
	x.table.w.Lock()
	err := x.table.verify()
	x.table.w.Unlock()
	require.NoError(t, err)
	requireSame(t, x.model, x.table)
	for _, h := range x.held {
		requireSame(t, h.model, h.snapshot)
	}
	require.Len(t, x.failures, x.expected)
	var counted uint64
	for _, n := range x.table.IndexFailures() {
		counted += n
	}
	require.Equal(t, uint64(x.expected), counted)
	require.ElementsMatch(t, x.model.indexes, slices.Collect(maps.Keys(x.table.Indexers())))
	require.Equal(t, x.model.lacking(), x.table.Lacking())
	require.Equal(t, len(x.held), x.table.Snapshots().Open)
	if len(x.held) == 0 {
		requireNothingKept(t, x.table)
	}
}

// eachFailure returns a hook that calls hook for each failure.
func eachFailure(hook func(IndexFailure)) func([]IndexFailure) {
	return func(failures []IndexFailure) {
		for _, f := range failures {
			hook(f)
		}
	}
}

func newMachine(t *rapid.T, indexes int) *machine {
	x := &machine{model: &modelState{objects: map[string]*item{}}}
	indexers := map[string]IndexFunc{}
	for _, name := range modelIndexes[:indexes] {
		indexers[name] = itemIndex(name)
		x.model.indexes = append(x.model.indexes, name)
	}
	x.table = New(indexers, Options{OnIndexFailures: eachFailure(func(f IndexFailure) {
		require.ErrorIs(t, f.Err, errBroken, fmt.Sprint(f))
		x.failures = append(x.failures, f)
	})})
	return x
}

// Draft fills a draft in blocks, with removals, while the table may be written, and installs it.
func (x *machine) Draft(t *rapid.T) {
	d := x.table.Draft(rapid.IntRange(0, 30).Draw(t, "size"))
	began := maps.Clone(x.model.objects)
	indexes := slices.Clone(x.model.indexes)
	want, later, block := map[string]*item{}, map[string]*item{}, &Block{}
	for range rapid.IntRange(0, 4).Draw(t, "blocks") {
		block.Reset()
		for range rapid.IntRange(0, 8).Draw(t, "objects") {
			it := x.item(t, modelKey(rapid.IntRange(0, 40).Draw(t, "key")))
			x.fill(block, it, rapid.Bool().Draw(t, "as text"))
			want[it.key] = it
		}
		d.Look(block)
		for i, key := range block.Keys[:block.N] {
			require.Equal(t, block.Objects[i].(*item).key, key)
			requireFormer(t, began[key], block.Former[i])
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
		for range rapid.IntRange(0, 3).Draw(t, "removals") {
			key := modelKey(rapid.IntRange(0, 40).Draw(t, "removed"))
			_, had := want[key]
			place, ok := d.Remove(key)
			require.Equal(t, had, ok, "place %d", place)
			delete(want, key)
			delete(later, key)
		}
		if rapid.IntRange(0, 19).Draw(t, "meanwhile") == 0 {
			x.Transaction(t)
			x.AddIndexers(t)
		}
		if d.Current() {
			continue
		}
		d.Renew()
		require.True(t, d.Current())
		began = maps.Clone(x.model.objects)
	}
	for _, it := range later {
		x.expect(it, indexes)
	}
	if rapid.Bool().Draw(t, "completed") {
		require.Equal(t, len(later), d.Complete())
	}
	x.finish(t, d, want, began, indexes)
}

// put puts a block in the draft, which runs the index functions now or later.
func (x *machine) put(t *rapid.T, d *Draft, block *Block) (filed bool) {
	if rapid.IntRange(0, 3).Draw(t, "others run index functions") == 0 {
		x.table.functions.Lock()
		defer x.table.functions.Unlock()
	}
	if rapid.IntRange(0, 9).Draw(t, "postpone") == 0 {
		d.Postpone()
	}
	return d.Put(block)
}

func (x *machine) fill(b *Block, it *item, asText bool) {
	b.Objects[b.N] = it
	if asText {
		b.Text[b.N] = []byte(it.key)
	} else {
		b.Keys[b.N] = it.key
	}
	b.N++
}

func requireFormer(t require.TestingT, want *item, got any) {
	if want == nil {
		require.Nil(t, got)
	} else {
		require.Same(t, want, got)
	}
}

// finish checks the content of the draft, and installs it.
func (x *machine) finish(t *rapid.T, d *Draft, want, began map[string]*item, indexes []string) {
	require.Equal(t, len(want), d.Len())
	seen := map[string]bool{}
	for place, got := range d.All {
		require.False(t, seen[got.Key], "place %d", place)
		seen[got.Key] = true
		require.Same(t, want[got.Key], got.Object)
		requireFormer(t, began[got.Key], got.Former)
		require.True(t, d.Has(got.Key))
	}
	require.Len(t, seen, len(want))
	missing := map[string]bool{}
	for key, obj := range d.Missing {
		require.Same(t, began[key], obj)
		missing[key] = true
	}
	for key := range began {
		require.Equal(t, want[key] == nil, missing[key])
	}
	x.serial++
	x.model.rv, x.model.objects = strconv.Itoa(x.serial), want
	for _, it := range want {
		for _, name := range x.model.indexes {
			if !slices.Contains(indexes, name) {
				x.expect(it, []string{name})
			}
		}
	}
	x.table.Install(d, x.model.rv)
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newMachine(t, rapid.IntRange(0, 3).Draw(t, "indexes"))
		t.Repeat(map[string]func(*rapid.T){
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
	})
}

// TestDraftGrows fills a draft created without a size. Its hash table grows, and finds every key.
func TestDraftGrows(t *testing.T) {
	table := New(nil, Options{})
	d, block := table.Draft(0), &Block{}
	const n = 20 * BlockLen
	for i := range n {
		block.Keys[block.N], block.Objects[block.N] = fmt.Sprint("k", i), i
		if block.N++; block.N == BlockLen {
			d.Look(block)
			d.Put(block)
			block.Reset()
		}
	}
	table.Install(d, "1")
	require.NoError(t, table.verify())
	for i := range n {
		obj, ok := table.Get(fmt.Sprint("k", i))
		require.True(t, ok)
		require.Equal(t, i, obj)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
