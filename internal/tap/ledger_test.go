// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAbsorb checks that a ledger adds the counts of another one.
func TestAbsorb(t *testing.T) {
	var over, l Ledger
	for i, counter := range []interface{ Add(int64) int64 }{
		&over.Decoded, &over.Reused, &over.Verified, &over.Differences, &over.Checked, &over.WrittenTo, &over.ListBytes, &over.WatchBytes,
	} {
		counter.Add(int64(i + 1))
	}
	over.GaveUp(errors.New("odd"))
	for range 2 {
		l.Absorb(&over)
	}
	s := l.State()
	lists, watches := l.Bytes()
	assert.Equal(t, []int64{2, 4, 6, 8, 10, 12, 14, 16},
		[]int64{s.Decoded, s.Reused, s.Verified, s.Differences, s.Checked, s.WrittenTo, lists, watches})
	assert.Equal(t, map[string]int64{"odd": 2}, s.GivenUp)
}
