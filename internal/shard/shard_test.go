// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestRanges checks that each object is in exactly one of n shards, the same as in apimachinery,
// and that a server can parse the selector.
func TestRanges(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		n := draw.Int(t, 2, draw.Of(t, 9, min(1<<40, math.MaxInt)))
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(draw.Slice(t, 0, 40, func() byte { return draw.Int[byte](t, 0, 255) }))}}
		hash := Hash(pod.UID)
		require.Equal(t, sharding.HashField(string(pod.UID)), fmt.Sprintf("%016x", hash))
		require.Equal(t, hash, Hash([]byte(pod.UID)))
		of := int(float64(hash) / (1 << 64) * float64(n))
		has := 0
		for i := max(of-2, 0); i <= min(of+2, n-1); i++ {
			part, err := RangeOf(i, n)
			require.NoError(t, err)
			selector := sharding.NewSelector(requirementOf(t, part))
			require.Equal(t, selector.String(), part.Narrow(metav1.ListOptions{}).ShardSelector)
			want, err := selector.Matches(pod)
			require.NoError(t, err)
			require.Equal(t, want, part.Has(pod))
			if want {
				has++
			}
		}
		require.Equal(t, 1, has)
	})
}

// requirementOf parses the selector of a shard.
func requirementOf(t require.TestingT, part *Range) sharding.ShardRangeRequirement {
	var start, end string
	_, err := fmt.Sscanf(part.selector, "shardRange(object.metadata.uid, '%18s', '%s", &start, &end)
	require.NoError(t, err)
	return sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: start, End: end[:len(end)-len("')")]}
}

// TestBoundaries checks that the shards cover all hashes without gaps.
func TestBoundaries(t *testing.T) {
	for _, n := range []int{2, 3, 4, 7, 1000} {
		next := uint64(0)
		for i := range n {
			part, err := RangeOf(i, n)
			require.NoError(t, err)
			require.Equal(t, next, part.first)
			assert.True(t, part.HasHash(part.first) && part.HasHash(part.last) && !part.HasHash(part.last+1) && !part.HasHash(part.first-1))
			next = part.last + 1
		}
		require.Zero(t, next)
	}
	all, err := RangeOf(0, 1)
	require.NoError(t, err)
	require.Nil(t, all)
	assert.True(t, all.Has(&v1.Pod{}))
	assert.Equal(t, metav1.ListOptions{Limit: 3}, all.Narrow(metav1.ListOptions{Limit: 3}))
	for _, bad := range [][2]int{{0, 0}, {1, 1}, {4, 4}, {-1, 4}, {0, -1}} {
		_, err := RangeOf(bad[0], bad[1])
		require.ErrorContains(t, err, "there is no shard")
	}
}

// TestIsServed checks that a list reports whether the server applied the selector.
func TestIsServed(t *testing.T) {
	part, err := RangeOf(0, 2)
	require.NoError(t, err)
	served := metav1.ListMeta{ShardInfo: &metav1.ShardInfo{}}
	untyped := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"shardInfo": map[string]any{"selector": "x"}}}}
	assert.True(t, part.IsServed(&v1.PodList{ListMeta: served}))
	assert.True(t, part.IsServed(untyped))
	assert.False(t, part.IsServed(&v1.PodList{}))
	assert.False(t, part.IsServed(&unstructured.UnstructuredList{}))
	assert.True(t, (*Range)(nil).IsServed(&v1.PodList{}))
}
