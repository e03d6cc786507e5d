// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type entry struct {
	key  int
	hash uint64
}

// seek finds an entry as the callers of search do.
func (t *hashtab[T]) seek(hash uint64, same func(*T) bool) *T {
	for s := t.search(hash); ; {
		if e := s.next(); e == nil || same(e) {
			return e
		}
	}
}

// TestHashtabs compares both kinds with a map. The hashes are few and poor, so that groups
// overflow, tags collide and searches wrap around the end of the array. An emptied table is as good
// as a new one: removals never require a rebuild.
func TestHashtabs(t *testing.T) {
	t.Run("hashtab", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			var tab hashtab[entry]
			tab.reserve(rapid.IntRange(0, 30).Draw(t, "room"))
			sameAsMap(t, tableOf[entry]{
				seek: func(hash uint64, key int) *entry { return tab.seek(hash, func(e *entry) bool { return e.key == key }) },
				add: func(hash uint64, key int, _ func(int) uint64) *entry {
					e := &entry{key, hash}
					tab.insert(hash, e, func(e *entry) uint64 { return e.hash })
					return e
				},
				remove: tab.remove,
				live:   func() int { return tab.live },
				check:  func() error { return nil },
			})
			for i := range *tab.groups.Load() {
				require.Zero(t, (*tab.groups.Load())[i].Load(), fmt.Sprint("group ", i))
			}
		})
	})
	t.Run("keytab", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			var tab keytab
			tab.reserve(rapid.IntRange(0, 30).Draw(t, "room"))
			sameAsMap(t, tableOf[record]{
				seek: func(hash uint64, key int) *record {
					return tab.seek(hash, func(r *record) bool { return r.key() == strconv.Itoa(key) })
				},
				add: func(hash uint64, key int, hashOf func(int) uint64) *record {
					r := keyRecord(strconv.Itoa(key))
					tab.insert(hash, r, func(r *record) uint64 {
						key, err := strconv.Atoi(r.key())
						require.NoError(t, err)
						return hashOf(key)
					})
					return r
				},
				remove: tab.remove,
				live:   func() int { return tab.live },
				check:  tab.verify,
			})
		})
	})
}

// tableOf is a hash table of entries whose keys are numbers.
type tableOf[T any] struct {
	seek   func(hash uint64, key int) *T
	add    func(hash uint64, key int, hashOf func(int) uint64) *T
	remove func(hash uint64, entry *T)
	live   func() int
	check  func() error
}

// sameAsMap adds and removes random entries, and finally removes all.
func sameAsMap[T any](t *rapid.T, tab tableOf[T]) {
	model := map[int]*T{}
	spread := rapid.SampledFrom([]uint64{1, 3, 1 << 20}).Draw(t, "spread")
	hashOf := func(key int) uint64 { return (^uint64(0) - uint64(key)%spread<<34) ^ uint64(key)%3 }
	for range rapid.IntRange(1, 300).Draw(t, "steps") {
		key := rapid.IntRange(0, 120).Draw(t, "key")
		found := tab.seek(hashOf(key), key)
		require.Same(t, model[key], found)
		if found == nil {
			model[key] = tab.add(hashOf(key), key, hashOf)
		} else {
			tab.remove(hashOf(key), found)
			delete(model, key)
		}
		require.NoError(t, tab.check())
	}
	require.Equal(t, len(model), tab.live())
	for key, want := range model {
		require.Same(t, want, tab.seek(hashOf(key), key))
		tab.remove(hashOf(key), want)
	}
	require.Zero(t, tab.live())
}

// TestHashtabSaturates checks a group whose overflow count is saturated: searches pass it for ever,
// which costs time but loses no entry.
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

// keyRecord returns a record with a key and nothing else.
func keyRecord(key string) *record {
	r := new(record)
	r.start(1, 0, key, words{})
	return r
}

// seek finds a record as the callers of search do.
func (t *keytab) seek(hash uint64, same func(*record) bool) *record {
	for s := t.search(hash); ; {
		if r := s.next(); r == nil || same(r) {
			return r
		}
	}
}

// slotOf returns the slot of a key that is stored.
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

// TestRecordChangesHands checks a slot that leads to a record given to another key, in a generation
// newer than the reader's. The answer comes from a later state.
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

	// A stale slot, as loaded by a reader before the deletion.
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

// members returns the members of a leaf for a reader with a pin at gen.
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

// TestLeafHistory changes a posting of one leaf in batches of any size, with pins at some
// generations. After each change every pinned reader finds the members of its generation, also in
// the leaf from before a resize.
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
				// A reader at the published generation has a pin that the writer has not seen yet,
				// and must be served nevertheless.
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
			log.reset(limbo.unpinned())
			for _, at := range append(pinned, gen) {
				require.Equal(t, states[at], p.first.Load().members(at), "settled, at %d", at)
			}
		}
	})
}

// TestMetaRing checks that an overwritten meta is not taken for a consistent one.
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

// TestWarmTakesAnything checks that Warm accepts any value and reads only the object's memory.
func TestWarmTakesAnything(t *testing.T) {
	var small struct{ b byte }
	var large [4096]byte
	for _, obj := range []any{nil, 1, "s", (*item)(nil), &small, &large, &struct{}{}, []int{1}, map[int]int{}, errors.New("x")} {
		Warm(obj)
	}
}

// TestFillThatFails checks that a failed Fill leaves the table unchanged and writable.
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

// TestPutAllocatesOnlyKeys checks that Put allocates only strings of new keys.
func TestPutAllocatesOnlyKeys(t *testing.T) {
	if invariants {
		t.Skip("checks allocate")
	}
	table := New(nil, Options{})
	key, obj := []byte("ns/a"), new(int)
	table.Put(key, obj, nil)
	put := func() { table.Put(key, obj, nil) }
	require.Zero(t, testing.AllocsPerRun(100, put))
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() { table.Remove(key, nil); put() }), 0)
}

// TestIndexKeysAllocatesOnce checks that IndexKeys allocates only the returned slice, however many
// leaves the keys are in.
func TestIndexKeysAllocatesOnce(t *testing.T) {
	if invariants {
		t.Skip("checks allocate")
	}
	table := New(map[string]IndexFunc{"all": func(any) ([]string, error) { return []string{"v"}, nil }}, Options{})
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

// TestLargeBatch has keys that occur twice, are added and deleted, and are deleted and added, in
// one block of changes and in different ones.
func TestLargeBatch(t *testing.T) {
	table := newValueTable()
	table.Fill(0, "1", func(add func(string, any)) error {
		for i := range 2 * BlockLen {
			add(fmt.Sprint(i), &half{count: i, value: fmt.Sprint(i % 3)})
		}
		return nil
	})
	want := map[string]*half{}
	for i := range 2 * BlockLen {
		want[fmt.Sprint(i)] = nil
	}
	var ops []Op
	for i := range 5*BlockLen + 3 {
		key := fmt.Sprint(i * 7 % (3 * BlockLen))
		h := &half{count: i, value: fmt.Sprint(i % 5)}
		ops = append(ops, Op{Key: key, Object: h}, Op{Key: fmt.Sprint(i % BlockLen), Delete: true})
		want[key] = h
		delete(want, fmt.Sprint(i%BlockLen))
	}
	table.Apply(ops, nil)
	require.NoError(t, table.verify())
	require.Equal(t, len(want), table.Len())
	for key, h := range want {
		obj, ok := table.Get(key)
		require.True(t, ok, key)
		if h != nil {
			require.Same(t, h, obj, key)
		}
	}
}
