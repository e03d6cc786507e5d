// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// keyRecord is a record with a key and nothing else.
func keyRecord(key string) *record {
	r := new(record)
	r.start(1, 0, key, words{})
	return r
}

// seek is what callers of search do.
func (t *keytab) seek(hash uint64, same func(*record) bool) *record {
	for s := t.search(hash); ; {
		if r := s.next(); r == nil || same(r) {
			return r
		}
	}
}

// TestKeytab is TestHashtab for a keytab.
func TestKeytab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab keytab
		tab.reserve(rapid.IntRange(0, 30).Draw(t, "room"))
		model := map[string]*record{}
		spread := rapid.SampledFrom([]uint64{1, 3, 1 << 20}).Draw(t, "spread")
		hashOf := func(key string) uint64 {
			n, err := strconv.ParseUint(key, 10, 64)
			require.NoError(t, err)
			return (^uint64(0) - n%spread<<34) ^ n%3
		}
		hashOfRecord := func(r *record) uint64 { return hashOf(r.key()) }
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 120).Draw(t, "key"))
			r := tab.seek(hashOf(key), func(r *record) bool { return r.key() == key })
			require.Same(t, model[key], r)
			if r == nil {
				model[key] = keyRecord(key)
				tab.insert(hashOf(key), model[key], hashOfRecord)
			} else {
				tab.remove(hashOf(key), r)
				delete(model, key)
			}
			require.NoError(t, tab.verify())
		}
		require.Equal(t, len(model), tab.live)
		for key, want := range model {
			require.Same(t, want, tab.seek(hashOf(key), func(r *record) bool { return r.key() == key }))
		}
	})
}

// slotOf returns the slot of a key that is there.
func (c *core) slotOf(key string) *keySlot {
	r := c.locate(c.hash(key), key)
	groups := *c.keys.groups.Load()
	for i := range groups {
		for j := range groups[i].slots {
			if s := &groups[i].slots[j]; s.ref.Load() == r {
				return s
			}
		}
	}
	return nil
}

// TestSlotChangesHands: a reader that loads the key and the record of a slot
// while it goes to another key may see any mixture of the two. It must answer
// as the records say.
func TestSlotChangesHands(t *testing.T) {
	for _, key := range []string{"", "a", "ns/some-name"} {
		t.Run(strconv.Quote(key), func(t *testing.T) {
			const other = "ns/some-more" // as long as the longest
			table := newValueTable()
			mine, others := &half{count: 1}, &half{count: 2}
			put(table, key, mine)
			put(table, other, others)
			slot := table.core.Load().slotOf(key)
			whole, r := slot.load()
			foreign, f := table.core.Load().slotOf(other).load()

			requireGets := func(want any, why string) {
				t.Helper()
				obj, ok := table.Get(key)
				require.Equal(t, want != nil, ok, why)
				require.Equal(t, want, obj, why)
				obj, ok = table.Get(other)
				require.True(t, ok, why)
				require.Same(t, others, obj, why)
			}
			for name, data := range map[string]unsafe.Pointer{"no key": nil, "another key": foreign} {
				slot.key = data
				requireGets(mine, name+" in the slot of the record")
			}
			slot.key = whole
			slot.ref.Store(f)
			requireGets(nil, "another record under the key")
			slot.ref.Store(r)
			requireGets(mine, "as it was")
		})
	}
}

// TestRecordChangesHands: the slot leads to a record that has gone to another
// key, in a generation that the reader does not know yet. The answer comes from
// a later state.
func TestRecordChangesHands(t *testing.T) {
	table := newValueTable()
	put(table, "a", &half{count: 1})
	c := table.core.Load()
	slot := c.slotOf("a")
	key, r := slot.load()
	gen := c.published.Load()
	del(table, "a")
	put(table, "b", &half{count: 2})
	require.Equal(t, "b", r.key(), "the record is used again")

	// A stale slot, as a reader has loaded it before the deletion.
	late := c.slotOf("b")
	late.key = key
	obj, ok := table.Get("b")
	require.True(t, ok)
	require.Equal(t, &half{count: 2}, obj)
	obj, ok = table.search(c, gen, "b", c.hash("b"))
	require.True(t, ok, "a reader from before the change looks again")
	require.Equal(t, &half{count: 2}, obj)
	_, ok = table.Get("a")
	require.False(t, ok)
	late.key = r.keyData
}
