// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "sync/atomic"

// verifiedFirst objects of an informer go both ways: 8 tell a type that is decoded wrongly.
const verifiedFirst = 8

// sampler chooses the objects of an informer that go both ways: the first few, and one in every.
type sampler struct {
	every uint64
	seen  atomic.Uint64
}

// next reports whether the next object goes both ways.
func (s *sampler) next() bool {
	n := s.seen.Add(1)
	return n <= verifiedFirst || n%s.every == 0
}
