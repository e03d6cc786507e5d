// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// seek is what callers of search do.
func (t *hashtab) seek(hash uint64, same func(uint32) bool) (id uint32, ok bool) {
	for s := t.search(hash); ; {
		if id, _, ok := s.next(); !ok || same(id) {
			return id, ok
		}
	}
}

func is(want uint32) func(uint32) bool { return func(id uint32) bool { return id == want } }

// TestHashtab compares with a map. The hashes are few and poor, so that groups
// overflow, tags agree and ways cross the end of the array.
func TestHashtab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab hashtab
		tab.reserve(rapid.IntRange(0, 30).Draw(t, "room"))
		model := map[uint32]bool{}
		spread := rapid.SampledFrom([]uint64{1, 3, 1 << 20}).Draw(t, "spread")
		tags := rapid.SampledFrom([]uint64{3, 7, 255}).Draw(t, "tags")
		hashOf := func(id uint32) uint64 { return (^uint64(0xFF) - uint64(id)%spread<<34) | uint64(id)%tags }
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			id := rapid.Uint32Range(0, 120).Draw(t, "id")
			_, ok := tab.seek(hashOf(id), is(id))
			require.Equal(t, model[id], ok)
			if ok {
				tab.remove(hashOf(id), id)
				delete(model, id)
				continue
			}
			model[id] = true
			tab.insert(hashOf(id), id, hashOf)
		}
		require.Equal(t, len(model), tab.live)
		for id := range model {
			_, ok := tab.seek(hashOf(id), is(id))
			require.True(t, ok)
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(model)), slices.Collect(tab.all))
	})
}

// TestHashtabLeavesNoTrace: after any coming and going an empty table is as
// good as new, so that no rebuild is ever needed for what was removed.
func TestHashtabLeavesNoTrace(t *testing.T) {
	var tab hashtab
	tab.reserve(100)
	rng := rand.New(rand.NewPCG(1, 1))
	model := map[uint32]uint64{}
	for i := range uint32(100_000) {
		if len(model) < 100 {
			model[i] = rng.Uint64()
			tab.insert(model[i], i, func(id uint32) uint64 { return model[id] })
			continue
		}
		for id, hash := range model {
			tab.remove(hash, id)
			delete(model, id)
			break
		}
	}
	groups := len(*tab.groups.Load())
	for id, hash := range model {
		tab.remove(hash, id)
	}
	require.Equal(t, groups, len(*tab.groups.Load()))
	for i := range *tab.groups.Load() {
		g := &(*tab.groups.Load())[i]
		require.Zero(t, g.lo.Load(), fmt.Sprint("group ", i))
		require.Zero(t, g.hi.Load(), fmt.Sprint("group ", i))
	}
}

// TestHashtabOfOneHash: entries that nothing tells apart but their ids.
func TestHashtabOfOneHash(t *testing.T) {
	var tab hashtab
	tab.reserve(2000)
	for id := range uint32(600) {
		tab.insert(0, id, nil)
	}
	for id := range uint32(600) {
		_, ok := tab.seek(0, is(id))
		require.True(t, ok)
		if id%2 == 0 {
			tab.remove(0, id)
		}
	}
	for id := range uint32(600) {
		_, ok := tab.seek(0, is(id))
		require.Equal(t, id%2 == 1, ok)
	}
}

// TestPack: the multiplication loses nothing and mixes nothing up.
func TestPack(t *testing.T) {
	for want := range uint32(256) {
		var m uint64
		for j := range 8 {
			if want>>j&1 == 1 {
				m |= 0x80 << (8 * j)
			}
		}
		require.Equal(t, want, pack(m))
	}
}
