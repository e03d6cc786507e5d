// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestDeltaFIFO(t *testing.T) {
	onEach(t, []queueCase{
		{"collects what happened to a key", deltaCollects},
		{"two deletes in a row become one", deltaMergesDeletes},
		{"ignores deletes of what nobody knows", deltaIgnoresUnknownDeletes},
		{"Replace deletes what is known or queued", deltaReplaceDeletes},
		{"Replace deletes what lookups fail for, without object", deltaReplaceBrokenLookups},
		{"Replace with duplicate keys", deltaReplaceDuplicates},
		{"Replaced or Sync", deltaReplaceType},
		{"Resync passes over queued keys", deltaResync},
		{"Resync does not resurrect", deltaResyncDeleted},
		{"transforms all but tombstones and syncs", deltaTransforms},
		{"a failing transform drops the item", deltaTransformError},
		{"a Replace that is refused in the middle", deltaReplaceRefused},
		{"a Delete without a key is no first write", deltaKeylessDelete},
		{"what nobody knows is not deleted, also if it cannot be transformed", deltaRefusedUnknownDelete},
		{"KeyOf", deltaKeyOf},
	})
}

// known makes a store of client-go's that holds the objects; queues only read it.
func known(objs ...any) cache.Store {
	store := cache.NewStore(keyOrRefuse)
	for _, obj := range objs {
		if err := store.Add(obj); err != nil {
			panic(err)
		}
	}
	return store
}

func newDelta(impl implementation, known cache.KeyListerGetter) cache.Queue {
	return makeDelta(true)(impl, queueParts{known: known})
}

func deltaCollects(t *testing.T, impl implementation) {
	q := newDelta(impl, nil)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Update(pod("a", "3")))
	require.NoError(t, q.Delete(pod("a", "4")))
	require.NoError(t, q.Add(pod("a", "5")))
	assert.Equal(t, []string{"[Added a@1 Updated a@3 Deleted a@4 Added a@5]", "[Added b@2]"}, drain(t, q))
}

func deltaMergesDeletes(t *testing.T, impl implementation) {
	tombstone := cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "8")}
	for want, second := range map[string]struct{ first, second any }{
		"[Added a@1 Deleted a@2]":        {pod("a", "2"), pod("a", "3")},
		"[Added a@1 Deleted a@4]":        {pod("a", "4"), tombstone},
		"[Added a@1 Deleted a@5]":        {tombstone, pod("a", "5")},
		"[Added a@1 Deleted gone(a@8)]":  {tombstone, tombstone},
		"[Added a@1 Deleted gone(a@8)] ": {cache.DeletedFinalStateUnknown{Key: "ns/a"}, tombstone},
	} {
		q := newDelta(impl, nil)
		require.NoError(t, q.Add(pod("a", "1")))
		require.NoError(t, q.Delete(second.first))
		require.NoError(t, q.Delete(second.second))
		assert.Contains(t, want, drain(t, q)[0])
	}
}

func deltaIgnoresUnknownDeletes(t *testing.T, impl implementation) {
	q := newDelta(impl, nil)
	require.NoError(t, q.Delete(pod("a", "1")))
	assert.Empty(t, drain(t, q))

	q = newDelta(impl, known(pod("b", "1")))
	require.NoError(t, q.Delete(pod("a", "2")))
	require.NoError(t, q.Delete(pod("b", "3")))
	require.NoError(t, q.Add(pod("c", "4")))
	require.NoError(t, q.Delete(pod("c", "5")))
	assert.Equal(t, []string{"[Deleted b@3]", "[Added c@4 Deleted c@5]"}, drain(t, q))

	q = newDelta(impl, broken{"ns/x"})
	require.NoError(t, q.Delete(pod("x", "6")))
	assert.Equal(t, []string{"[Deleted x@6]"}, drain(t, q), "a lookup that fails proves nothing")
}

