// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

// TestPart checks that objects of other shards are not decoded, except those that both decode, and
// that the remaining objects equal those of client-go in the shard.
func TestPart(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		all := pods(40, "4")
		for i := range all {
			all[i].UID = types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(all[i].Name))))
		}
		plain := k.plain(t, serving(all))
		items, script := ask(t, plain, firstList).Items, watched(t, plain).Events
		var listed, decoded int64
		for i := range 2 {
			part, err := shard.RangeOf(i, 2)
			require.NoError(t, err)
			source := k.tapped(t, serving(all), func(o *tap.Options) { o.Part = part })
			got := ask(t, source, firstList).Items
			assert.Equal(t, of(part, items), of(part, got))
			assert.Equal(t, got, of(part, got), "in lists nothing else comes")
			listed += int64(len(got))
			outcome := watched(t, source).Events
			assert.Equal(t, eventsOf(part, script), eventsOf(part, outcome))
			assert.Less(t, len(outcome), len(script)-10)
			state := source.ledger.State()
			decoded += state.Decoded + state.Verified
			assert.Empty(t, state.GivenUp)
		}
		assert.EqualValues(t, 40, listed)
		assert.Less(t, decoded, int64(2*80-50))
	})
}

// of returns the objects in a shard.
func of(part *shard.Range, objects []runtime.Object) (own []runtime.Object) {
	for _, obj := range objects {
		if accessor, err := meta.Accessor(obj); err == nil && part.Has(accessor) {
			own = append(own, obj)
		}
	}
	return own
}

// eventsOf returns the events about objects in a shard, and the bookmarks.
func eventsOf(part *shard.Range, all []watch.Event) (own []watch.Event) {
	for _, e := range all {
		if e.Type == watch.Bookmark || len(of(part, []runtime.Object{e.Object})) > 0 {
			own = append(own, e)
		}
	}
	return own
}

// TestPartEmpty checks that a list with objects of other shards only, and an empty list, result in
// an empty list without a doubt.
func TestPartEmpty(t *testing.T) {
	part, err := shard.RangeOf(0, math.MaxInt)
	require.NoError(t, err)
	everyOwnKind(t, func(t *testing.T, k kind) {
		lists := []answer{list("5", pods(3, "4")...), list("6")}
		source := k.tapped(t, served{lists: lists}, func(o *tap.Options) { o.Part = part })
		for _, version := range []string{"5", "6"} {
			got := ask(t, source, firstList)
			assert.Empty(t, got.Err)
			assert.Equal(t, version, got.Meta.ResourceVersion)
			assert.Empty(t, got.Items)
		}
		assert.True(t, source.ledger.State().On)
	})
}
