// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// TestTableStaysSmall: a table does not grow by what is asked for some times and then never again.
func TestTableStaysSmall(t *testing.T) {
	testkit.AtNight(t)
	table := NewIntern(16 << 20)
	d := newReader(nil, Options{Intern: table})
	for i := range 100_000 {
		text := fmt.Appendf(nil, "gone-%040d", i)
		for range 4 {
			d.kept(text)
		}
	}
	require.NoError(t, d.release(true))
	assert.Greater(t, table.Status().Entered, int64(90_000))
	assert.LessOrEqual(t, table.Status().Bytes, int64(smallAtFirst*5/4), "two tags may be the same")
	table.check(t)
}

// TestTableStaysSmallBesideOthers: nor if others are asked for in between, or all the time; and
// what is asked for all the time stays.
func TestTableStaysSmallBesideOthers(t *testing.T) {
	testkit.AtNight(t)
	const gone = 200_000
	between, often, hits := NewIntern(64<<20), NewIntern(64<<20), int64(0)
	b, o := newReader(nil, Options{Intern: between}), newReader(nil, Options{Intern: often})
	for i := range gone {
		for j := range 4 {
			b.kept(fmt.Appendf(nil, "gone-%040d", max(0, i-50*j)))
		}
		for range 3 {
			o.kept(fmt.Appendf(nil, "%09d", i))
		}
		hits -= o.counts.hits
		o.kept(fmt.Appendf(nil, "hot %03d", i%100))
		hits += o.counts.hits
	}
	require.NoError(t, b.release(true))
	require.NoError(t, o.release(true))
	for _, table := range []*Intern{between, often} {
		table.check(t)
		assert.Less(t, table.allowed.Load(), int64(3*smallAtFirst))
	}
	assert.Greater(t, hits, int64(gone*9/10))
}

// TestTableGrows: a table grows until all is in it that is asked for again and again, but for what
// has no slot beside two others, if that is within its limit; and then it grows no more.
func TestTableGrows(t *testing.T) {
	testkit.AtNight(t)
	const limit = 16 << 20
	for _, c := range []struct {
		format string
		most   int64 // bytes
	}{
		{"again-%034d", 3 << 20}, // of 128 bytes each, with their slots
		{"%05d", 2 << 20},        // of 64 bytes each: slots run short before bytes do
	} {
		table := NewIntern(limit)
		askAgain(t, table, c.format, 60*someTexts)
		allowed := table.allowed.Load()
		hits := askAgain(t, table, c.format, 60*someTexts)
		assert.Greater(t, hits, int64(60*someTexts*16/20), "%+v", table.Status())
		assert.Less(t, table.Status().Bytes, c.most)
		assert.Less(t, table.allowed.Load(), allowed+allowed/4)
	}
}

// TestTableIsFull: a table with less room than that takes what it may, and no more.
func TestTableIsFull(t *testing.T) {
	testkit.AtNight(t)
	const limit = 3 << 19
	table := NewIntern(limit)
	askAgain(t, table, "again-%034d", 60*someTexts)
	assert.Greater(t, table.Status().Bytes, int64(limit*9/10))
}

const someTexts = 20_000

// askAgain asks a table n times for any of some texts, and returns how often it had them.
func askAgain(t *testing.T, table *Intern, format string, n int) (hits int64) {
	t.Helper()
	before := table.Status().Hits
	d := newReader(nil, Options{Intern: table})
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		d.kept(fmt.Appendf(nil, format, r.IntN(someTexts)))
	}
	require.NoError(t, d.release(true))
	table.check(t)
	return table.Status().Hits - before
}

