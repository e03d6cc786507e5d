// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "sync/atomic"

const (
	// verifiedFirst is the number of first objects of an informer that both decode. 8 reveal a type
	// that is decoded wrongly.
	verifiedFirst = 8
	// Of the first manyFirst objects, those of the first list, both decode one in verifiedOften: at
	// most 62, which reveal what a client changes in some of its objects. Lists are sorted, so the
	// first few often have one owner.
	manyFirst     = 1000
	verifiedOften = 16
)

// sampler selects the objects of an informer that both decode: the first few, more of the first
// many, and then one in every. It counts from start, which differs between informers. It is safe
// for concurrent use.
type sampler struct {
	every, start uint64
	seen         atomic.Uint64
	began        atomic.Uint64 // seen at the first page of the current list
}

// begins records the first page of a list.
func (s *sampler) begins() { s.began.Store(s.seen.Load()) }

// again repeats the sample of a list that was not used. The list is requested again from its first
// page.
func (s *sampler) again() { s.seen.Store(s.began.Load()) }

// next reports whether both decode the next object.
func (s *sampler) next() bool {
	n := s.seen.Add(1)
	at := s.start + n
	return n <= verifiedFirst || n <= manyFirst && at%verifiedOften == 0 || at%s.every == 0
}
