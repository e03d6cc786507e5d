// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// changes of one pod "a" for tables.
func addedA(v, uid string) change { return change{kind: changeAdd, key: "a", new: podOf("a", v, uid)} }

func initiallyA(v string) change {
	return change{kind: changeAdd, key: "a", new: podOf("a", v, "x"), initial: true}
}

func deletedA(v string) change { return change{kind: changeDelete, key: "a", old: podOf("a", v, "x")} }

func updatedA(v, uid, w, newUID string) change {
	return change{kind: changeUpdate, key: "a", old: podOf("a", v, uid), new: podOf("a", w, newUID)}
}

func resyncedA(v string) change {
	c := updatedA(v, "x", v, "x")
	c.resync = true
	return c
}

func TestCoalescingRules(t *testing.T) {
	for name, test := range map[string]struct {
		heard  []change
		want   []string
		merged uint64
	}{
		"add and update":             {[]change{addedA("1", "x"), updatedA("1", "x", "2", "x")}, []string{"add a2"}, 1},
		"initial add and update":     {[]change{initiallyA("1"), updatedA("1", "x", "2", "x")}, []string{"initial a2"}, 1},
		"two updates":                {[]change{updatedA("1", "x", "2", "x"), updatedA("2", "x", "3", "x")}, []string{"update a1 a3"}, 1},
		"update and delete":          {[]change{updatedA("1", "x", "2", "x"), deletedA("2")}, []string{"delete a2"}, 1},
		"add and delete":             {[]change{addedA("1", "x"), deletedA("1")}, nil, 2},
		"delete and add":             {[]change{deletedA("1"), addedA("2", "y")}, []string{"delete a1", "add a2"}, 0},
		"delete and add, same UID":   {[]change{deletedA("1"), addedA("2", "x")}, []string{"delete a1", "add a2"}, 0},
		"delete, add, delete":        {[]change{deletedA("1"), addedA("2", "y"), deletedA("2")}, []string{"delete a1"}, 2},
		"delete, add, delete, add":   {[]change{deletedA("1"), addedA("2", "y"), deletedA("2"), addedA("3", "z")}, []string{"delete a1", "add a3"}, 2},
		"update across UIDs":         {[]change{updatedA("1", "x", "2", "y")}, []string{"delete unknown(a1)", "add a2"}, 0},
		"updates, last across UIDs":  {[]change{updatedA("1", "x", "2", "x"), updatedA("2", "x", "3", "y")}, []string{"delete unknown(a2)", "add a3"}, 1},
		"add and update across UIDs": {[]change{addedA("1", "x"), updatedA("1", "x", "2", "y")}, []string{"add a2"}, 2},
		"empty UID is any":           {[]change{updatedA("1", "", "2", "x"), updatedA("2", "x", "3", "")}, []string{"update a1 a3"}, 1},
		"an empty UID between two":   {[]change{updatedA("1", "x", "2", ""), updatedA("2", "", "3", "y")}, []string{"delete unknown(a2)", "add a3"}, 1},
		"resync alone":               {[]change{resyncedA("1")}, []string{"update a1 a1"}, 0},
		"resync after an update":     {[]change{updatedA("1", "x", "2", "x"), resyncedA("2")}, []string{"update a1 a2"}, 1},
		"resync after an add":        {[]change{addedA("1", "x"), resyncedA("1")}, []string{"add a1"}, 1},
		"resync, then an update":     {[]change{resyncedA("1"), updatedA("1", "x", "2", "x")}, []string{"update a1 a2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := newCoalescer()
			for _, c := range test.heard {
				q.add(c)
				checkCoalescer(t, q)
			}
			var seen journal
			for c, ok := q.pop(); ok; c, ok = q.pop() {
				c.deliver(&seen)
			}
			assert.Equal(t, test.want, seen.take())
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
		perKey[r.key] = append(perKey[r.key], r)
		count++
		if r.initial {
			initial++
		}
		require.True(t, r.kind != changeUpdate || sameUID(r.old, r.new))
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
		require.Equal(t, changeDelete, records[0].kind)
		require.Equal(t, changeAdd, newest.kind)
	}
}

// coalescerModel is a store, a handler that hears of it through a coalescer, and the coalescer.
type coalescerModel struct {
	q       *coalescer
	handler *mirror
	store   map[string]*corev1.Pod
	version int
}

func (m *coalescerModel) fresh(name, uid string) *corev1.Pod {
	m.version++
	return podOf(name, fmt.Sprint(m.version), uid)
}

func TestCoalescedHandlerEndsWithTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := coalescerModel{q: newCoalescer(), handler: newMirror(), store: map[string]*corev1.Pod{}}
		m.handler.sameUID = true
		name := func(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }
		uid := func(t *rapid.T) string { return rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "uid") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				key := name(t)
				obj := m.fresh(key, uid(t))
				if old := m.store[key]; old != nil {
					m.q.add(change{kind: changeUpdate, key: key, old: old, new: obj})
				} else {
					m.q.add(change{kind: changeAdd, key: key, new: obj, initial: rapid.Bool().Draw(t, "initial")})
				}
				m.store[key] = obj
			},
			"delete": func(t *rapid.T) {
				key := name(t)
				old := m.store[key]
				if old == nil {
					t.Skip("not there")
				}
				delete(m.store, key)
				var last any = old
				if rapid.Bool().Draw(t, "unknown") {
					last = DeletedFinalStateUnknown{Key: key, Obj: old}
				}
				m.q.add(change{kind: changeDelete, key: key, old: last})
			},
			"resync": func(*rapid.T) {
				for key, obj := range m.store {
					m.q.add(change{kind: changeUpdate, key: key, old: obj, new: obj, resync: true})
				}
			},
			"deliver": func(*rapid.T) {
				if c, ok := m.q.pop(); ok {
					c.deliver(m.handler)
				}
			},
			"": func(t *rapid.T) {
				checkCoalescer(t, m.q)
				require.LessOrEqual(t, m.q.len(), 2*3)
			},
		})
		for c, ok := m.q.pop(); ok; c, ok = m.q.pop() {
			c.deliver(m.handler)
		}
		known, problems, _ := m.handler.state()
		require.Empty(t, problems)
		require.Equal(t, stateOfPods(maps.Values(m.store)), known)
	})
}
