// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
)

// TryApply is Apply for a caller who must not wait for other writers: while
// there is one it does nothing and returns false.
func (t *Table) TryApply(ops []Op, stamp Stamp) (done bool) {
	if !t.w.TryLock() {
		return false
	}
	t.report(t.apply(ops, stamp))
	return true
}

// widen adds indexes over all live objects, in the draft gen.
func (t *Table) widen(c *core, gen uint64, added []*indexer, failed *failures) {
	if len(added) == 0 {
		return
	}
	ixs, rows := slices.Clone(*c.indexes.Load()), c.rows.widened(len(added))
	for _, x := range added {
		ixs = append(ixs, c.build(x, gen, rows, len(ixs), &t.functions, failed))
	}
	for _, ix := range ixs {
		ix.rows = rows
	}
	c.rows = rows
	c.indexes.Store(&ixs)
}
