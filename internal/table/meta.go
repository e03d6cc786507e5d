// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// meta is what the table knows about itself at a generation.
type meta struct {
	rv string
	n  int
}

// metas holds the meta of the last generations, each at the place of its
// number: the draft's and three that were published. What a reader has loaded
// of one is whole if that is still among the last three afterwards.
type metas [metasLen]struct {
	rvData unsafe.Pointer
	rvLen  atomic.Uint64
	n      atomic.Int64
}

const metasLen = 4

// at returns the meta of a generation that was published. ok is false if it
// may have been overwritten meanwhile.
func (m *metas) at(gen uint64, published *atomic.Uint64) (_ meta, ok bool) {
	at := &m[gen%metasLen]
	data, length, n := atomic.LoadPointer(&at.rvData), at.rvLen.Load(), at.n.Load()
	if published.Load() > gen+metasLen-2 {
		return meta{}, false
	}
	return meta{rv: unsafe.String((*byte)(data), length), n: int(n)}, true
}

// newest returns the meta of the newest published generation. It repeats when
// three batches were published between its two looks at published.
func (m *metas) newest(published *atomic.Uint64) meta {
	for {
		if v, ok := m.at(published.Load(), published); ok {
			return v
		}
	}
}

// set stores the meta of the draft gen, as far as the place does not have it.
func (m *metas) set(gen uint64, v meta) {
	at := &m[gen%metasLen]
	if data := unsafe.Pointer(unsafe.StringData(v.rv)); at.rvData != data {
		atomic.StorePointer(&at.rvData, data)
	}
	if length := uint64(len(v.rv)); at.rvLen.Load() != length {
		at.rvLen.Store(length)
	}
	if at.n.Load() != int64(v.n) {
		at.n.Store(int64(v.n))
	}
}
