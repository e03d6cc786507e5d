// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// The functions below return changes of one pod "a".
func addedA(v, uid string) event.Change {
	return event.Change{Kind: event.ChangeAdd, Key: "a", New: testkit.PodOf("a", v, uid)}
}

func initiallyA(v string) event.Change {
	return event.Change{Kind: event.ChangeAdd, Key: "a", New: testkit.PodOf("a", v, "x"), Initial: true}
}

func deletedA(v string) event.Change {
	return event.Change{Kind: event.ChangeDelete, Key: "a", Old: testkit.PodOf("a", v, "x")}
}

func updatedA(v, uid, w, newUID string) event.Change {
	return event.Change{Kind: event.ChangeUpdate, Key: "a", Old: testkit.PodOf("a", v, uid), New: testkit.PodOf("a", w, newUID)}
}

func resyncedA(v string) event.Change {
	c := updatedA(v, "x", v, "x")
	c.Resync = true
	return c
}

func TestCoalescingRules(t *testing.T) {
	for name, test := range map[string]struct {
		heard  []event.Change
		want   []string
		merged uint64
	}{
		"add and update":             {[]event.Change{addedA("1", "x"), updatedA("1", "x", "2", "x")}, []string{"add a2"}, 1},
		"initial add and update":     {[]event.Change{initiallyA("1"), updatedA("1", "x", "2", "x")}, []string{"initial a2"}, 1},
		"two updates":                {[]event.Change{updatedA("1", "x", "2", "x"), updatedA("2", "x", "3", "x")}, []string{"update a1 a3"}, 1},
		"update and delete":          {[]event.Change{updatedA("1", "x", "2", "x"), deletedA("2")}, []string{"delete a2"}, 1},
		"add and delete":             {[]event.Change{addedA("1", "x"), deletedA("1")}, nil, 2},
		"delete and add":             {[]event.Change{deletedA("1"), addedA("2", "y")}, []string{"delete a1", "add a2"}, 0},
		"delete and add, same UID":   {[]event.Change{deletedA("1"), addedA("2", "x")}, []string{"delete a1", "add a2"}, 0},
		"delete, add, delete":        {[]event.Change{deletedA("1"), addedA("2", "y"), deletedA("2")}, []string{"delete a1"}, 2},
		"delete, add, delete, add":   {[]event.Change{deletedA("1"), addedA("2", "y"), deletedA("2"), addedA("3", "z")}, []string{"delete a1", "add a3"}, 2},
		"update across UIDs":         {[]event.Change{updatedA("1", "x", "2", "y")}, []string{"delete unknown(a1)", "add a2"}, 0},
		"updates, last across UIDs":  {[]event.Change{updatedA("1", "x", "2", "x"), updatedA("2", "x", "3", "y")}, []string{"delete unknown(a2)", "add a3"}, 1},
		"add and update across UIDs": {[]event.Change{addedA("1", "x"), updatedA("1", "x", "2", "y")}, []string{"add a2"}, 2},
		"empty UID is any":           {[]event.Change{updatedA("1", "", "2", "x"), updatedA("2", "x", "3", "")}, []string{"update a1 a3"}, 1},
		"an empty UID between two":   {[]event.Change{updatedA("1", "x", "2", ""), updatedA("2", "", "3", "y")}, []string{"delete unknown(a2)", "add a3"}, 1},
		"resync alone":               {[]event.Change{resyncedA("1")}, []string{"update a1 a1"}, 0},
		"resync after an update":     {[]event.Change{updatedA("1", "x", "2", "x"), resyncedA("2")}, []string{"update a1 a2"}, 1},
		"resync after an add":        {[]event.Change{addedA("1", "x"), resyncedA("1")}, []string{"add a1"}, 1},
		"resync, then an update":     {[]event.Change{resyncedA("1"), updatedA("1", "x", "2", "x")}, []string{"update a1 a2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := newCoalescer()
			for _, c := range test.heard {
				q.add(c)
				checkCoalescer(t, q)
			}
			var seen testkit.Journal
			for c, ok := q.pop(); ok; c, ok = q.pop() {
				call(&c, &seen)
			}
			assert.Equal(t, test.want, seen.Take())
			assert.Equal(t, test.merged, q.merged)
			assert.True(t, q.empty())
		})
	}
}

func TestNilCoalescerIsEmpty(t *testing.T) {
	var q *coalescer
	assert.True(t, q.empty())
	assert.Zero(t, q.len())
	assert.False(t, q.initialLeft())
}

