// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !interleave

package table

// fewIDs is the room of a leaf that is not worth shrinking.
const fewIDs = 6

// newLeaf returns an empty leaf with room for at least n ids. Its sizes are chosen to fit the
// allocator's size classes.
func newLeaf(n uint32) (l *leaf) {
	switch {
	case n <= 2:
		l = &new(leaf2).leaf
		l.room = 2
	case n <= 6:
		l = &new(leaf6).leaf
		l.room = 6
	case n <= 10:
		l = &new(leaf10).leaf
		l.room = 10
	case n <= 18:
		l = &new(leaf18).leaf
		l.room = 18
	case n <= 34:
		l = &new(leaf34).leaf
		l.room = 34
	case n <= 46:
		l = &new(leaf46).leaf
		l.room = 46
	default:
		l = &new(leaf64).leaf
		l.room = leafLen
	}
	return l
}

// A leaf takes 24 bytes and an id 4, so these take 32 to 280 bytes.
type (
	leaf2 struct {
		leaf
		_ [2]uint32
	}
	leaf6 struct {
		leaf
		_ [6]uint32
	}
	leaf10 struct {
		leaf
		_ [10]uint32
	}
	leaf18 struct {
		leaf
		_ [18]uint32
	}
	leaf34 struct {
		leaf
		_ [34]uint32
	}
	leaf46 struct {
		leaf
		_ [46]uint32
	}
	leaf64 struct {
		leaf
		_ [leafLen]uint32
	}
)
