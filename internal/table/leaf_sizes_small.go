// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

const fewIDs = 1

// newLeaf returns an empty leaf. Its sizes are small, so that a few operations need each of them.
func newLeaf(n uint32) (l *leaf) {
	switch {
	case n <= 1:
		l = &new(leaf1).leaf
		l.room = 1
	case n <= 2:
		l = &new(leaf2).leaf
		l.room = 2
	default:
		l = &new(leaf4).leaf
		l.room = leafLen
	}
	return l
}

type (
	leaf1 struct {
		leaf
		_ [1]uint32
	}
	leaf2 struct {
		leaf
		_ [2]uint32
	}
	leaf4 struct {
		leaf
		_ [leafLen]uint32
	}
)
