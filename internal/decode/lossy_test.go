// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/base64"
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
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// TestHotEntriesStay: what is asked for all the time stays in a table that is full of what comes
// some times and never again.
func TestHotEntriesStay(t *testing.T) {
	const gone = 50_000
	table, hits := NewIntern(1<<20), int64(0)
	d := newReader(nil, Options{Intern: table})
	for i := range gone {
		for range 3 {
			d.kept(fmt.Appendf(nil, "%09d", i))
		}
		hits -= d.counts.hits
		d.kept(fmt.Appendf(nil, "hot %03d", i%100))
		hits += d.counts.hits
	}
	require.NoError(t, d.release(true))
	table.check(t)
	assert.Greater(t, hits, int64(gone*9/10))
}

// TestTableIsFull: a table with less room than is asked for again takes what it may, and no more.
func TestTableIsFull(t *testing.T) {
	const limit, texts = 3 << 19, 20_000
	table := NewIntern(limit)
	d := newReader(nil, Options{Intern: table})
	for i := range 5 * texts {
		d.kept(fmt.Appendf(nil, "again-%034d", i/2%texts))
	}
	require.NoError(t, d.release(true))
	table.check(t)
	assert.Greater(t, table.Status().Bytes, int64(limit*9/10))
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

// all returns the texts in a table.
func (t *Intern) all() []string { return slices.Collect(t.All()) }

// check compares what a table says of itself with what is in it.
func (t *Intern) check(tb testing.TB) {
	tb.Helper()
	slots := *t.slots.Load()
	bytes, texts := int64(len(slots)*slotBytes), int64(0)
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			bytes, texts = bytes+e.size(), texts+1
			assert.Contains(tb, []any{nil, e.text}, e.boxed)
			_, found := t.find([]byte(e.text))
			assert.Same(tb, e, found)
		}
	}
	assert.Equal(tb, bytes, t.bytes.Load())
	assert.Equal(tb, texts, t.entries.Load())
	assert.LessOrEqual(tb, bytes, t.limit)
}

func TestSizesOfEntries(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(lossySlot[interned]{}), uintptr(slotBytes))
	assert.LessOrEqual(t, unsafe.Sizeof(interned{})+unsafe.Sizeof(""), uintptr(entryBytes))
}

// TestIntern: equal texts are one from the second time on, whatever was in between, until the table
// is full.
func TestIntern(t *testing.T) {
	table := NewIntern(0)
	d := newReader(nil, Options{Intern: table})
	first, second, third := d.kept([]byte("text")), d.kept([]byte("text")), d.kept([]byte("text"))
	assert.Equal(t, "texttexttext", first+second+third)
	assert.Same(t, unsafe.StringData(second), unsafe.StringData(third))
	boxed := d.boxed([]byte("text"))
	assert.Equal(t, "text", boxed)
	assert.Same(t, unsafe.StringData(third), unsafe.StringData(boxed.(string)))

	long := []byte(strings.Repeat("l", longestInterned+1))
	d.private = true
	for range 3 {
		assert.Equal(t, "private", d.kept([]byte("private")))
		assert.Equal(t, "private", d.boxed([]byte("private")))
	}
	d.private = false
	for range 3 {
		assert.Equal(t, string(long), d.kept(long))
		assert.Equal(t, string(long), d.boxed(long))
	}
	assert.Equal(t, []string{"text"}, table.all())
	require.NoError(t, d.release(true))
	status := table.Status()
	assert.Equal(t, TableStatus{
		Entries: 1, Bytes: table.bytes.Load(), Limit: 64 << 10, Hits: 2, Misses: 2, Entered: 2,
	}, status)
	table.check(t)
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
		d := newReader(nil, Options{Intern: table})
		for range 2 {
			for _, text := range []string{"0", fmt.Sprint(other)} {
				require.Equal(t, text, d.kept([]byte(text)))
			}
		}
		assert.ElementsMatch(t, []string{"0", fmt.Sprint(other)}, table.all())
		require.NoError(t, d.release(true))
	}
}

