// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"hash/maphash"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// members returns what a reader with a pin at gen finds in a leaf.
func (l *leaf) members(gen uint64) []uint32 {
	if l == nil {
		return nil
	}
	var buf [leafLen]uint32
	if n, unchanged := l.read(gen, &buf); unchanged {
		return slices.Clone(buf[:n])
	}
	return slices.Clone(l.before(gen, &buf))
}

// TestLeafHistory changes a posting of one leaf in batches of any size, with
// pins at some generations: after each change every pinned reader finds what
// was there, and so does one who has found the leaf before it was resized.
func TestLeafHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := &changes{}
		p := &posting{value: "v", index: &index{indexer: &indexer{}, log: log}}
		states := map[uint64][]uint32{1: nil}
		var now []uint32
		limbo, pinned := &limbo{arriving: whileArriving}, []uint64{}
		for gen := uint64(2); gen < 12; gen++ {
			if rapid.Bool().Draw(t, "pin") {
				pinned = append(pinned, gen-1)
				limbo.settled(gen - 1)
			}
			stale := p.first.Load()
			for range rapid.IntRange(0, 2*maxNotes).Draw(t, "changes") {
				if len(now) > 0 && rapid.Bool().Draw(t, "remove") {
					pos := rapid.IntRange(0, len(now)-1).Draw(t, "pos")
					moved, ok := p.remove(gen, uint32(pos))
					last := now[len(now)-1]
					require.Equal(t, pos != len(now)-1, ok)
					if ok {
						require.Equal(t, last, moved)
					}
					now[pos] = last
					now = now[:len(now)-1]
				} else if len(now) < leafLen {
					id := rapid.Uint32().Draw(t, "id")
					require.Equal(t, uint32(len(now)), p.add(gen, id))
					now = append(now, id)
				}
				// Who reads at the published generation has no pin that the
				// writer knows of yet, and is served all the same.
				for _, at := range append(pinned, gen-1) {
					require.Equal(t, states[at], p.first.Load().members(at), "at %d", at)
					if stale != nil {
						require.Equal(t, states[at], stale.members(at), "in the former leaf at %d", at)
					}
				}
			}
			states[gen] = slices.Clone(now)
			if l := p.first.Load(); l != nil {
				l.retire(gen, limbo)
				_, err := l.verify(gen)
				require.NoError(t, err)
			}
			log.reset(limbo.nobody())
			for _, at := range append(pinned, gen) {
				require.Equal(t, states[at], p.first.Load().members(at), "settled, at %d", at)
			}
		}
	})
}

// TestMetaRing: what has been overwritten meanwhile is not taken for whole.
func TestMetaRing(t *testing.T) {
	c := newCore(maphash.MakeSeed(), nil, 1, 0)
	for gen := uint64(1); gen < 10; gen++ {
		c.n = int(gen)
		c.publish(gen, modelKey(int(gen)))
		require.Equal(t, meta{modelKey(int(gen)), int(gen)}, c.meta())
		for back := range min(gen, 6) {
			m, ok := c.metas.at(gen-back, &c.published)
			require.Equal(t, back < metasLen-1, ok)
			if ok {
				require.Equal(t, meta{modelKey(int(gen - back)), int(gen - back)}, m)
			}
		}
	}
}

// TestWarmTakesAnything: it looks at no memory but the object's.
func TestWarmTakesAnything(t *testing.T) {
	var small struct{ b byte }
	var large [4096]byte
	for _, obj := range []any{nil, 1, "s", (*item)(nil), &small, &large, &struct{}{}, []int{1}, map[int]int{}, errors.New("x")} {
		Warm(obj)
	}
}

// TestFillThatFails leaves the table as it was, and writable.
func TestFillThatFails(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{count: 1, value: "v"})
	failure := errors.New("no more")
	err := table.Fill(2, "2", func(add func(string, any)) error {
		for range 2 * BlockLen {
			add("l", &half{count: 2, value: "w"})
		}
		return failure
	})
	require.Equal(t, failure, err)
	require.Equal(t, []string{"k"}, table.ListKeys())
	require.Empty(t, table.RV())
	put(table, "l", &half{count: 3, value: "v"})
	n, err := table.Count("value", "v")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
