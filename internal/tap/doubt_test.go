// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// named reports whether an object has one of the names.
func named(names ...string) func(runtime.Object) bool {
	return func(obj runtime.Object) bool {
		for _, name := range names {
			if obj.(metav1.Object).GetName() == name {
				return true
			}
		}
		return false
	}
}

// TestGivenUp: what our decoder gives up client-go decodes, in its place.
func TestGivenUp(t *testing.T) {
	refuses := func(o *tap.Options) { o.Make = taptest.SlowDecoders(named("p0", "p9", "p10", "p15", "p3"), nil) }
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, http2, lists, watches).config())
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(transport)), k.example, refuses)
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
		assert.EqualValues(t, 20-8-1-3, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 5}, source.ledger.State().GivenUp)
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.EqualValues(t, 20-8-1-3+16-5-1, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 10}, source.ledger.State().GivenUp)
	})
}

// TestMostlyGivenUp: a type that our decoder mostly gives up is left to client-go.
func TestMostlyGivenUp(t *testing.T) {
	var script []event
	for i := range 200 {
		script = append(script, event{watch.Added, pod(fmt.Sprintf("p%d", i), "9")})
	}
	for _, k := range podClients {
		server := newServer(t, false, nil, []answer{events(false, script...)})
		all := func(runtime.Object) bool { return true }
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.SlowDecoders(all, nil) })
		assert.Len(t, follow(t, source, firstWatch, 0).Events, 200)
		state := source.ledger.State()
		assert.Equal(t, "most objects cannot be decoded directly", state.Why)
		assert.EqualValues(t, 65, state.GivenUp["refused"])
	}
}

// TestPanics: a decoder that panics has given up.
func TestPanics(t *testing.T) {
	panics := func(obj runtime.Object) bool {
		if named("p9")(obj) {
			panic("secret")
		}
		return false
	}
	for _, k := range podClients {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, false, lists, watches).config())
		server := newServer(t, false, lists, watches)
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.SlowDecoders(panics, nil) })
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.Equal(t, map[string]int64{"the decoder panicked with a value of type string": 1}, source.ledger.State().GivenUp)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.NotContains(t, err.Error(), "secret")
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
	}
}

// damage makes a decoder wrong about an object.
func damage(name string) func(o *tap.Options) {
	return func(o *tap.Options) {
		o.Verify = 10
		o.Make = taptest.SlowDecoders(nil, func(obj runtime.Object) {
			if named(name)(obj) {
				obj.(metav1.Object).SetLabels(map[string]string{"app": "secret"})
			}
		})
	}
}

// difference is where damage shows.
func difference(k kind) string {
	if k.name == "dynamic" {
		return "a *unstructured.Unstructured, differs at object.Object[...][...]"
	}
	return fmt.Sprintf("a %T, differs at object.ObjectMeta.Labels", k.example)
}

// TestDifferentEvent: a watch in which an object was decoded wrongly ends with a Doubt, which names
// the place and no value; what follows is client-go's.
func TestDifferentEvent(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for name, before := range map[string]int{"p0": 0, "p7": 7, "p9": 9} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			got := follow(t, source, firstWatch, 0).Events
			require.Len(t, got, before+1)
			last := got[before]
			assert.Equal(t, watch.Error, last.Type)
			doubt := last.Object.(*tap.Doubt)
			assert.Contains(t, doubt.Why, "an event of a watch, "+difference(k))
			assert.NotContains(t, doubt.Why, "secret")
			state := source.ledger.State()
			assert.Equal(t, tap.State{Why: doubt.Why, Decoded: int64(max(0, before-8)), Verified: int64(min(before, 8)), Differences: 1}, state)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestDifferentItem: a list in which an item was decoded wrongly is none, and what follows is
// client-go's.
func TestDifferentItem(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for _, name := range []string{"p0", "p7", "p9", "p19"} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
			assert.Contains(t, err.Error(), "an item of the list, "+difference(k))
			assert.NotContains(t, err.Error(), "secret")
			state := source.ledger.State()
			assert.EqualValues(t, 1, state.Differences)
			assert.Zero(t, state.Decoded)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestUnnoticedDifference: between two samples nothing is compared, so the tests above do not pass
// by comparing all.
func TestUnnoticedDifference(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, damage("p10"))
	got := ask(t, source, firstList)
	require.Len(t, got.Items, 20)
	assert.Equal(t, "secret", got.Items[10].(metav1.Object).GetLabels()["app"])
}

// TestPagesAgree: each page is a list of its own, with a first item that goes both ways, and its
// token.
func TestPagesAgree(t *testing.T) {
	remaining := int64(15)
	lists := []answer{
		page(metav1.ListMeta{ResourceVersion: "5", Continue: "more", RemainingItemCount: &remaining}, pods(20, "4")...),
		page(metav1.ListMeta{ResourceVersion: "5"}, pods(15, "3")...),
	}
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		both := func(lw clientgo.ListerWatcherWithContext) (first, second heard) {
			first = ask(t, lw, firstList)
			return first, ask(t, lw, metav1.ListOptions{Limit: 500, Continue: first.Meta.Continue})
		}
		a, b := both(k.make(t, newServer(t, http2, lists, nil).config()))
		source := tappedOf(k.make(t, newServer(t, http2, lists, nil).config(transport)), k.example, nil)
		c, d := both(source)
		assert.Equal(t, a, c)
		assert.Equal(t, b, d)
		require.Len(t, d.Items, 15)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11 + 12, Verified: 9 + 3}, source.ledger.State())
	})
}

// TestSecretKeys: keys of maps are data, and no part of a path.
func TestSecretKeys(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) {
		o.Make = taptest.SlowDecoders(nil, func(obj runtime.Object) { obj.(metav1.Object).GetLabels()["app"] = "other" })
	})
	_, err := source.ListWithContext(t.Context(), firstList)
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(err.Error(), "object.ObjectMeta.Labels[...]"), "%v", err)
}