// TestInternTogether: goroutines that use a table at a time all get what they asked for.
func TestInternTogether(t *testing.T) {
	table := NewIntern(256 << 10)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			d := newReader(nil, Options{Intern: table})
			r := rand.New(rand.NewPCG(user, 2))
			for range 20_000 {
				text := fmt.Sprint("text-", r.IntN(5000))
				if d.kept([]byte(text)) != text || d.boxed([]byte(text)) != text {
					panic("another text than was asked for")
				}
			}
			_ = d.release(true)
		})
	}
	users.Wait()
	table.check(t)
}

// TestSecrets: nothing of a secret's data gets into a table, as whatever it is decoded; labels do.
func TestSecrets(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	for _, order := range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"},"annotations":{"last-applied":"%[1]s"}},"data":{"key-%[1]s":"%[1]s"},"stringData":{"plain":"hunter2"}}`,
		`{"apiVersion":"v1","data":{"key-%[1]s":"%[1]s"},"kind":"Secret","metadata":{"labels":{"app":"label-1"}},"stringData":{"plain":"hunter2"}}`,
		`{"d\u0061ta":{"key-%[1]s":"%[1]s"},"stringData":{"plain":["hunter2",{"a":"hunter2"}]},"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"}}}`,
	} {
		data := fmt.Appendf(nil, order, secret)
		assert.True(t, inOneOfFour(func() bool {
			known := strings.Contains(order, "annotations") // only its type tells before them that it is a secret
			table := tableOfSecrets(t, data, known)
			for _, text := range table.all() {
				assert.NotContains(t, text, secret)
				assert.NotContains(t, text, "hunter2")
				assert.NotContains(t, text, "plain")
			}
			return known || slices.Contains(table.all(), "label-1") && slices.Contains(table.all(), "kind")
		}), "what is beside the data is shared: %s", order)
	}
}

// tableOfSecrets decodes a secret several times, as what it is and, unless that is known, as what
// it is not.
func tableOfSecrets(t *testing.T, data []byte, known bool) *Intern {
	t.Helper()
	table := NewIntern(0)
	for range 4 {
		var into corev1.Secret
		_ = planOf(t, reflect.TypeFor[corev1.Secret]()).JSON(data, &into, Options{Intern: table})
		if known {
			continue
		}
		var widget struct {
			Data, StringData any
			AnyData          any `json:"data"`
			AnyStringData    any `json:"stringData"`
			Metadata         any `json:"metadata"`
		}
		_ = planOf(t, reflect.TypeOf(widget)).JSON(data, &widget, Options{Intern: table})
		sameDocument(t, data, Options{Intern: table})
	}
	return table
}

// TestSecretsWithin: also where it is not the whole that is a secret, and in what is not its data.
func TestSecretsWithin(t *testing.T) {
	table := NewIntern(0)
	data := `{"metadata":{"annotations":{"applied":"hunter2"}},"data":{"key-hunter2":"aHVudGVyMg=="},"type":"hunter2"}`
	list := []byte(`{"metadata":{"continue":"label-1"},"items":[` + data + `,` + data + `,` + data + `]}`)
	for range 3 {
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.Secret](), []byte(data), Options{Intern: table}))
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.SecretList](), list, Options{Intern: table}))
	}
	assert.Equal(t, []string{"label-1"}, table.all())
}

// TestTogether: goroutines read by one plan, of a type that is seen for the first time.
func TestTogether(t *testing.T) {
	type object struct {
		corev1.PodSpec
		Own []widget
	}
	table := NewIntern(0)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(user, 2))
			for range 50 {
				sameJSON(t, reflect.TypeFor[object](), document(r, reflect.TypeFor[object](), 100), Options{Intern: table})
			}
		})
	}
	users.Wait()
	table.check(t)
}

// TestReaderForgets: what was read is not held on to by what reads the next document.
func TestReaderForgets(t *testing.T) {
	d := newReader([]byte(`["a",{"b":"c","d":["e",`), Options{})
	_, ok := d.document()
	require.False(t, ok)
	require.Error(t, d.release(false))
	assert.Nil(t, d.data)
	for _, p := range d.pairs[:cap(d.pairs)] {
		assert.Zero(t, p)
	}
	for _, v := range d.values[:cap(d.values)] {
		assert.Nil(t, v)
	}
}
