// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"strconv"

	"github.com/stretchr/testify/require"
)

// The concurrent tests write states that say themselves whether they are whole:
//
//   - the object "clock" counts the states, and so does the resource version;
//   - the objects of a pair always change together: both have the same count
//     and are filed under the same value, or neither is there.

type half struct {
	pair, side int
	count      int
	value      string
}

const (
	clockKey = "clock"
	pairs    = 40
)

func (h *half) key() string {
	if h.pair < 0 {
		return clockKey
	}
	return fmt.Sprintf("pair-%d-%d", h.pair, h.side)
}

func count(t require.TestingT, rv string) int {
	n, err := strconv.Atoi(rv)
	require.NoError(t, err)
	return n
}

// whole checks objects of one state: pairs are complete and equal, everything
// belongs to value if it is not empty. It returns the clock's count, or 0.
func whole(t require.TestingT, objs []any, value string) (clock int) {
	byPair := map[int]*half{}
	for _, obj := range objs {
		h := obj.(*half)
		if h.pair < 0 {
			require.Zero(t, clock, "two clocks")
			clock = h.count
			continue
		}
		require.Positive(t, h.count, "a draft is visible")
		if value != "" {
			require.Equal(t, value, h.value)
		}
		other, ok := byPair[h.pair]
		if !ok {
			byPair[h.pair] = h
			continue
		}
		require.NotNil(t, other, "pair %d has three halves", h.pair)
		require.NotEqual(t, other.side, h.side, "pair %d", h.pair)
		require.Equal(t, other.count, h.count, "pair %d", h.pair)
		require.Equal(t, other.value, h.value, "pair %d", h.pair)
		byPair[h.pair] = nil
	}
	for i, h := range byPair {
		require.Nil(t, h, "half of pair %d is missing", i)
	}
	return clock
}
