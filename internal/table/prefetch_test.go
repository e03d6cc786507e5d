// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestPrefetchTakesAnything: nothing has to be there.
func TestPrefetchTakesAnything(t *testing.T) {
	b := new(byte)
	for _, at := range []uintptr{0, 1, cacheLine, 1 << 20, 1 << 30, ^uintptr(0)} {
		prefetch(nil, at)
		prefetch(unsafe.Pointer(b), at)
	}
	prefetchLines(nil, 0)
	prefetchLines(unsafe.Pointer(b), 1<<12)
	for _, obj := range []any{nil, 7, "s", struct{}{}, b, (*half)(nil), []int{1}} {
		Prefetch(obj)
	}
	PrefetchString("")
	PrefetchAt(b)
	require.Zero(t, *b)
}

// TestLikelyID: what reserve has made is found by its address, and nothing
// else.
func TestLikelyID(t *testing.T) {
	var s slab[record]
	_, ok := s.likelyID(new(record))
	require.False(t, ok, "an empty slab")
	s.reserve(slabLen + 1)
	for range 3 * slabLen {
		id := s.take()
		likely, ok := s.likelyID(s.at(id))
		require.Equal(t, id < 2*slabLen, ok)
		if ok {
			require.Equal(t, id, likely)
		}
	}
	_, ok = s.likelyID(new(record))
	require.False(t, ok)
}

// TestLargeBatch: what a batch asks for ahead is wrong where the batch itself
// makes it so, and that has no effect: keys that come twice, come and go, and
// go and come, in one block of changes and in different ones.
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
