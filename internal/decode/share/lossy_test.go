// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestHotEntriesStay: what is asked for all the time stays in a table that is full of what comes
// some times and never again.
func TestHotEntriesStay(t *testing.T) {
	const gone = 50_000
	table, hits := NewIntern(1<<20), int64(0)
	d := newSession(table)
	for i := range gone {
		for range 3 {
			d.Kept(fmt.Appendf(nil, "%09d", i))
		}
		hits -= d.hits
		d.Kept(fmt.Appendf(nil, "hot %03d", i%100))
		hits += d.hits
	}
	d.Leave(0)
	require.NoError(t, table.Check())
	assert.Greater(t, hits, int64(gone*9/10))
}

// TestTableIsFull: a table with less room than is asked for again takes what it may, and no more.
func TestTableIsFull(t *testing.T) {
	const limit, texts = 1 << 20, 20_000
	table := NewIntern(limit)
	d := newSession(table)
	for i := range 5 * texts {
		d.Kept(fmt.Appendf(nil, "again-%034d", i/2%texts))
	}
	d.Leave(0)
	require.NoError(t, table.Check())
	assert.Greater(t, table.Status().Bytes, int64(limit*9/10))
}

// sites are those of parts in these tests.
var sites = []*Site{{Type: reflect.TypeFor[any](), In: "0"}, {Type: reflect.TypeFor[any](), In: "1"}}

func newSession(table *Intern) *Session {
	s := new(Session)
	s.Enter(Options{Intern: table}, 0)
	return s
}

// lossyModel is a table beside what may be in it: all that was entered since it was emptied.
type lossyModel struct {
	table   *Parts
	entered map[string]any // by node and bytes: the last value
	values  int
}

func newLossyModel(limit int64) *lossyModel {
	return &lossyModel{table: NewParts(limit), entered: map[string]any{}}
}

func (m *lossyModel) key(of *Site, raw string) string { return of.In + raw }

// part makes one of that size, in bytes, at least as many as it takes.
func (m *lossyModel) part(of int, raw string, size int64) Part {
	m.values++
	e := Part{of: sites[of], raw: []byte(raw), value: Value{kept: m.values}}
	e.hash, _ = m.table.find(sites[of], e.raw)
	e.bytes = max(0, size-e.size())
	return e
}

// add enters a part as one who has begun when the table was emptied so often.
func (m *lossyModel) add(e Part, emptied int64) {
	before := m.table.entered.Load()
	m.table.add(e, emptied)
	if m.table.entered.Load() > before {
		m.entered[m.key(e.of, string(e.raw))] = e.value.kept
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
		require.Equal(t, m.entered[m.key(e.of, string(e.raw))], e.value.kept)
		_, found := m.table.find(e.of, e.raw)
		require.Same(t, e, found, "in a slot where it is found, and once")
		require.LessOrEqual(t, e.size(), m.table.limit.Load()/largestShare)
	}
	n := int64(len(slots))
	limit := m.table.limit.Load()
	require.Zero(t, n&(n-1))
	require.Equal(t, bytes+n*slotBytes, m.table.bytes.Load())
	require.Equal(t, entries, m.table.entries.Load())
	require.LessOrEqual(t, bytes+n*slotBytes, limit)
	require.Equal(t, limit/bytesPerPart, n)
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
				if hash, found := m.table.find(sites[of], []byte(raw)); found == nil && m.table.again(hash) {
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
				size := m.table.limit.Load()/largestShare + rapid.Int64Range(-1, 1).Draw(t, "more")
				raw := fmt.Sprintf("%016d", rapid.IntRange(0, 20).Draw(t, "raw"))
				m.add(m.part(1, raw, size), m.table.emptied.Load())
			},
			"set the limit": func(t *rapid.T) {
				m.table.SetLimit(rapid.SampledFrom([]int64{0, 1 << 20, 3 << 20, 4 << 20}).Draw(t, "limit"))
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

// TestSetLimit: a table that may be larger keeps its entries, one that is to be smaller has none.
func TestSetLimit(t *testing.T) {
	m := newLossyModel(0)
	for next := range 200 {
		m.add(m.part(1, fmt.Sprintf("%016d", next), 0), 0)
	}
	entries := m.table.entries.Load()
	for _, c := range []struct{ limit, is int64 }{
		{0, 64 << 10}, {64<<10 + 1, 64 << 10}, {128<<10 - 1, 64 << 10}, {128 << 10, 128 << 10}, {4 << 20, 4 << 20}, {8<<20 - 1, 4 << 20},
	} {
		m.table.SetLimit(c.limit)
		m.check(t)
		assert.Equal(t, c.is, m.table.limit.Load())
		assert.Equal(t, entries, m.table.entries.Load())
	}
	m.table.SetLimit(2 << 20)
	m.check(t)
	assert.Zero(t, m.table.entries.Load())
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
				hash, found := table.find(sites[1], raw)
				if found != nil && found.value.kept.(int64) < emptied {
					panic("found what was there before")
				}
				if found == nil && table.again(hash) {
					table.add(Part{of: sites[1], hash: hash, raw: raw, value: Value{kept: emptied}}, emptied)
				}
				if r.IntN(500) == 0 {
					table.empty()
				}
			}
		})
	}
	users.Wait()
	require.NoError(t, table.Check())
	assert.Greater(t, table.emptied.Load(), int64(50))
	assert.Greater(t, table.entered.Load(), int64(50))
}

