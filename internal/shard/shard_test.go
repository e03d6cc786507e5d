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
			s := part.spans[0]
			require.Equal(t, next, s.first)
			assert.True(t, part.has(s.first) && part.has(s.last) && !part.has(s.last+1) && !part.has(s.first-1))
			next = s.last + 1
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

// TestSelect checks that the shard of a selector has the objects that the selector matches.
func TestSelect(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		of := draw.Of(t, UID, Namespace)
		selector := sharding.NewSelector(draw.Slice(t, 1, 4, func() sharding.ShardRangeRequirement {
			end := draw.Of(t, noBound, fmt.Sprintf("0x%016x", draw.Int(t, uint64(0), math.MaxUint64)))
			return sharding.ShardRangeRequirement{Key: string(of), Start: fmt.Sprintf("0x%016x", draw.Int(t, uint64(0), math.MaxUint64)), End: end}
		})...)
		part, err := Select(selector)
		require.NoError(t, err)
		require.Equal(t, selector.String(), part.Narrow(metav1.ListOptions{}).ShardSelector)
		for i := range 20 {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("u", i)), Namespace: fmt.Sprint("n", i)}}
			want, err := selector.Matches(pod)
			require.NoError(t, err)
			require.Equal(t, want, part.Has(pod))
			require.Equal(t, !want, part.Excludes(fieldsOf(pod)))
			require.False(t, part.Excludes(func(Field) []byte { return nil }), "it is not known")
		}
	})
	for _, all := range []sharding.Selector{nil, sharding.Everything(), sharding.NewSelector()} {
		part, err := Select(all)
		require.NoError(t, err)
		require.Nil(t, part)
	}
}

func fieldsOf(pod *v1.Pod) func(Field) []byte {
	return func(f Field) []byte {
		return []byte(map[Field]string{UID: string(pod.UID), Namespace: pod.Namespace}[f])
	}
}

// foreign is a selector whose text is not that of its requirements.
type foreign struct{ sharding.Selector }

func (foreign) String() string { return "all" }

// TestSelectRefuses checks that a selector which would mean something else is refused.
func TestSelectRefuses(t *testing.T) {
	const zero = "0x0000000000000000"
	all := func(of Field) sharding.ShardRangeRequirement {
		return sharding.ShardRangeRequirement{Key: string(of), Start: zero, End: noBound}
	}
	bounds := func(start, end string) sharding.Selector {
		return sharding.NewSelector(sharding.ShardRangeRequirement{Key: string(UID), Start: start, End: end})
	}
	for why, bad := range map[string]sharding.Selector{
		"field":                       sharding.NewSelector(all("object.metadata.name")),
		"two fields":                  sharding.NewSelector(all(UID), all(Namespace)),
		"another selector":            foreign{sharding.NewSelector(all(UID))},
		`bound "0x0" is`:              bounds("0x0", noBound),
		`bound "0x00000000000000FF"`:  bounds("0x00000000000000FF", noBound),
		`bound "0000000000000000"`:    bounds("0000000000000000", noBound),
		`bound "0x20000000000000000"`: bounds(zero, "0x20000000000000000"),
	} {
		_, err := Select(bad)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, "shard selector ")
	}
}

// TestWithin checks that a part of a shard has the objects of both.
func TestWithin(t *testing.T) {
	inner, err := RangeOf(0, 2)
	require.NoError(t, err)
	outer, err := RangeOf(1, 3)
	require.NoError(t, err)
	part := outer.Within(inner)
	require.Equal(t, outer.selector, part.selector)
	for i := range 1000 {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		require.Equal(t, inner.Has(pod) && outer.Has(pod), part.Has(pod))
		require.Equal(t, !part.Has(pod), part.Excludes(fieldsOf(pod)))
	}
	require.Nil(t, outer.inner)
	require.Same(t, inner, (*Range)(nil).Within(inner))
	require.Same(t, inner, inner.Within(nil))
}

// TestServes checks that a list reports whether the server applied the selector, and that another
// selector is an error.
func TestServes(t *testing.T) {
	part, err := RangeOf(0, 2)
	require.NoError(t, err)
	for selector, other := range map[string]bool{part.selector: false, "x": true, "": true} {
		info := &metav1.ShardInfo{Selector: selector}
		content := map[string]any{"metadata": map[string]any{"shardInfo": map[string]any{"selector": selector}}}
		for _, list := range []metav1.ListInterface{
			&v1.PodList{ListMeta: metav1.ListMeta{ShardInfo: info}}, &unstructured.UnstructuredList{Object: content},
		} {
			served, err := part.Serves(list)
			assert.Equal(t, !other, served)
			assert.Equal(t, other, err != nil)
			served, err = (*Range)(nil).Serves(list)
			assert.True(t, served)
			assert.NoError(t, err)
		}
	}
	for _, list := range []metav1.ListInterface{&v1.PodList{}, &unstructured.UnstructuredList{}} {
		served, err := part.Serves(list)
		assert.False(t, served)
		assert.NoError(t, err)
	}
}
