// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
)

// TestNoGarbageIsKept: what is superseded or deleted goes as soon as nobody can
// see it, whatever memory the table has for its next batches.
func TestNoGarbageIsKept(t *testing.T) {
	table := newValueTable()
	var gone []weak.Pointer[half]
	store := func(key string, n int) {
		h := &half{count: n, value: "v"}
		gone = append(gone, weak.Make(h))
		put(table, key, h)
	}
	round := func() {
		for n := range 3 * keptPasts {
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
