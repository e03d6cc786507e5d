// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTakeOver: rows of the newer document replace those of their names or come between the others,
// and rows that there are no more go.
func TestTakeOver(t *testing.T) {
	old := &Document{Objects: 5, Sides: [2]Side{{"a", "1"}, {"b", "2"}}, Rows: []Row{{Name: "1", Title: "old"}, {Name: "gone"}, {Name: "3", Title: "old"}}}
	newer := &Document{Objects: 5, Sides: [2]Side{{"a", "1"}, {"b", "3"}}, Rows: []Row{{Name: "2", Title: "new"}, {Name: "3", Title: "new"}}}
	require.NoError(t, old.TakeOver(newer, "2|3", []string{"1", "2", "3"}))
	assert.Equal(t, []Row{{Name: "1", Title: "old"}, {Name: "2", Title: "new"}, {Name: "3", Title: "new"}}, old.Rows)
	assert.Equal(t, []Again{{Pattern: "2|3", Version: "3"}}, old.Again)
	assert.Equal(t, "2", old.Sides[1].Version)
	newer.Objects++
	assert.ErrorIs(t, old.TakeOver(newer, "2|3", nil), errOtherRun)
	assert.Len(t, old.Rows, 3)
}
