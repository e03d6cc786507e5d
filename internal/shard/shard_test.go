// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestRanges checks that each object is in exactly one of n shards, the same as in apimachinery,
// and that a server can parse the selector.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(2, 9), rapid.IntRange(10, 1<<40)).Draw(t, "n")
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(rapid.String().Draw(t, "uid"))}}
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

// both is a server that ignores selectors, sends all pods, and records the requests.
type both struct {
	asked []metav1.ListOptions
	err   error
}

func podOf(name string) v1.Pod {
	return v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + " is the name")}}
}

func (b *both) List(o metav1.ListOptions) (runtime.Object, error) {
	b.asked = append(b.asked, o)
	return &v1.PodList{Items: []v1.Pod{podOf("a"), podOf("b"), podOf("c"), podOf("d")}}, b.err
}

func (b *both) Watch(o metav1.ListOptions) (watch.Interface, error) {
	b.asked = append(b.asked, o)
	w := watch.NewFakeWithChanSize(6, false)
	for _, name := range []string{"a", "b", "c", "d"} {
		pod := podOf(name)
		w.Add(&pod)
	}
	w.Action(watch.Bookmark, &v1.Pod{})
	w.Error(&metav1.Status{})
	w.Stop()
	return w, b.err
}

func (*both) IsWatchListSemanticsUnSupported() bool { return true }

// TestLister checks that a Lister that is not unwrapped drops objects of other shards.
func TestLister(t *testing.T) {
	var all []string
	for i := range 2 {
		server := &both{}
		lister := NewLister(server, i, 2)
		list, err := lister.List(metav1.ListOptions{})
		require.NoError(t, err)
		var listed, watched []string
		for _, pod := range list.(*v1.PodList).Items {
			listed = append(listed, pod.Name)
		}
		w, err := lister.Watch(metav1.ListOptions{})
		require.NoError(t, err)
		var others []watch.EventType
		for e := range w.ResultChan() {
			if e.Type == watch.Added {
				watched = append(watched, e.Object.(*v1.Pod).Name)
			} else {
				others = append(others, e.Type)
			}
		}
		assert.Equal(t, listed, watched)
		assert.Equal(t, []watch.EventType{watch.Bookmark, watch.Error}, others)
		assert.NotEmpty(t, listed)
		all = append(all, listed...)
		for _, o := range server.asked {
			assert.Equal(t, lister.part.selector, o.ShardSelector)
		}
		assert.True(t, lister.IsWatchListSemanticsUnSupported())
	}
	assert.ElementsMatch(t, []string{"a", "b", "c", "d"}, all)
}

// TestListerStops checks that a stopped watch ends even if its events are not received.
func TestListerStops(t *testing.T) {
	for i := range 2 {
		w, err := NewLister(&both{}, i, 2).Watch(metav1.ListOptions{})
		require.NoError(t, err)
		w.Stop()
		w.Stop()
		for range w.ResultChan() { // until the channel is closed
		}
		again, err := NewLister(&both{}, i, 2).Watch(metav1.ListOptions{})
		require.NoError(t, err)
		again.Stop() // TestMain reports a goroutine that is left
	}
}

// TestListerErrors checks that errors are passed on, and that a Lister without a shard returns its
// own.
func TestListerErrors(t *testing.T) {
	failed := errors.New("failed")
	for text, lister := range map[string]*Lister{
		"failed":             NewLister(&both{err: failed}, 0, 2),
		"no shard 2 of 2":    NewLister(&both{}, 2, 2),
		"less than their nu": NewLister(&both{}, 0, 0),
	} {
		_, err := lister.List(metav1.ListOptions{})
		require.ErrorContains(t, err, text)
		_, err = lister.Watch(metav1.ListOptions{})
		require.ErrorContains(t, err, text)
	}
}

// TestOf checks that Of unwraps a Lister, but not one whose requests fail.
func TestOf(t *testing.T) {
	server := &both{}
	good, bad := NewLister(server, 1, 2), NewLister(server, 2, 2)
	for given, want := range map[clientgo.ListerWatcher]clientgo.ListerWatcher{server: server, good: server, bad: bad} {
		all, part := Of(given)
		assert.Same(t, want, all)
		assert.Equal(t, given == good, part != nil)
	}
	all, part := Of(nil)
	assert.Nil(t, all)
	assert.Nil(t, part)
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
