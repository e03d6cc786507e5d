// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

func put(table *Table, key string, obj any) { table.Apply([]Op{{Key: key, Object: obj}}, nil) }

func del(table *Table, key string) { table.Apply([]Op{{Key: key, Delete: true}}, nil) }

func newValueTable() *Table {
	return New(map[string]IndexFunc{"value": func(obj any) ([]string, error) {
		return []string{obj.(*half).value}, nil
	}}, Options{})
}

// TestSnapshotKeepsOnlyItsVersions counts the versions kept.
func TestSnapshotKeepsOnlyItsVersions(t *testing.T) {
	table := newValueTable()
	for i := range 10 {
		put(table, strconv.Itoa(i), &half{value: "v"})
	}
	first := table.Snapshot()
	for i := range 1000 {
		put(table, "0", &half{value: "v", count: i})
	}
	require.Equal(t, 1, table.Snapshots().Kept, "one old version of one object")
	for i := range 100 {
		put(table, "new", &half{value: "w", count: i})
		del(table, "new")
	}
	require.Equal(t, 1, table.Snapshots().Kept, "objects added and deleted after the snapshot")
	second := table.Snapshot()
	put(table, "0", &half{value: "v"})
	require.Equal(t, 2, table.Snapshots().Kept, "one version for each snapshot")
	third := table.Snapshot()
	fourth := table.Snapshot()
	del(table, "1")
	require.Equal(t, 4, table.Snapshots().Kept, "the deleted object and its leaf, once for all snapshots that see them")
	first.Close()
	tidied(table)
	require.Equal(t, 3, table.Snapshots().Kept)
	second.Close()
	tidied(table)
	require.Equal(t, 2, table.Snapshots().Kept)
	third.Close()
	tidied(table)
	require.Equal(t, 2, table.Snapshots().Kept, "the fourth sees the same state")
	fourth.Close()
	requireNothingKept(t, table)
	require.NoError(t, table.verify())
}

// TestSnapshotOfAFormerBody checks that no version of a draft's body is kept for a snapshot of the
// former one, which is younger than the draft: neither at once nor when another pin has needed it.
func TestSnapshotOfAFormerBody(t *testing.T) {
	table := newValueTable()
	d, b := table.Draft(1), &Block{N: 1}
	b.Keys[0], b.Objects[0] = "k", &half{value: "v"}
	d.Put(b)
	b.Keys[0] = "l"
	d.Put(b)
	put(table, "k", &half{value: "v"})
	former := table.Snapshot()
	defer former.Close()
	table.Install(d, "3")
	put(table, "k", &half{value: "w"})
	require.Zero(t, table.Snapshots().Kept)
	s := table.Snapshot()
	put(table, "l", &half{value: "w"})
	require.Equal(t, 3, table.Snapshots().Kept, "the object and both leaves")
	s.Close()
	requireNothingKept(t, table)
}

// TestSnapshotOutlivesReplace checks that versions kept in a former body are dropped when the one
// snapshot that needs them is closed, while another one stays open.
func TestSnapshotOutlivesReplace(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{count: 1})
	first := table.Snapshot()
	put(table, "k", &half{count: 2})
	second := table.Snapshot()
	table.Replace(maps.All(map[string]any{"l": &half{count: 3}}), 1, "3")
	require.Equal(t, 1, table.Snapshots().Kept)
	require.Len(t, table.bodies(), 2)
	obj, ok := first.Get("k")
	require.True(t, ok)
	require.Equal(t, 1, obj.(*half).count)
	first.Close()
	requireNothingKept(t, table)
	require.Len(t, table.bodies(), 1)
	obj, ok = second.Get("k")
	require.True(t, ok)
	require.Equal(t, 2, obj.(*half).count)
	second.Close()
}

