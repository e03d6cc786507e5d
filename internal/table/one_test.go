// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPutKeepsNoBytesOfTheCaller: not in the table, nor in what is told of an index function that
// fails, whether or not the key was there before.
func TestPutKeepsNoBytesOfTheCaller(t *testing.T) {
	var failed []IndexFailure
	table := New(map[string]IndexFunc{"i": func(obj any) ([]string, error) {
		if obj == "bad" {
			return nil, errors.New("no value")
		}
		return []string{obj.(string)}, nil
	}}, Options{OnIndexFailures: func(failures []IndexFailure) { failed = append(failed, failures...) }})
	bytes := make([]byte, 0, 8)
	lent := func(key string, do func(key []byte)) {
		bytes = append(bytes[:0], key...)
		do(bytes)
		clear(bytes)
	}
	keys := func(value string) []string {
		keys, err := table.IndexKeys("i", value)
		require.NoError(t, err)
		return keys
	}
	put := func(key, obj string) {
		lent(key, func(key []byte) { table.Put(key, obj, func(held string) string { return held + "+" }) })
	}
	put("ns/a", "v")
	put("ns/a", "w")
	put("ns/b", "bad")
	put("ns/b", "bad")
	put("ns/c", "w")
	put("", "w")
	require.ElementsMatch(t, []string{"ns/a", "ns/b", "ns/c", ""}, table.ListKeys())
	require.Equal(t, []string{"", "ns/a", "ns/c"}, keys("w"))
	require.Empty(t, keys("v"))
	require.Len(t, failed, 2)
	require.Equal(t, []string{"ns/b", "ns/b"}, []string{failed[0].Key, failed[1].Key})
	require.Equal(t, map[string]int{"i": 1}, table.Lacking())

	for _, key := range []string{"ns/a", "ns/b", "", "ns/none"} {
		lent(key, func(key []byte) { table.Remove(key, func(held string) string { return held + "-" }) })
	}
	require.Equal(t, []string{"ns/c"}, table.ListKeys())
	require.Equal(t, []string{"ns/c"}, keys("w"))
	require.Empty(t, table.Lacking())
	require.Equal(t, "++++++----", table.RV())
	require.NoError(t, table.verify())
}

// TestPutAllocatesOnlyKeys that the table does not have yet.
func TestPutAllocatesOnlyKeys(t *testing.T) {
	if invariants {
		t.Skip("checks allocate")
	}
	table := New(nil, Options{})
	key, obj := []byte("ns/a"), new(int)
	table.Put(key, obj, nil)
	put := func() { table.Put(key, obj, nil) }
	require.Zero(t, testing.AllocsPerRun(100, put))
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() { table.Remove(key, nil); put() }), 0)
}
