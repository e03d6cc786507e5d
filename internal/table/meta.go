// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// meta is the resource version and the number of objects of a generation.
type meta struct {
	rv string
	n  int
}

// metas holds the meta of the last generations: that of generation gen, at gen modulo metasLen, for
// the draft and three published ones. A meta that a reader has loaded is consistent if its
// generation is still among the last three afterwards.
//
//	index                     0  1  2  3
//	generation, 8 published   8  5  6  7
//	9 is a draft              8  9  6  7
type metas [metasLen]struct {
	rvData unsafe.Pointer
	rvLen  atomic.Uint64
	n      atomic.Int64
}

const metasLen = 4

// at returns the meta of a generation that was published. ok is false if the meta may have been
// overwritten during the call. The string is made only after that check, when its pointer and its
// length belong together.
func (m *metas) at(gen uint64, published *atomic.Uint64) (_ meta, ok bool) {
	at := &m[gen%metasLen]
	data, length, n := atomic.LoadPointer(&at.rvData), at.rvLen.Load(), at.n.Load()
	if published.Load() > gen+metasLen-2 {
		return meta{}, false
	}
	return meta{rv: unsafe.String((*byte)(data), length), n: int(n)}, true
}

// newest returns the meta of the newest published generation. It retries if three batches are
// published between its two loads of published.
func (m *metas) newest(published *atomic.Uint64) meta {
	for {
		if v, ok := m.at(published.Load(), published); ok {
			return v
		}
	}
}

// set stores the meta of the draft gen. It writes only the fields that differ.
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