func TestSnapshotAfterClose(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	s := table.Snapshot()
	s.Close()
	s.Close()
	require.NoError(t, differs(newState(), s, []query{get("k"), list(), listKeys(), loopOf("", "")}))
	for _, q := range []query{
		byIndexOf("value", "v"), indexKeysOf("value", "v"), countOf("value", "v"), valuesOf("value"), loopOf("value", "v"),
	} {
		_, text := q(s)
		require.Contains(t, text(), ErrClosed.Error())
	}
	require.Zero(t, table.Snapshots().Open)
}

// TestClosedSnapshotKeepsNothing: a closed snapshot that is still referred to keeps no object of a body that a
// Replace has superseded.
func TestClosedSnapshotKeepsNothing(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{})
	s := table.Snapshot()
	later := &half{count: 1}
	alive := weak.Make(later)
	put(table, "later", later)
	s.Close()
	table.Replace(maps.All(map[string]any{"l": &half{count: 3}}), 1, "3")
	tidied(table)
	runtime.GC()
	require.Nil(t, alive.Value())
	require.Empty(t, s.Indexes())
	_, err := s.Test("value", "v")
	require.ErrorIs(t, err, ErrClosed)
	runtime.KeepAlive(table)
}

// TestCloseInsideALoop checks that a loop keeps its versions until it ends.
func TestCloseInsideALoop(t *testing.T) {
	table := newValueTable()
	for i := range 300 {
		put(table, strconv.Itoa(i), &half{value: "v"})
	}
	s := table.Snapshot()
	seen := map[string]bool{}
	for key := range s.All() {
		if len(seen) == 0 {
			s.Close()
			table.Replace(func(func(string, any) bool) {}, 0, "")
		}
		seen[key] = true
		del(table, key)
	}
	require.Len(t, seen, 300)
	require.Zero(t, table.Snapshots().Open)
	requireNothingKept(t, table)
}

func TestSnapshotStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newValueTable()
		require.True(t, table.Snapshots().Oldest.IsZero())
		first := time.Now()
		a := table.Snapshot()
		<-time.After(time.Minute)
		second := time.Now()
		b := table.Snapshot()
		stats := table.Snapshots()
		require.Equal(t, 2, stats.Open)
		require.True(t, stats.Oldest.Equal(first))
		a.Close()
		require.True(t, table.Snapshots().Oldest.Equal(second))
		b.Close()
		require.Zero(t, table.Snapshots().Open)
	})
}

// TestForgottenSnapshot checks that a forgotten snapshot is closed by the garbage collector, and
// counted.
func TestForgottenSnapshot(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{})
	func() { require.Equal(t, 1, table.Snapshot().Len()) }()
	put(table, "k", &half{})
	require.Equal(t, 1, table.Snapshots().Kept)
	for table.Snapshots().Forgotten == 0 {
		runtime.GC()
	}
	requireNothingKept(t, table)
	require.Zero(t, table.Snapshots().Open)
	require.Equal(t, uint64(1), table.Snapshots().Forgotten)
}

// TestShrink checks that a table that has lost most of its objects frees their memory, and that
// open snapshots are not affected.
func TestShrink(t *testing.T) {
	table := newValueTable()
	objs := map[string]any{}
	for i := range 4000 {
		objs[strconv.Itoa(i)] = &half{value: "v" + strconv.Itoa(i%7)}
	}
	table.Replace(maps.All(objs), len(objs), "1")
	s, left := table.Snapshot(), []string{"a"}
	for i := range 4000 {
		if key := strconv.Itoa(i); i < 3990 {
			del(table, key)
		} else {
			left = append(left, key)
		}
	}
	require.Equal(t, 4000, len(s.List()))
	require.Equal(t, 10, table.Len())
	s.Close()
	requireNothingKept(t, table)
	put(table, "a", &half{value: "v1"})
	require.LessOrEqual(t, int(table.core.Load().records.next), 2*slabLen)
	require.ElementsMatch(t, left, table.ListKeys())
	n, err := table.Count("value", "v1")
	require.NoError(t, err)
	keys, err := table.IndexKeys("value", "v1")
	require.NoError(t, err)
	require.Len(t, keys, n)
	require.NoError(t, table.verify())
	require.Equal(t, "1", table.RV())
}
