// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
