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
}

// next reports whether the next object goes both ways.
func (s *sampler) next() bool {
	n := s.seen.Add(1)
	at := s.start + n
	return n <= verifiedFirst || n <= manyFirst && at%verifiedOften == 0 || at%s.every == 0
}
