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
)

// TestTableStaysSmall: a table does not grow by what is asked for some times and then never again.
func TestTableStaysSmall(t *testing.T) {
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

// TestTableGrows: a table grows until all is in it that is asked for again and again, but for what
// has no slot beside two others, if that is within its limit; and then it grows no more.
func TestTableGrows(t *testing.T) {
	const limit = 16 << 20
	for _, c := range []struct {
		format string
		most   int64 // bytes
	}{
		{"again-%034d", 3 << 20}, // of 128 bytes each, with their slots
		{"%05d", 2 << 20},        // more slots take more than the entries do
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

// TestForgottenCountsOnce: what a table has forgotten makes it grow when it is asked for, and then
// no more, though it stays out.
func TestForgottenCountsOnce(t *testing.T) {
	table := NewIntern(16 << 20)
	hash, _ := table.find([]byte("a text"))
	_, second := table.pair(hash)
	table.forget(second, &interned{text: "a text"})
	allowed := table.allowed.Load()
	for range 3 {
		assert.True(t, table.again(hash))
		assert.Equal(t, allowed+allowed/growth, table.allowed.Load())
	}
}

// TestLargeEntries: what is larger than an entry may be at first enters all the same if it is asked
// for often enough and the limit allows it.
func TestLargeEntries(t *testing.T) {
	table, of := NewParts(64<<20), new(int)
	large, tooLarge := strings.Repeat("l", 1<<18), strings.Repeat("t", 1<<20)
	for range 300 {
		table.ask(of, large)
		table.ask(of, tooLarge)
	}
	table.check(t)
	assert.Equal(t, [][]byte{[]byte(large)}, table.all())
}
