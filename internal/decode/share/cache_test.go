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

	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestHotEntriesStay checks that frequent entries stay in a table that is full of entries which
// occur a few times only.
func TestHotEntriesStay(t *testing.T) {
	const gone = 50_000
	table, hits := NewIntern(1<<20), int64(0)
	d := newSession(table)
	for i := range gone {
		for range 3 {
			d.Intern(fmt.Appendf(nil, "%09d", i))
		}
		hits -= d.hits
		d.Intern(fmt.Appendf(nil, "hot %03d", i%100))
		hits += d.hits
	}
	d.Leave(0)
	require.NoError(t, table.Check())
	assert.Greater(t, hits, int64(gone*9/10))
}

// TestTableIsFull checks that a table that is too small for the recurring entries fills up to its
// limit, and not beyond.
func TestTableIsFull(t *testing.T) {
	const limit, texts = 1 << 20, 20_000
	table := NewIntern(limit)
	d := newSession(table)
	for i := range 5 * texts {
		d.Intern(fmt.Appendf(nil, "again-%034d", i/2%texts))
	}
	d.Leave(0)
	require.NoError(t, table.Check())
	assert.Greater(t, table.Status().Bytes, int64(limit*9/10))
}

// sites are the sites of the parts in these tests.
var sites = []*Site{{Type: reflect.TypeFor[any](), In: "0"}, {Type: reflect.TypeFor[any](), In: "1"}}

func newSession(table *Intern) *Session {
	s := new(Session)
	s.Enter(Options{Intern: table}, 0)
	return s
}

// cacheModel is a table and a model of its contents: the entries added since the table was last
// emptied.
type cacheModel struct {
	table   *Parts
	entered map[string]any // the last value by site and bytes
	values  int
}

func newCacheModel(limit int64) *cacheModel {
	return &cacheModel{table: NewParts(limit), entered: map[string]any{}}
}

func (m *cacheModel) key(of *Site, raw string) string { return of.In + raw }

// part returns a new part of size bytes, or of its own size if that is larger.
func (m *cacheModel) part(of int, raw string, size int64) Part {
	m.values++
	e := Part{of: sites[of], raw: []byte(raw), value: Value{boxed: m.values}}
	e.hash, _ = m.table.find(sites[of], e.raw)
	e.bytes = max(0, size-e.size())
	return e
}

// add adds a part that was built when the table had been emptied the given number of times.
func (m *cacheModel) add(e Part, emptied int64) {
	before := m.table.entered.Load()
	m.table.add(e, emptied)
	if m.table.entered.Load() > before {
		m.entered[m.key(e.of, string(e.raw))] = e.value.boxed
	}
}

// check compares the table with the model.
func (m *cacheModel) check(t require.TestingT) {
	entries, err := m.table.recount(0)
	require.NoError(t, err)
	for _, e := range entries {
		require.Equal(t, m.entered[m.key(e.of, string(e.raw))], e.value.boxed)
	}
	slots := int64(len(*m.table.slots.Load()))
	require.Zero(t, slots&(slots-1))
	require.Equal(t, m.table.limit.Load()/bytesPerPart, slots)
}

// TestTableModel checks, for random operations, sizes and colliding hashes, that the table holds
// only entries added since it was last emptied, each with its last value, and that its counters are
// correct.
func TestTableModel(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		limit := draw.Of[int64](t, 0, 1<<20-1, 1<<20, 3<<20)
		m := newCacheModel(limit)
		m.table.mask = draw.Of[uint64](t, 0, 1, 3, 0xFF, ^uint64(0))
		step := draw.Of(t, 1, 10, 100)
		next := 0
		t.Repeat(map[string]func(*draw.T){
			"": func(t *draw.T) { m.check(t) },
			"ask": func(t *draw.T) {
				of, raw := draw.Int(t, 0, 1), fmt.Sprintf("%016d", draw.Int(t, 0, 300))
				emptied := m.table.emptied.Load()
				hash, found := m.table.find(sites[of], []byte(raw))
				if found != nil {
					require.Equal(t, m.entered[m.key(sites[of], raw)], found.value.boxed, "another part than was asked for")
				} else if m.table.again(hash) {
					m.add(m.part(of, raw, 0), emptied)
				}
			},
			"enter many": func(t *draw.T) {
				for range step {
					m.add(m.part(1, fmt.Sprintf("%020d", next), draw.Int[int64](t, 0, 1000)), m.table.emptied.Load())
					next++
				}
			},
			"enter a large one": func(t *draw.T) {
				size := m.table.limit.Load()/largestShare + draw.Int[int64](t, -1, 1)
				raw := fmt.Sprintf("%016d", draw.Int(t, 0, 20))
				m.add(m.part(1, raw, size), m.table.emptied.Load())
			},
			"set the limit": func(t *draw.T) {
				m.table.SetLimit(draw.Of[int64](t, 0, 1<<20, 3<<20, 4<<20))
			},
			"empty": func(t *draw.T) {
				emptied := m.table.emptied.Load()
				m.table.empty()
				clear(m.entered)
				m.add(m.part(1, fmt.Sprintf("%016d", next), 0), emptied)
				require.Empty(t, m.entered, "who has begun before")
			},
		})
	})
}

