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

// TestTableGrows: a table grows until all is in it that is asked for again and again, if that is
// within its limit.
func TestTableGrows(t *testing.T) {
	const texts = 20_000 // of 128 bytes each, with their slots
	for _, limit := range []int64{3 << 19, 16 << 20} {
		table := NewIntern(limit)
		d := newReader(nil, Options{Intern: table})
		r := rand.New(rand.NewPCG(1, 2))
		ask := func(n int) {
			for range n {
				d.kept(fmt.Appendf(nil, "again-%034d", r.IntN(texts)))
			}
		}
		ask(60 * texts)
		table.count(&d.counts.hits, &d.counts.misses)
		before := table.Status()
		ask(texts)
		require.NoError(t, d.release(true))
		status := table.Status()
		table.check(t)
		if hits := status.Hits - before.Hits; limit < texts*128 {
			assert.Greater(t, status.Bytes, limit*9/10)
		} else {
			assert.Greater(t, hits, int64(texts*17/20), "%+v", status)
			assert.Less(t, status.Bytes, limit*3/4)
		}
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
