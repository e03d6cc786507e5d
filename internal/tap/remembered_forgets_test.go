// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// TestWrittenNeverComesBack: a state that is taken over while all is checked has objects in the
// place of which somebody may have written to. Those do not come back later, although somebody has
// them: not if the client has made the new ones, as it does with the first of each watch, and not
// if these came in another form, as items of a list do.
func TestWrittenNeverComesBack(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[10:]), items[:10]...) // so that none is first in both
		server := newServer(t, false, []answer{list("5", items...)}, []answer{
			events(false, added(items)...), events(false, added(behind)...), events(false, added(items)...), events(false, added(items)...),
		})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		watches := func() []apiruntime.Object { return objectsOf(follow(t, source, firstWatch, 0)) }
		for _, checked := range []func(){func() { watches() }, func() { ask(t, source, firstList) }} {
			before := watches()
			for _, obj := range before {
				written, err := meta.Accessor(obj)
				require.NoError(t, err)
				written.SetGenerateName("against the rule")
			}
			source.Check(true)
			checked()
			source.Check(false)
			for _, obj := range watches() {
				got, err := meta.Accessor(obj)
				require.NoError(t, err)
				assert.Empty(t, got.GetGenerateName(), "%s, %s", k.name, got.GetName())
			}
			runtime.KeepAlive(before)
		}
	}
}

// TestChecksDecodeEach: while all parts are checked an object that comes twice is decoded twice.
func TestChecksDecodeEach(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		twice := append(slices.Clone(items), items...)
		server := newServer(t, false, []answer{list("5", twice...)}, []answer{events(false, added(twice)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		source.Check(true)
		for _, got := range [][]apiruntime.Object{
			ask(t, source, firstList).Items, objectsOf(follow(t, source, firstWatch, 0)),
		} {
			require.Len(t, got, 40)
			assert.Zero(t, same(got[:20], got[20:]), k.name)
			assert.Equal(t, got[:20], got[20:], k.name)
		}
		assert.Zero(t, source.ledger.State().Reused)
	}
}

// TestListsAndWatchesInTurn: what comes in lists and watches of one informer is what client-go
// makes of each, though some of it came by the other one before.
func TestListsAndWatchesInTurn(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		items := largePods(20, "4")
		server := func() *server {
			return newServer(t, http2, []answer{list("5", items...)}, []answer{events(false, added(items)...)})
		}
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		var kept []heard
		for range 2 {
			kept = append(kept, follow(t, source, firstWatch, 0), ask(t, source, firstList))
		}
		for i, want := range []heard{follow(t, plain, firstWatch, 0), ask(t, plain, firstList)} {
			assert.Equal(t, want, kept[i])
			assert.Equal(t, want, kept[i+2])
		}
		assert.NotZero(t, source.ledger.State().Reused)
	})
}

// TestItemsOfOtherLists: an unstructured item without a kind has that of its list, which may be
// another one next time.
func TestItemsOfOtherLists(t *testing.T) {
	listOf := func(kind string) answer {
		items := make([]string, 20)
		for i := range items {
			items[i] = fmt.Sprintf(`{"metadata":{"name":"p%d","annotations":{"large":"%s"}}}`, i, strings.Repeat("x", 1100))
		}
		body := fmt.Sprintf(`{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, strings.Join(items, ","))
		return func(w http.ResponseWriter, r *http.Request) { reply(w, r, apiruntime.ContentTypeJSON, []byte(body)) }
	}
	for _, k := range kinds {
		if k.name != "dynamic" {
			continue
		}
		server := newServer(t, false, []answer{listOf("One"), listOf("Other"), listOf("One")}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		var kept []heard
		for _, kind := range []string{"One", "Other", "One"} {
			got := ask(t, source, firstList)
			require.Len(t, got.Items, 20)
			for _, item := range got.Items {
				require.Equal(t, kind, item.GetObjectKind().GroupVersionKind().Kind)
			}
			kept = append(kept, got)
		}
		assert.Equal(t, 20-bothWays-1, same(kept[0].Items, kept[2].Items))
	}
}

// TestWrittenIsNoFault: an item that goes both ways is decoded anew, though it is known: who has
// written to the cached one is no fault of the decoder's.
func TestWrittenIsNoFault(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[15:]), items[:15]...)
		server := newServer(t, false, []answer{list("5", items...), list("5", behind...)}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		before := ask(t, source, firstList)
		writeTo(t, before.Items[15])
		after := ask(t, source, firstList)
		require.Empty(t, after.Err, k.name)
		assert.NotSame(t, before.Items[15], after.Items[0], k.name)
		assert.Same(t, before.Items[16], after.Items[1], k.name)
		assert.Zero(t, source.ledger.State().Differences)
	}
}

// writeTo writes to what no other object shares: the check of a shared part, which comes by chance,
// would notice that and have everything decoded again.
func writeTo(t *testing.T, obj apiruntime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object["against"] = "the rule"
		return
	}
	written, err := meta.Accessor(obj)
	require.NoError(t, err)
	written.SetGenerateName("against the rule")
}
