// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLargeBatch: keys come twice, come and go, and go and come, in one block of
// changes and in different ones.
func TestLargeBatch(t *testing.T) {
	table := newValueTable()
	table.Fill(0, "1", func(add func(string, any)) error {
		for i := range 2 * BlockLen {
			add(fmt.Sprint(i), &half{count: i, value: fmt.Sprint(i % 3)})
		}
		return nil
	})
	want := map[string]*half{}
	for i := range 2 * BlockLen {
		want[fmt.Sprint(i)] = nil
	}
	var ops []Op
	for i := range 5*BlockLen + 3 {
		key := fmt.Sprint(i * 7 % (3 * BlockLen))
		h := &half{count: i, value: fmt.Sprint(i % 5)}
		ops = append(ops, Op{Key: key, Object: h}, Op{Key: fmt.Sprint(i % BlockLen), Delete: true})
		want[key] = h
		delete(want, fmt.Sprint(i%BlockLen))
	}
	table.Apply(ops, nil)
	require.NoError(t, table.verify())
	require.Equal(t, len(want), table.Len())
	for key, h := range want {
		obj, ok := table.Get(key)
		require.True(t, ok, key)
		if h != nil {
			require.Same(t, h, obj, key)
		}
	}
}