func deltaReplaceDeletes(t *testing.T, impl implementation) {
	q := newDelta(impl, known(pod("known", "1"), pod("kept", "2"), pod("both", "3")))
	require.NoError(t, q.Add(pod("queued", "4")))
	require.NoError(t, q.Update(pod("both", "5")))
	require.NoError(t, q.Delete(pod("kept", "6")))
	require.NoError(t, q.Replace([]any{pod("kept", "7"), pod("new", "8")}, "8"))
	assert.ElementsMatch(t, []string{
		"[Added queued@4 Deleted gone(queued@4)]",
		"[Updated both@5 Deleted gone(both@5)]",
		"[Deleted kept@6 Replaced kept@7]",
		"[Replaced new@8]",
		"[Deleted gone(known@1)]",
	}, drain(t, q))

	q = newDelta(impl, nil)
	require.NoError(t, q.Add(pod("queued", "1")))
	require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "ns/queued", Obj: pod("queued", "2")}))
	require.NoError(t, q.Replace(nil, "3"))
	assert.Equal(t, []string{"[Added queued@1 Deleted gone(queued@2)]"}, drain(t, q), "no tombstone in a tombstone")
}

// broken knows keys whose lookups fail.
type broken []string

func (b broken) ListKeys() []string { return b }

func (b broken) GetByKey(string) (any, bool, error) { return nil, false, errors.New("lookup failed") }

// vanished knows keys that are gone when looked up.
type vanished []string

func (v vanished) ListKeys() []string { return v }

func (v vanished) GetByKey(string) (any, bool, error) { return nil, false, nil }

func deltaReplaceBrokenLookups(t *testing.T, impl implementation) {
	for _, lookups := range []cache.KeyListerGetter{broken{"ns/a"}, vanished{"ns/a"}} {
		q := newDelta(impl, lookups)
		require.NoError(t, q.Replace(nil, "1"))
		assert.Equal(t, []string{"[Deleted gone(nil)]"}, drain(t, q))
		q = newDelta(impl, lookups)
		require.NoError(t, q.Resync())
		assert.Empty(t, drain(t, q))
	}
}

func deltaReplaceDuplicates(t *testing.T, impl implementation) {
	q := newDelta(impl, nil)
	require.NoError(t, q.Replace([]any{pod("a", "1"), pod("b", "2"), pod("a", "3")}, "3"))
	assert.Equal(t, popped{"[Replaced a@1 Replaced a@3]", true}, pop(t, q))
	assert.False(t, q.HasSynced())
	assert.Equal(t, popped{"[Replaced b@2]", true}, pop(t, q))
	assert.True(t, q.HasSynced(), "keys count, not objects")
}

func deltaReplaceType(t *testing.T, impl implementation) {
	for replaced, want := range map[bool]string{true: "[Replaced a@1]", false: "[Sync a@1]"} {
		q := makeDelta(replaced)(impl, queueParts{})
		require.NoError(t, q.Replace([]any{pod("a", "1")}, "1"))
		assert.Equal(t, []string{want}, drain(t, q))
	}
}

func deltaResync(t *testing.T, impl implementation) {
	q := newDelta(impl, nil)
	require.NoError(t, q.Resync())
	assert.Empty(t, drain(t, q), "nothing known, nothing to sync")

	q = newDelta(impl, known(pod("a", "1"), pod("b", "2")))
	require.NoError(t, q.Update(pod("a", "3")))
	require.NoError(t, q.Resync())
	require.NoError(t, q.Resync())
	assert.Equal(t, []string{"[Updated a@3]", "[Sync b@2]"}, drain(t, q))
}

func deltaResyncDeleted(t *testing.T, impl implementation) {
	q := newDelta(impl, known(pod("a", "1")))
	require.NoError(t, q.Delete(pod("a", "2")))
	require.NoError(t, q.Resync())
	assert.Equal(t, []string{"[Deleted a@2]"}, drain(t, q))
}

func deltaTransforms(t *testing.T, impl implementation) {
	for _, replaced := range []bool{true, false} {
		q := makeDelta(replaced)(impl, queueParts{known: known(pod("k", "9"), pod("l", "9")), transform: shout})
		transforming, ok := q.(cache.TransformingStore)
		require.True(t, ok)
		assert.NotNil(t, transforming.Transformer())
		require.NoError(t, q.Add(pod("a", "1")))
		require.NoError(t, q.Update(pod("a", "2")))
		require.NoError(t, q.Delete(pod("a", "3")))
		require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "ns/l", Obj: pod("l", "4")}))
		require.NoError(t, q.Resync())
		require.NoError(t, q.Replace([]any{pod("r", "5"), pod("k", "6")}, "6"))
		kind := map[bool]string{true: "Replaced", false: "Sync"}[replaced]
		assert.Equal(t, []string{
			"[Added a@1! Updated a@2! Deleted a@3!]", "[Deleted gone(l@4)]", "[Sync k@9 " + kind + " k@6!]", "[" + kind + " r@5!]",
		}, drain(t, q))
	}
}

