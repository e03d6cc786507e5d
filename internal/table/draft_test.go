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
	"pgregory.net/rapid"
)

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

// put has the draft run the index functions now or later. Where there are none
// that is all the same.
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

// finish checks what the draft says of itself, and installs it.
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

func TestDraftModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newMachine(t, rapid.IntRange(0, 3).Draw(t, "indexes"))
		t.Repeat(map[string]func(*rapid.T){
			"transaction": x.Transaction,
			"bulk":        x.Bulk,
			"draft":       x.Draft,
			"draft2":      x.Draft,
			"addIndexers": x.AddIndexers,
			"hold":        x.Hold,
			"release":     x.Release,
			"":            x.Check,
		})
		for _, h := range x.held {
			h.snapshot.Close()
		}
		requireNothingKept(t, x.table)
	})
}

// TestDraftGrows: the hash table of a draft whose size nobody knew grows as it is filled, and finds
// every key.
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

// TestDroppedDraft: a draft that is not installed changes nothing, and the table goes on meanwhile.
func TestDroppedDraft(t *testing.T) {
	table := New(nil, Options{})
	table.Apply([]Op{{Key: "a", Object: 1}}, nil)
	d := table.Draft(1)
	block := &Block{N: 1}
	block.Keys[0], block.Objects[0] = "a", 2
	d.Look(block)
	require.Equal(t, 1, block.Former[0])
	d.Put(block)
	require.True(t, d.Current())
	table.Apply([]Op{{Key: "b", Object: 3}}, nil)
	require.False(t, d.Current())
	require.NoError(t, table.verify())
	require.Equal(t, 2, table.Len())
	obj, _ := table.Get("a")
	require.Equal(t, 1, obj)
}
