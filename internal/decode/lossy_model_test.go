// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lossyModel is a table beside what may be in it: all that was entered since it was emptied.
type lossyModel struct {
	table   *Parts
	entered map[string]any // by node and bytes: the last value
	values  int
}

func newLossyModel(limit int64) *lossyModel {
	return &lossyModel{table: NewParts(limit), entered: map[string]any{}}
}

func (m *lossyModel) key(of int, raw string) string { return fmt.Sprint(of, raw) }

// part makes one of that size, in bytes, at least as many as it takes.
func (m *lossyModel) part(of int, raw string, size int64) part {
	m.values++
	e := part{of: of, raw: []byte(raw), value: whole{kept: m.values}}
	e.hash, _ = m.table.find(of, e.raw)
	e.made = max(0, size-e.size())
	return e
}

// add enters a part as one who has begun when the table was emptied so often.
func (m *lossyModel) add(e part, emptied int64) {
	before := m.table.entered.Load()
	m.table.add(e, emptied)
	if m.table.entered.Load() > before {
		m.entered[m.key(e.of.(int), string(e.raw))] = e.value.kept
	}
}

// check compares all that is in the table, and what it counts.
func (m *lossyModel) check(t require.TestingT) {
	slots, bytes, entries := *m.table.slots.Load(), int64(0), int64(0)
	for i := range slots {
		e := slots[i].entry.Load()
		if e == nil {
			continue
		}
		bytes += e.size()
		entries++
		require.Equal(t, m.entered[m.key(e.of.(int), string(e.raw))], e.value.kept)
		_, found := m.table.find(e.of, e.raw)
		require.Same(t, e, found, "in a slot where it is found, and once")
		require.LessOrEqual(t, e.size(), m.table.limit/largestShare)
	}
	n := int64(len(slots))
	limit := m.table.limit
	require.Zero(t, n&(n-1))
	require.Equal(t, bytes+n*slotBytes, m.table.bytes.Load())
	require.Equal(t, entries, m.table.entries.Load())
	require.LessOrEqual(t, bytes+n*slotBytes, limit)
	require.LessOrEqual(t, n*slotBytes, max(limit/4, smallestParts*slotBytes))
}

// TestTableModel: whatever is entered, in whatever order and size, and though the hashes be alike,
// the table has nothing but what was entered last, and since it was emptied, and counts it rightly.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{0, 1<<20 - 1, 1 << 20, 3 << 20}).Draw(t, "limit")
		m := newLossyModel(limit)
		m.table.mask = rapid.SampledFrom([]uint64{0, 1, 3, 0xFF, ^uint64(0)}).Draw(t, "mask")
		step := rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "at a time")
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.check(t) },
			"ask": func(t *rapid.T) {
				of, raw := rapid.IntRange(0, 1).Draw(t, "of"), fmt.Sprintf("%016d", rapid.IntRange(0, 300).Draw(t, "raw"))
				emptied := m.table.emptied.Load()
				if hash, found := m.table.find(of, []byte(raw)); found == nil && m.table.again(hash) {
					m.add(m.part(of, raw, 0), emptied)
				}
			},
			"enter many": func(t *rapid.T) {
				for range step {
					m.add(m.part(1, fmt.Sprintf("%020d", next), rapid.Int64Range(0, 1000).Draw(t, "size")), m.table.emptied.Load())
					next++
				}
			},
			"enter a large one": func(t *rapid.T) {
				size := m.table.limit/largestShare + rapid.Int64Range(-1, 1).Draw(t, "more")
				raw := fmt.Sprintf("%016d", rapid.IntRange(0, 20).Draw(t, "raw"))
				m.add(m.part(1, raw, size), m.table.emptied.Load())
			},
			"empty": func(t *rapid.T) {
				emptied := m.table.emptied.Load()
				m.table.empty()
				clear(m.entered)
				m.add(m.part(1, fmt.Sprintf("%016d", next), 0), emptied)
				require.Empty(t, m.entered, "who has begun before")
			},
		})
	})
}

// TestLargestEntry: an entry may be a sixteenth of what the table takes, to the byte.
func TestLargestEntry(t *testing.T) {
	for _, c := range []struct {
		limit, size int64
		entered     int
	}{{64 << 10, 4 << 10, 1}, {64 << 10, 4<<10 + 1, 0}, {2 << 20, 128 << 10, 1}, {2 << 20, 128<<10 + 1, 0}} {
		m := newLossyModel(c.limit)
		m.add(m.part(1, "a large part of an object", c.size), 0)
		m.check(t)
		assert.Len(t, m.entered, c.entered, "%+v", c)
	}
}

// TestWidensAt: a table has twice the slots once more than three quarters of them are taken.
func TestWidensAt(t *testing.T) {
	m, next := newLossyModel(0), 0
	fill := func(entries int64) {
		for ; m.table.entries.Load() < entries; next++ {
			m.add(m.part(1, fmt.Sprintf("%016d", next), 0), 0)
		}
		m.check(t)
	}
	fill(smallestParts * 3 / 4)
	assert.Len(t, *m.table.slots.Load(), smallestParts)
	fill(smallestParts*3/4 + 1)
	assert.Len(t, *m.table.slots.Load(), 2*smallestParts)
}

// TestFirstIsNotAgain: what was never asked for was not, whatever its hash is.
func TestFirstIsNotAgain(t *testing.T) {
	for _, high := range []uint64{0, 1, 2, 3, 1<<32 - 1} {
		table := NewParts(0)
		assert.False(t, table.again(high<<32|5), "%x", high)
		assert.True(t, table.again(high<<32|5), "%x", high)
	}
}

// TestEmptiedBesideUsers: who begins after the table was emptied finds nothing that was made by who
// has begun before, nor what was made of that.
func TestEmptiedBesideUsers(t *testing.T) {
	table := NewParts(256 << 10)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(user, 2))
			for range 20_000 {
				raw := fmt.Appendf(nil, "a part of some bytes %d", r.IntN(400))
				emptied := table.emptied.Load()
				hash, found := table.find(1, raw)
				if found != nil && found.value.kept.(int64) < emptied {
					panic("found what was there before")
				}
				if found == nil && table.again(hash) {
					table.add(part{of: 1, hash: hash, raw: raw, value: whole{kept: emptied}}, emptied)
				}
				if r.IntN(500) == 0 {
					table.empty()
				}
			}
		})
	}
	users.Wait()
	table.check(t)
	assert.Greater(t, table.emptied.Load(), int64(50))
	assert.Greater(t, table.entered.Load(), int64(50))
}
