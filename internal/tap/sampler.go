// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "sync/atomic"

const (
	// verifiedFirst objects of an informer go both ways: 8 tell a type that is decoded wrongly.
	verifiedFirst = 8
	// Of the first manyFirst objects, those of the first list, one in verifiedOften goes both ways:
	// 62 at most tell what a client does to some of its objects. Lists are sorted, so the first few
	// often have one owner.
	manyFirst     = 1000
	verifiedOften = 16
)

// sampler chooses the objects of an informer that go both ways: the first few, more of the first
// many, and one in every. It counts from start, which differs by informer.
type sampler struct {
	every, start uint64
	seen         atomic.Uint64
	began        atomic.Uint64 // seen, when the list began whose pages come
}

// begins notes that a list begins, with its first page.
func (s *sampler) begins() { s.began.Store(s.seen.Load()) }

// again makes the sample of a list due again that nobody takes: it comes anew, from its first page.
func (s *sampler) again() { s.seen.Store(s.began.Load()) }

// next reports whether the next object goes both ways.
func (s *sampler) next() bool {
	n := s.seen.Add(1)
	at := s.start + n
	return n <= verifiedFirst || n <= manyFirst && at%verifiedOften == 0 || at%s.every == 0
}
