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

type entry struct {
	key  int
	hash uint64
}

// seek is what callers of search do.
func (t *hashtab[T]) seek(hash uint64, same func(*T) bool) *T {
	for s := t.search(hash); ; {
		if e := s.next(); e == nil || same(e) {
			return e
		}
	}
}

// TestHashtab compares with a map. The hashes are few and poor, so that groups
// overflow, tags agree and ways cross the end of the array.
func TestHashtab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab hashtab[entry]
		tab.reserve(rapid.IntRange(0, 30).Draw(t, "room"))
		model := map[int]*entry{}
		spread := rapid.SampledFrom([]uint64{1, 3, 1 << 20}).Draw(t, "spread")
		hashOf := func(e *entry) uint64 { return e.hash }
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			key := rapid.IntRange(0, 120).Draw(t, "key")
			hash := (^uint64(0) - uint64(key)%spread<<34) ^ uint64(key)%3
			e := tab.seek(hash, func(e *entry) bool { return e.key == key })
			require.Same(t, model[key], e)
			if e == nil {
				model[key] = &entry{key, hash}
				tab.insert(hash, model[key], hashOf)
				continue
			}
			tab.remove(hash, e)
			delete(model, key)
		}
		require.Equal(t, len(model), tab.live)
		for key, want := range model {
			require.Same(t, want, tab.seek(want.hash, func(e *entry) bool { return e.key == key }))
		}
	})
}

// TestHashtabLeavesNoTrace: after any coming and going an empty table is as
// good as new, so that no rebuild is ever needed for what was removed.
func TestHashtabLeavesNoTrace(t *testing.T) {
	var tab hashtab[entry]
	tab.reserve(100)
	rng := rand.New(rand.NewPCG(1, 1))
	model := map[int]*entry{}
	hashOf := func(e *entry) uint64 { return e.hash }
	for i := range 100_000 {
		if len(model) < 100 {
			e := &entry{i, rng.Uint64()}
			model[i] = e
			tab.insert(e.hash, e, hashOf)
			continue
		}
		for key, e := range model {
			tab.remove(e.hash, e)
			delete(model, key)
			break
		}
	}
	groups := len(*tab.groups.Load())
	for _, e := range slices.Collect(maps.Values(model)) {
		tab.remove(e.hash, e)
	}
	require.Equal(t, groups, len(*tab.groups.Load()))
	for i := range *tab.groups.Load() {
		require.Zero(t, (*tab.groups.Load())[i].Load(), fmt.Sprint("group ", i))
	}
}

// TestHashtabSaturates: a group that more entries pass than it can count is
// passed for ever, which costs time and loses nothing.
func TestHashtabSaturates(t *testing.T) {
	var tab hashtab[entry]
	tab.reserve(2000)
	var all []*entry
	for i := range 600 {
		all = append(all, &entry{i, 0})
		tab.insert(0, all[i], nil)
	}
	for i, e := range all {
		require.Same(t, e, tab.seek(0, func(x *entry) bool { return x == e }))
		if i%2 == 0 {
			tab.remove(0, e)
		}
	}
	for i, e := range all {
		found := tab.seek(0, func(x *entry) bool { return x == e })
		require.Equal(t, i%2 == 1, found != nil)
	}
}