// TestLargestEntry checks to the byte that an entry may take a sixteenth of the limit.
func TestLargestEntry(t *testing.T) {
	for _, c := range []struct {
		limit, size int64
		entered     int
	}{{64 << 10, 4 << 10, 1}, {64 << 10, 4<<10 + 1, 0}, {2 << 20, 128 << 10, 1}, {2 << 20, 128<<10 + 1, 0}} {
		m := newCacheModel(c.limit)
		m.add(m.part(1, "a large part of an object", c.size), 0)
		m.check(t)
		assert.Len(t, m.entered, c.entered, "%+v", c)
	}
}

// TestSetLimit checks that a higher limit keeps the entries and a lower limit removes them.
func TestSetLimit(t *testing.T) {
	m := newCacheModel(0)
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

// TestFirstMissIsNotASecond checks that the first miss of a hash is not taken for a second one.
func TestFirstMissIsNotASecond(t *testing.T) {
	for _, high := range []uint64{0, 1, 2, 3, 1<<32 - 1} {
		table := NewParts(0)
		assert.False(t, table.again(high<<32|5), "%x", high)
		assert.True(t, table.again(high<<32|5), "%x", high)
	}
}

// TestEmptiedBesideUsers checks that, after the table was emptied, a goroutine finds no entry that
// was built before, nor one built from such an entry.
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
				if found != nil && found.value.boxed.(int64) < emptied {
					panic("found what was there before")
				}
				if found == nil && table.again(hash) {
					table.add(Part{of: sites[1], hash: hash, raw: raw, value: Value{boxed: emptied}}, emptied)
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

func TestSizesOfEntries(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(cacheSlot[interned]{}), uintptr(slotBytes))
	assert.LessOrEqual(t, unsafe.Sizeof(interned{})+unsafe.Sizeof(""), uintptr(entryBytes))
	assert.LessOrEqual(t, unsafe.Sizeof(Part{}), uintptr(partBytes))
}

// TestIntern checks that equal strings are shared from the second one on, and that private and long
// strings never enter the table.
func TestIntern(t *testing.T) {
	table := NewIntern(0)
	d := newSession(table)
	first, second, third := d.Intern([]byte("text")), d.Intern([]byte("text")), d.Intern([]byte("text"))
	assert.Equal(t, "texttexttext", first+second+third)
	assert.Same(t, unsafe.StringData(second), unsafe.StringData(third))
	boxed := d.InternAny([]byte("text"))
	assert.Equal(t, "text", boxed)
	assert.Same(t, unsafe.StringData(third), unsafe.StringData(boxed.(string)))

	long := []byte(strings.Repeat("l", longestInterned+1))
	d.Private = true
	for range 3 {
		assert.Equal(t, "private", d.Intern([]byte("private")))
		assert.Equal(t, "private", d.InternAny([]byte("private")))
	}
	d.Private = false
	for range 3 {
		assert.Equal(t, string(long), d.Intern(long))
		assert.Equal(t, string(long), d.InternAny(long))
	}
	assert.Equal(t, []string{"text"}, slices.Collect(table.All()))
	d.Leave(0)
	status := table.Status()
	assert.Equal(t, Status{
		Entries: 1, Bytes: table.bytes.Load(), Limit: 64 << 10, Hits: 2, Misses: 2, Entered: 2,
	}, status)
	require.NoError(t, table.Check())
}

// TestInternInTurns checks that two strings with the same slots both enter when they alternate.
func TestInternInTurns(t *testing.T) {
	for range 30 { // each table has another seed
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
				require.Equal(t, text, d.Intern([]byte(text)))
			}
		}
		assert.ElementsMatch(t, []string{"0", fmt.Sprint(other)}, slices.Collect(table.All()))
		d.Leave(0)
	}
}