// checkCoalescer walks the structure and compares it with its invariants.
func checkCoalescer(t require.TestingT, q *coalescer) {
	perKey := map[string][]*pendingRecord{}
	count, initial := 0, 0
	var prev *pendingRecord
	for r := q.head; r != nil; prev, r = r, r.next {
		require.Same(t, prev, r.prev)
		perKey[r.Key] = append(perKey[r.Key], r)
		count++
		if r.Initial {
			initial++
		}
		require.True(t, r.Kind != event.ChangeUpdate || sameUID(r.Old, r.New))
	}
	require.Same(t, prev, q.tail)
	require.Equal(t, count, q.len())
	require.Equal(t, initial, q.initial)
	require.Len(t, q.newest, len(perKey))
	for key, records := range perKey {
		require.LessOrEqual(t, len(records), 2, key)
		newest := records[len(records)-1]
		require.Same(t, newest, q.newest[key])
		if len(records) == 1 {
			require.Nil(t, newest.before)
			continue
		}
		require.Same(t, records[0], newest.before)
		require.Equal(t, event.ChangeDelete, records[0].Kind)
		require.Equal(t, event.ChangeAdd, newest.Kind)
	}
}

// TestCoalescedHandlerEndsWithTheStore has a coalescer between a store and a handler.
func TestCoalescedHandlerEndsWithTheStore(t *testing.T) { draw.Check(t, playCoalescer) }

func FuzzCoalescer(f *testing.F) { draw.Fuzz(f, playCoalescer) }

func playCoalescer(t *draw.T) {
	q, handler, store, version := newCoalescer(), testkit.NewMirror(), map[string]*corev1.Pod{}, 0
	handler.SameUID = true
	name := func(t *draw.T) string { return draw.Of(t, "a", "b", "c") }
	uid := func(t *draw.T) string { return draw.Of(t, "", "x", "y") }
	t.Repeat(map[string]func(*draw.T){
		"put": func(t *draw.T) {
			key := name(t)
			version++
			obj := testkit.PodOf(key, fmt.Sprint(version), uid(t))
			if old := store[key]; old != nil {
				q.add(event.Change{Kind: event.ChangeUpdate, Key: key, Old: old, New: obj})
			} else {
				q.add(event.Change{Kind: event.ChangeAdd, Key: key, New: obj, Initial: t.Bool()})
			}
			store[key] = obj
		},
		"delete": func(t *draw.T) {
			key := name(t)
			old := store[key]
			if old == nil {
				t.Skip("not there")
			}
			delete(store, key)
			var last any = old
			if t.Bool() {
				last = clientgo.DeletedFinalStateUnknown{Key: key, Obj: old}
			}
			q.add(event.Change{Kind: event.ChangeDelete, Key: key, Old: last})
		},
		"resync": func(*draw.T) {
			for _, key := range slices.Sorted(maps.Keys(store)) {
				obj := store[key]
				q.add(event.Change{Kind: event.ChangeUpdate, Key: key, Old: obj, New: obj, Resync: true})
			}
		},
		"deliver": func(*draw.T) {
			if c, ok := q.pop(); ok {
				call(&c, handler)
			}
		},
		"": func(t *draw.T) {
			checkCoalescer(t, q)
			require.LessOrEqual(t, q.len(), 2*3)
		},
	})
	for c, ok := q.pop(); ok; c, ok = q.pop() {
		call(&c, handler)
	}
	known, problems, _ := handler.State()
	require.Empty(t, problems)
	require.Equal(t, testkit.StateOfPods(maps.Values(store)), known)
}

// TestCoalescedSource checks the source of merged changes: of an initial Add and an Update, that of
// the Update; with a Resync after them, none.
func TestCoalescedSource(t *testing.T) {
	one, two := "one", "two"
	q := newCoalescer()
	q.add(event.Change{Kind: event.ChangeAdd, Key: "a", New: "1", Initial: true, Cause: event.CauseInitial, Source: &one})
	q.add(event.Change{Kind: event.ChangeUpdate, Key: "a", Old: "1", New: "2", Cause: event.CauseWatch, Source: &two})
	q.add(event.Change{Kind: event.ChangeUpdate, Key: "a", Old: "2", New: "2", Resync: true, Cause: event.CauseResync})
	c, _ := q.pop()
	assert.Equal(t, []any{event.ChangeAdd, "2", event.CauseInitial, "two"}, []any{c.Kind, c.New, c.Cause, *c.Source})
}