// refuse is a transform that fails for objects called "bad".
func refuse(obj any) (any, error) {
	if p, ok := obj.(interface{ GetName() string }); ok && p.GetName() == "bad" {
		return nil, errRefused
	}
	return obj, nil
}

var errRefused = errors.New("refused")

func deltaTransformError(t *testing.T, impl implementation) {
	q := makeDelta(true)(impl, queueParts{known: known(pod("bad", "0")), transform: refuse})
	assert.ErrorIs(t, q.Add(pod("bad", "1")), errRefused)
	assert.ErrorIs(t, q.Update(pod("bad", "2")), errRefused)
	assert.ErrorIs(t, q.Delete(pod("bad", "3")), errRefused)
	assert.Error(t, q.Replace([]any{pod("bad", "4")}, "4"))
	assert.Empty(t, drain(t, q))
}

func deltaReplaceRefused(t *testing.T, impl implementation) {
	for name, refused := range map[string]any{"no key": "junk", "no transform": pod("bad", "2")} {
		q := makeDelta(true)(impl, queueParts{transform: refuse})
		assert.Error(t, q.Replace([]any{pod("a", "1"), refused, pod("b", "3")}, "3"), name)
		assert.False(t, q.HasSynced())
		assert.Equal(t, differs(t, impl, "a Replace that is refused queues nothing; client-go queues what comes before",
			[]string{"[Replaced a@1]"}, []string{}), drain(t, q), name)
	}
}

func deltaKeylessDelete(t *testing.T, impl implementation) {
	q := newDelta(impl, nil)
	assert.ErrorIs(t, q.Delete("junk"), errUnkeyable)
	assert.False(t, q.HasSynced())
	require.NoError(t, q.Replace([]any{pod("a", "1")}, "1"))
	assert.Equal(t, popped{"[Replaced a@1]", true}, pop(t, q))

	q = newDelta(impl, nil)
	assert.ErrorIs(t, q.Add("junk"), errUnkeyable)
	assert.True(t, q.HasSynced(), "an Add is one")
}

func deltaRefusedUnknownDelete(t *testing.T, impl implementation) {
	for _, known := range []cache.KeyListerGetter{nil, known(pod("a", "0"))} {
		q := makeDelta(true)(impl, queueParts{known: known, transform: refuse})
		assert.NoError(t, q.Delete(pod("bad", "1")))
		assert.True(t, q.HasSynced())
		assert.Empty(t, drain(t, q))
	}
}

func deltaKeyOf(t *testing.T, impl implementation) {
	q, ok := newDelta(impl, nil).(interface{ KeyOf(any) (string, error) })
	require.True(t, ok)
	for _, obj := range []any{
		pod("a", "1"), cache.ExplicitKey("ns/a"), cache.DeletedFinalStateUnknown{Key: "ns/a"},
		cache.Deltas{{Type: cache.Added, Object: pod("b", "1")}, {Type: cache.Added, Object: pod("a", "2")}},
		cache.Deltas{{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: "ns/a"}}},
	} {
		key, err := q.KeyOf(obj)
		require.NoError(t, err)
		assert.Equal(t, "ns/a", key)
	}
	_, err := q.KeyOf(cache.Deltas{})
	assert.ErrorIs(t, err, cache.ErrZeroLengthDeltasObject)
	var keyErr cache.KeyError
	assert.ErrorAs(t, err, &keyErr)
	_, err = q.KeyOf("junk")
	assert.Equal(t, errUnkeyable, err, "the key function's own error")
	_, err = q.KeyOf(cache.Delta{Type: cache.Added, Object: pod("a", "1")})
	assert.Equal(t, errUnkeyable, err, "a Delta is none of its")
}
