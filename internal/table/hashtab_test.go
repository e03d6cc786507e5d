// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit/draw"
)

// keyTable is the table from keys to records.
type keyTable = hashtab[record, unsafe.Pointer]

// add and drop do what begin and release do.
func add(t *keyTable, hash uint64, r *record, hashOf func(*record) uint64) {
	g, slot := t.insert(hash, r, hashOf)
	setHint(g, slot, r.keyData)
}

func drop(t *keyTable, hash uint64, r *record) {
	g, slot := t.remove(hash, r)
	setHint(g, slot, nil)
}

// seek finds a record as the callers of search do.
func seek(t *keyTable, hash uint64, key int) *record {
	for s := t.search(hash); ; {
		if r := s.next(); r == nil || r.key() == strconv.Itoa(key) {
			return r
		}
	}
}

// keyRecord returns a record with a key and nothing else.
func keyRecord(key int) *record {
	r := new(record)
	r.start(1, 0, strconv.Itoa(key), words{})
	return r
}

// TestHashtab compares a table with a map. The hashes are few and poor, so that groups overflow,
// tags collide and searches wrap around the end of the array. An emptied table is as good as a new
// one: removals never require a rebuild.
func TestHashtab(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		var tab keyTable
		tab.reserve(draw.Int(t, 0, 30))
		sameAsMap(t, &tab)
		for i := range *tab.groups.Load() {
			require.Zero(t, (*tab.groups.Load())[i].Load(), fmt.Sprint("group ", i))
		}
	})
}

// sameAsMap adds and removes random records, and finally removes all.
func sameAsMap(t *draw.T, tab *keyTable) {
	model := map[int]*record{}
	spread := draw.Of[uint64](t, 1, 3, 1<<20)
	hashOf := func(key int) uint64 { return (^uint64(0) - uint64(key)%spread<<34) ^ uint64(key)%3 }
	for range draw.Int(t, 1, 300) {
		key := draw.Int(t, 0, 120)
		found := seek(tab, hashOf(key), key)
		require.Same(t, model[key], found)
		if found == nil {
			model[key] = keyRecord(key)
			add(tab, hashOf(key), model[key], func(r *record) uint64 {
				key, err := strconv.Atoi(r.key())
				require.NoError(t, err)
				return hashOf(key)
			})
		} else {
			drop(tab, hashOf(key), found)
			delete(model, key)
		}
		require.NoError(t, verifyHints(*tab.groups.Load()))
	}
	require.Equal(t, len(model), tab.live)
	for key, want := range model {
		require.Same(t, want, seek(tab, hashOf(key), key))
		drop(tab, hashOf(key), want)
	}
	require.Zero(t, tab.live)
}

// TestHashtabSaturates checks a group whose overflow count is saturated: searches pass it for ever,
// which costs time but loses no entry.
func TestHashtabSaturates(t *testing.T) {
	var tab keyTable
	tab.reserve(2000)
	var all []*record
	for i := range 600 {
		all = append(all, keyRecord(i))
		add(&tab, 0, all[i], nil)
	}
	for i, r := range all {
		require.Same(t, r, seek(&tab, 0, i))
		if i%2 == 0 {
			drop(&tab, 0, r)
		}
	}
	for i := range all {
		require.Equal(t, i%2 == 1, seek(&tab, 0, i) != nil)
	}
}

// slotOf returns the slot of a key that is stored.
func (c *core) slotOf(key string) (g *keyGroup, slot int) {
	r := c.locate(c.hash(key), key)
	groups := *c.keys.groups.Load()
	for i := range groups {
		for j := range groups[i].refs {
			if groups[i].refs[j].Load() == r {
				return &groups[i], j
			}
		}
	}
	return nil, 0
}

// TestSlotChangesHands checks a reader that loads the key and the record of a slot while the slot
// is given to another key. It may load any mixture of the two, and must answer according to the
// records.
func TestSlotChangesHands(t *testing.T) {
	for _, key := range []string{"", "a", "ns/some-name"} {
		t.Run(strconv.Quote(key), func(t *testing.T) {
			const other = "ns/some-more" // as long as the longest key
			table := newValueTable()
			mine, others := &half{count: 1}, &half{count: 2}
			put(table, key, mine)
			put(table, other, others)
			g, slot := table.core.Load().slotOf(key)
			whole, r := loadSlot(g, slot)
			foreign, f := loadSlot(table.core.Load().slotOf(other))

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
				g.hints[slot] = data
				requireGets(mine, name+" in the slot of the record")
			}
			g.hints[slot] = whole
			g.refs[slot].Store(f)
			requireGets(nil, "another record under the key")
			g.refs[slot].Store(r)
			requireGets(mine, "as it was")
		})
	}
}

// TestWarmTakesAnything checks that Warm accepts any value and reads only the object's memory.
func TestWarmTakesAnything(t *testing.T) {
	var small struct{ b byte }
	var large [4096]byte
	for _, obj := range []any{nil, 1, "s", (*item)(nil), &small, &large, &struct{}{}, []int{1}, map[int]int{}, errors.New("x")} {
		Warm(obj)
	}
}

// TestNoGarbageIsKept checks that superseded and deleted objects become garbage as soon as no
// reader can see them, although the table reuses memory for its next batches.
func TestNoGarbageIsKept(t *testing.T) {
	table := newValueTable()
	var gone []weak.Pointer[half]
	store := func(key string, n int) {
		h := &half{count: n, value: "v"}
		gone = append(gone, weak.Make(h))
		put(table, key, h)
	}
	round := func() {
		for n := range 3 * maxPasts {
			store("k", n)
			store("l", n)
			del(table, "l")
		}
	}
	round()
	s := table.Snapshot()
	round()
	s.Close()
	requireNothingKept(t, table)
	put(table, "k", &half{value: "last"})

	runtime.GC()
	for i, h := range gone {
		require.Nil(t, h.Value(), "object %d", i)
	}
	require.Equal(t, 1, table.Len())
}

