// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Table is an indexed set of objects: one writer at a time, readers that never
// wait. See the package documentation for the guarantees. Create it with New.
type Table struct {
	core    atomic.Pointer[core]
	seed    maphash.Seed
	options Options
	_       [56]byte // of the above readers load the core, of what follows all store

	pins pins

	// opened counts the open snapshots, kept the versions in limbo, forgotten the
	// lost snapshots. janitor is set while a goroutine is about to look at the
	// pins that were left.
	opened    atomic.Int64
	kept      atomic.Int64
	forgotten atomic.Uint64
	janitor   atomic.Bool

	// functions is held while index functions run, for a block of objects at
	// most: there is never but one. Those that are known not to be the user's do
	// without.
	functions sync.Mutex

	w struct {
		sync.Mutex
		limbo limbo
		// unchecked counts the writes since the last check.
		unchecked int
		singles   []string
		values    []indexValues
	}
}