// TestForgottenCountsOnce: what a table has forgotten for want of room makes it grow when it is
// asked for, and then no more, though it stays out; and not at all once there is room.
func TestForgottenCountsOnce(t *testing.T) {
	table := NewIntern(16 << 20)
	hash, _ := table.find([]byte("a text"))
	first, second := table.pair(hash)
	table.forget(first, &interned{text: "a text"})
	grown := int64(smallAtFirst)
	for range 2 {
		assert.True(t, table.again(hash))
		assert.Equal(t, grown, table.allowed.Load(), "there is room")
	}
	table.bytes.Store(smallAtFirst * 7 / 8)
	for _, slot := range []*lossySlot[interned]{first, second} {
		table.forget(slot, &interned{text: "a text"})
		grown += grown / growth
		for range 3 {
			assert.True(t, table.again(hash))
			assert.Equal(t, grown, table.allowed.Load())
		}
		table.bytes.Store(grown)
	}
}

// TestGivesWay: the newest has a slot, whatever was in it. In a table that wants more slots, and
// may yet have them, what was there is forgotten if it was asked for once, but not lately.
func TestGivesWay(t *testing.T) {
	const double = 4 * 2 * slotBytes * smallestParts // bytes, for twice the slots
	const filled = double - 5<<10                    // so many that these have no room
	for _, c := range []struct {
		used                    uint32
		entries, allowed, limit int64
		forgotten, ages         bool
	}{
		{aged, smallestParts, double - 1, double, true, false},
		{asked, smallestParts, double - 1, double, false, true},
		{fresh, smallestParts, double - 1, double, false, false},
		{aged, 0, double - 1, double, false, false},
		{asked, 0, double - 1, double, false, false},
		{aged, smallestParts, double - 2, double - 1, false, false},
		{asked, smallestParts, double - 2, double - 1, false, false},
		{aged, smallestParts, double, double, false, false},
		{asked, smallestParts, double, double, false, false},
	} {
		p := newOneHash(t)
		slots := *p.table.slots.Load()
		slots[0].used.Store(c.used)
		p.table.entries.Add(c.entries)
		p.table.bytes.Add(filled)
		p.table.allowed.Store(c.allowed)
		p.table.limit = c.limit
		p.enter(2)
		assert.Equal(t, c.forgotten, slots[0].seen.Load() == markOf(0)&^1, "%+v", c)
		assert.Equal(t, c.ages, slots[1].used.Load() == aged, "%+v", c)
		assert.True(t, p.has(2))
		slots[0].used.Store(aged)
		slots[0].seen.Store(0)
		p.enter(2)
		assert.Zero(t, slots[0].seen.Load(), "it gives way to itself")
		p.table.entries.Add(-c.entries)
		p.table.bytes.Add(-filled)
		assert.Len(t, p.table.all(), 2)
		p.table.check(t)
	}
}

// oneHash is a table with two parts of the same hash, and a third that belongs in the same slots.
type oneHash struct {
	table *Parts
	of    []string
}

func newOneHash(t *testing.T) *oneHash {
	p := &oneHash{table: NewParts(0)}
	p.table.mask = 2
	for i := 0; len(p.of) < 3; i++ {
		raw := fmt.Sprintf("%016d", i)
		if hash, _ := p.table.find(1, []byte(raw)); hash == 0 {
			p.of = append(p.of, raw)
		}
	}
	p.enter(0)
	p.enter(1)
	require.True(t, p.has(0) && p.has(1))
	return p
}

func (p *oneHash) enter(i int) {
	p.table.add(part{of: 1, raw: []byte(p.of[i]), value: whole{kept: i}}, 0)
}

func (p *oneHash) has(i int) bool { return p.table.ask(1, p.of[i]) != nil }

// TestLargeEntries: what is larger than an entry may be at first enters all the same if it is asked
// for often enough and the limit allows it.
func TestLargeEntries(t *testing.T) {
	testkit.AtNight(t)
	table, of := NewParts(64<<20), new(int)
	large, tooLarge := strings.Repeat("l", 1<<18), strings.Repeat("t", 1<<20)
	for range 300 {
		table.ask(of, large)
		table.ask(of, tooLarge)
	}
	table.check(t)
	assert.Equal(t, [][]byte{[]byte(large)}, table.all())
}