func TestKeySharesTheStringInTheTable(t *testing.T) {
	stored := string([]byte("ns/a"))
	tab := New(nil, Options{})
	tab.Apply([]Op{{Key: stored, Object: 1}, {Key: "", Object: 2}}, nil)
	key, ok := tab.Key([]byte("ns/a"))
	assert.True(t, ok)
	assert.Same(t, unsafe.StringData(stored), unsafe.StringData(key))
	key, ok = tab.Key(nil)
	assert.True(t, ok)
	assert.Empty(t, key)
	_, ok = tab.Key([]byte("ns/b"))
	assert.False(t, ok)
	tab.Apply([]Op{{Key: stored, Delete: true}}, nil)
	_, ok = tab.Key([]byte("ns/a"))
	assert.False(t, ok, "deleted")
	text := []byte("")
	assert.Zero(t, testing.AllocsPerRun(100, func() { tab.Key(text) }))
}

// TestPutKeepsNoBytesOfTheCaller checks that neither the table nor a reported index failure refers
// to the caller's bytes, whether or not the key was stored before.
func TestPutKeepsNoBytesOfTheCaller(t *testing.T) {
	var failed []IndexFailure
	table := New(map[string]IndexFunc{"i": func(obj any) ([]string, error) {
		if obj == "bad" {
			return nil, errors.New("no value")
		}
		return []string{obj.(string)}, nil
	}}, Options{OnIndexFailures: func(failures []IndexFailure) { failed = append(failed, failures...) }})
	bytes := make([]byte, 0, 8)
	lent := func(key string, do func(key []byte)) {
		bytes = append(bytes[:0], key...)
		do(bytes)
		clear(bytes)
	}
	keys := func(value string) []string {
		keys, err := table.IndexKeys("i", value)
		require.NoError(t, err)
		return keys
	}
	put := func(key, obj string) {
		lent(key, func(key []byte) { table.Put(key, obj, func(held string) string { return held + "+" }) })
	}
	put("ns/a", "v")
	put("ns/a", "w")
	put("ns/b", "bad")
	put("ns/b", "bad")
	put("ns/c", "w")
	put("", "w")
	require.ElementsMatch(t, []string{"ns/a", "ns/b", "ns/c", ""}, table.ListKeys())
	require.Equal(t, []string{"", "ns/a", "ns/c"}, keys("w"))
	require.Empty(t, keys("v"))
	require.Len(t, failed, 2)
	require.Equal(t, []string{"ns/b", "ns/b"}, []string{failed[0].Key, failed[1].Key})
	require.Equal(t, map[string]int{"i": 1}, table.Lacking())

	for _, key := range []string{"ns/a", "ns/b", "", "ns/none"} {
		lent(key, func(key []byte) { table.Remove(key, func(held string) string { return held + "-" }) })
	}
	require.Equal(t, []string{"ns/c"}, table.ListKeys())
	require.Equal(t, []string{"ns/c"}, keys("w"))
	require.Empty(t, table.Lacking())
	require.Equal(t, "++++++----", table.RV())
	require.NoError(t, table.verify())
}

// TestAllocations checks that Put allocates only strings of new keys, and IndexKeys only the returned
// slice, however many leaves the keys are in.
func TestAllocations(t *testing.T) {
	if invariants {
		t.Skip("checks allocate")
	}
	table := New(nil, Options{})
	key, obj := []byte("ns/a"), new(int)
	table.Put(key, obj, nil)
	put := func() { table.Put(key, obj, nil) }
	require.Zero(t, testing.AllocsPerRun(100, put))
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() { table.Remove(key, nil); put() }), 0)

	table = New(map[string]IndexFunc{"all": func(any) ([]string, error) { return []string{"v"}, nil }}, Options{})
	for n := 1; n <= 3*leafLen; n++ {
		table.Put(fmt.Appendf(nil, "ns/%d", n), new(int), nil)
		if n == 1 || n%leafLen <= 1 {
			require.InDelta(t, 1, testing.AllocsPerRun(10, func() { _, _ = table.IndexKeys("all", "v") }), 0, "%d keys", n)
		}
	}
}

// reusing returns an IndexFunc that returns the same slice each time.
func reusing() IndexFunc {
	var memory []string
	return func(obj any) ([]string, error) {
		memory = append(memory[:0], obj.(*item).values["first"]...)
		return memory, nil
	}
}

// TestOneValueIsTakenWithoutAllocation checks each way in which the function may return the value.
func TestOneValueIsTakenWithoutAllocation(t *testing.T) {
	single := func(obj any) (string, error) { return obj.(*item).key, nil }
	for name, options := range map[string]Options{
		"function": {},
		"single":   {SingleValued: func(IndexFunc) func(any) (string, error) { return single }},
	} {
		t.Run(name, func(t *testing.T) {
			table := New(map[string]IndexFunc{"first": reusing()}, options)
			ops := []Op{
				{Key: "a", Object: &item{key: "a", values: map[string][]string{"first": {"a"}}}},
				{Key: "b", Object: &item{key: "b", values: map[string][]string{"first": {"b"}}}},
			}
			ixs := *table.core.Load().indexes.Load()
			require.Zero(t, testing.AllocsPerRun(100, func() { table.compute(ixs, ops) }))
			values, _ := table.compute(ixs, ops)
			require.Equal(t, []indexValues{{"a"}, {"b"}}, values)
		})
	}
}