// all returns the texts in a table.
func (t *Intern) all() []string { return slices.Collect(t.All()) }

func TestSizesOfEntries(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(lossySlot[interned]{}), uintptr(slotBytes))
	assert.LessOrEqual(t, unsafe.Sizeof(interned{})+unsafe.Sizeof(""), uintptr(entryBytes))
}

// TestIntern: equal texts are one from the second time on, whatever was in between, until the table
// is full.
func TestIntern(t *testing.T) {
	table := NewIntern(0)
	d := newSession(table)
	first, second, third := d.Kept([]byte("text")), d.Kept([]byte("text")), d.Kept([]byte("text"))
	assert.Equal(t, "texttexttext", first+second+third)
	assert.Same(t, unsafe.StringData(second), unsafe.StringData(third))
	boxed := d.Boxed([]byte("text"))
	assert.Equal(t, "text", boxed)
	assert.Same(t, unsafe.StringData(third), unsafe.StringData(boxed.(string)))

	long := []byte(strings.Repeat("l", longestInterned+1))
	d.Private = true
	for range 3 {
		assert.Equal(t, "private", d.Kept([]byte("private")))
		assert.Equal(t, "private", d.Boxed([]byte("private")))
	}
	d.Private = false
	for range 3 {
		assert.Equal(t, string(long), d.Kept(long))
		assert.Equal(t, string(long), d.Boxed(long))
	}
	assert.Equal(t, []string{"text"}, table.all())
	d.Leave(0)
	status := table.Status()
	assert.Equal(t, Status{
		Entries: 1, Bytes: table.bytes.Load(), Limit: 64 << 10, Hits: 2, Misses: 2, Entered: 2,
	}, status)
	require.NoError(t, table.Check())
}

// TestInternInTurns: two texts of the same slots that are asked for in turns both enter.
func TestInternInTurns(t *testing.T) {
	for range 30 { // tables, for their seeds differ
		table := NewIntern(0)
		slots := uint64(len(*table.slots.Load()))
		slot := func(text string) uint64 {
			hash, _ := table.find([]byte(text))
			return hash & (slots - 1) &^ 1
		}
		other := 1
		for slot(fmt.Sprint(other)) != slot("0") {
			other++
		}
		d := newSession(table)
		for range 2 {
			for _, text := range []string{"0", fmt.Sprint(other)} {
				require.Equal(t, text, d.Kept([]byte(text)))
			}
		}
		assert.ElementsMatch(t, []string{"0", fmt.Sprint(other)}, table.all())
		d.Leave(0)
	}
}

// TestInternTogether: goroutines that use a table at a time all get what they asked for.
func TestInternTogether(t *testing.T) {
	table := NewIntern(256 << 10)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			d := newSession(table)
			r := rand.New(rand.NewPCG(user, 2))
			for range 20_000 {
				text := fmt.Sprint("text-", r.IntN(5000))
				if d.Kept([]byte(text)) != text || d.Boxed([]byte(text)) != text {
					panic("another text than was asked for")
				}
			}
			d.Leave(0)
		})
	}
	users.Wait()
	require.NoError(t, table.Check())
}
