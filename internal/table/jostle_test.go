// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests here are about what holds at each instruction. They run a few calls
// again and again, while the threads that they run on are jostled.

// jostle has the operating system take readers and writers off the processors
// at any instruction, until the test ends: there are more threads than
// processors, and some that do nothing but wake each other. So hundreds of times
// a second somebody else gets a turn between two loads that stand side by side,
// which without it is a matter of hours.
func jostle(t *testing.T) {
	procs := runtime.GOMAXPROCS(4 * runtime.NumCPU())
	var over atomic.Bool
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		there, back := make(chan bool), make(chan bool)
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range there {
				back <- true
			}
		})
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for !over.Load() {
				there <- true
				<-back
			}
			close(there)
		})
	}
	t.Cleanup(func() {
		over.Store(true)
		wg.Wait()
		runtime.GOMAXPROCS(procs)
	})
}

// fewer is n, or a tenth of that with the race detector, which has each step take
// ten times as long.
func fewer(n int) int {
	if invariants {
		return n / 10
	}
	return n
}

// beside runs a writer once and each reader again and again until it has ended.
// A reader that returns an error ends the test.
func beside(t *testing.T, write func(step int), steps int, readers ...func() error) {
	jostle(t)
	var over atomic.Bool
	var wg sync.WaitGroup
	for i, read := range readers {
		wg.Go(func() {
			for !over.Load() {
				if err := read(); err != nil {
					t.Errorf("reader %d: %v", i, err)
					over.Store(true)
				}
			}
		})
	}
	for step := 1; step <= steps && !over.Load(); step++ {
		write(step)
	}
	over.Store(true)
	wg.Wait()
}

// final and draft are objects of which the words must not be mixed up.
type (
	final struct {
		mark, step int
		value      string
	}
	draft struct {
		mark, step int
		value      string
	}
)

const finalMark, draftMark = 0x600D, 0xBAD

func newDraftTable() *Table {
	return New(map[string]IndexFunc{"value": func(obj any) ([]string, error) {
		if f, ok := obj.(*final); ok {
			return []string{f.value}, nil
		}
		return []string{obj.(*draft).value}, nil
	}}, Options{})
}

// twins returns two keys that are candidates for each other: a search for the
// second one finds the first one before.
func (t *Table) twins() (first, second string) {
	byTag := map[uint64]string{}
	for i := 0; ; i++ {
		key := "key-" + strconv.Itoa(i)
		at := tag(t.core.Load().hash(key))
		if first := byTag[at]; first != "" {
			return first, key
		}
		byTag[at] = key
	}
}

// checkFinals returns the step of objects of one state, which is not older than
// the one that was seen before.
func checkFinals(objs []any, n int, seen *int) error {
	if len(objs) != n {
		return fmt.Errorf("%d objects", len(objs))
	}
	for _, obj := range objs {
		f, ok := obj.(*final)
		if !ok || f.mark != finalMark {
			return fmt.Errorf("a draft is visible: %v", obj)
		}
		if f.step < *seen {
			return fmt.Errorf("step %d after %d", f.step, *seen)
		}
		if f.step != objs[0].(*final).step {
			return fmt.Errorf("steps %d and %d in one answer", f.step, objs[0].(*final).step)
		}
	}
	if n > 0 {
		*seen = objs[0].(*final).step
	}
	return nil
}

// TestNobodySeesADraft: within a batch each object changes its type, its value
// and its place in the posting. No call sees anything but the last of it.
func TestNobodySeesADraft(t *testing.T) {
	for name, read := range draftReads {
		for bodies, every := range map[string]int{"": 0, " and bodies": 3} {
			t.Run(name+bodies, func(t *testing.T) {
				table := newDraftTable()
				first, second := table.twins()
				write := func(step int) {
					if every > 0 && step%every == 0 {
						replaceDrafts(table, step, first, second)
					} else {
						applyDrafts(table, step, first, second)
					}
				}
				write(0)
				reader := func() func() error {
					seen := 0
					return func() error { return read(table, first, second, &seen) }
				}
				beside(t, write, fewer(15_000), reader(), reader())
				requireNothingKept(t, table)
			})
		}
	}
}

func applyDrafts(table *Table, step int, keys ...string) {
	var ops []Op
	for _, key := range keys {
		for range 4 { // to be seen for most of the time that the batch takes
			ops = append(ops,
				Op{Key: key, Object: &draft{draftMark, step, "v"}},
				Op{Key: key, Object: &draft{draftMark, step, "w"}})
		}
		ops = append(ops, Op{Key: key, Object: &final{finalMark, step, "v"}})
	}
	table.Apply(ops, nil)
}

func replaceDrafts(table *Table, step int, keys ...string) {
	_ = table.Fill(len(keys), "", func(add func(string, any)) error { // never fails
		for _, key := range keys {
			add(key, &draft{draftMark, step, "w"})
			add(key, &final{finalMark, step, "v"})
		}
		return nil
	})
}

// draftReads are the ways to come to the two objects.
var draftReads = map[string]func(table *Table, first, second string, seen *int) error{
	"Get": func(table *Table, first, _ string, seen *int) error {
		obj, _ := table.Get(first)
		return checkFinals([]any{obj}, 1, seen)
	},
	"Get of a second candidate": func(table *Table, _, second string, seen *int) error {
		obj, _ := table.Get(second)
		return checkFinals([]any{obj}, 1, seen)
	},
	"ByIndex": func(table *Table, _, _ string, seen *int) error {
		objs, _ := table.ByIndex("value", "v")
		return checkFinals(objs, 2, seen)
	},
	"IndexKeys and Count": func(table *Table, _, _ string, _ *int) error {
		keys, _ := table.IndexKeys("value", "v")
		n, _ := table.Count("value", "v")
		w, _ := table.Count("value", "w")
		if len(keys) != 2 || n != 2 || w != 0 {
			return fmt.Errorf("%d keys, %d and %d members", len(keys), n, w)
		}
		return nil
	},
	"List": func(table *Table, _, _ string, seen *int) error { return checkFinals(table.List(), 2, seen) },
	"Snapshot": func(table *Table, _, second string, seen *int) error {
		s := table.Snapshot()
		defer s.Close()
		obj, _ := s.Get(second)
		return checkFinals(append(s.List(), obj), 3, seen)
	},
}

// TestMembersThatStayAreFound while others come and go, by each change of shape
// that a posting goes through: a leaf grows and shrinks, is added and is trimmed,
// and the posting is dropped.
func TestMembersThatStayAreFound(t *testing.T) {
	for name, sizes := range map[string][]int{
		"a first leaf":   {6, 7, 2},
		"a second leaf":  {leafLen, leafLen + 1},
		"a third leaf":   {2*leafLen - 1, 2*leafLen + 1, 2 * leafLen},
		"a posting":      {0, 1},
		"several leaves": {1, 3 * leafLen, leafLen},
	} {
		t.Run(name, func(t *testing.T) {
			table, stay := newDraftTable(), slices.Min(sizes)
			for i := range stay {
				put(table, "stay-"+strconv.Itoa(i), &final{finalMark, 0, "v"})
			}
			come := 0
			resize := func(step int) {
				var ops []Op
				for ; come < sizes[step%len(sizes)]-stay; come++ {
					ops = append(ops, Op{Key: "come-" + strconv.Itoa(come), Object: &final{finalMark, 1, "v"}})
				}
				for ; come > sizes[step%len(sizes)]-stay; come-- {
					ops = append(ops, Op{Key: "come-" + strconv.Itoa(come-1), Delete: true})
				}
				table.Apply(ops, nil)
			}
			resize(0)
			beside(t, resize, fewer(10_000), func() error {
				objs, _ := table.ByIndex("value", "v")
				return checkMembers(objs, sizes, stay)
			}, func() error {
				n, _ := table.Count("value", "v")
				keys, _ := table.IndexKeys("value", "v")
				if !slices.Contains(sizes, n) || !slices.Contains(sizes, len(keys)) {
					return fmt.Errorf("%d members, %d keys", n, len(keys))
				}
				return nil
			})
		})
	}
}

// checkMembers: there are as many as there may be, and all that stay.
func checkMembers(objs []any, sizes []int, stay int) error {
	staying := 0
	for _, obj := range objs {
		if obj.(*final).step == 0 {
			staying++
		}
	}
	if staying != stay || !slices.Contains(sizes, len(objs)) {
		return fmt.Errorf("%d members, %d of %d that stay", len(objs), staying, stay)
	}
	return nil
}

// growing is a table whose keys 0 to added are surely there.
type growing struct {
	*Table
	added atomic.Int64
}

func growingKey(i int64) string { return "key-" + strconv.FormatInt(i, 10) }

func (g *growing) add(i int64) {
	put(g.Table, growingKey(i), growingKey(i))
	g.added.Store(i)
}

func newGrowing() *growing {
	g := &growing{Table: New(map[string]IndexFunc{
		"key": func(obj any) ([]string, error) { return []string{obj.(string)}, nil }}, Options{})}
	g.add(0)
	return g
}

// TestKeysAndValuesAreFoundWhileTheirTablesGrow: what is there all the time is
// found at any moment, and what comes is found from then on.
func TestKeysAndValuesAreFoundWhileTheirTablesGrow(t *testing.T) {
	const rounds, keys = 40, 500
	var current atomic.Pointer[growing]
	current.Store(newGrowing())
	reader := func(find func(table *growing, key string) (obj any)) func() error {
		i := int64(0)
		return func() error {
			table := current.Load()
			n := table.added.Load()
			if i++; i > n+1 { // the next one may be there
				i = 0
			}
			if obj := find(table, growingKey(i)); obj == nil && i <= n || obj != nil && obj != any(growingKey(i)) {
				return fmt.Errorf("%v for %q of %d", obj, growingKey(i), n)
			}
			return nil
		}
	}
	get := func(table *growing, key string) any { obj, _ := table.Get(key); return obj }
	byIndex := func(table *growing, key string) any {
		if objs, _ := table.ByIndex("key", key); len(objs) == 1 {
			return objs[0]
		}
		return nil
	}
	newest := func() error {
		table := current.Load()
		table.Get(growingKey(table.added.Load() + 1))
		return nil
	}
	beside(t, func(step int) {
		if i := int64(step % keys); i > 0 {
			current.Load().add(i)
		} else {
			current.Store(newGrowing())
		}
	}, fewer(rounds*keys), reader(get), reader(get), reader(byIndex), newest)
}

// TestALateIndexBelongsToItsState: who has one state has the index or has it
// not.
func TestALateIndexBelongsToItsState(t *testing.T) {
	var current atomic.Pointer[Table]
	begin := func() { current.Store(newValueTable()) }
	begin()
	beside(t, func(step int) {
		if step%2 == 0 {
			begin()
			return
		}
		require.NoError(t, current.Load().AddIndexers(map[string]IndexFunc{
			"late": func(any) ([]string, error) { return nil, nil }}))
	}, fewer(200_000), func() error {
		s := current.Load().Snapshot()
		defer s.Close()
		_, first := s.Count("late", "v")
		_, second := s.Count("late", "v")
		if (first == nil) != (second == nil) {
			return fmt.Errorf("%v, then %v", first, second)
		}
		return nil
	})
}

// TestManyPinsComeAndGo: more readers than the list of pins has room for take
// pins, and each of them finds the state that it has chosen.
func TestManyPinsComeAndGo(t *testing.T) {
	table := newDraftTable()
	write := func(step int) {
		table.Apply([]Op{
			{Key: "a", Object: &final{finalMark, step, "v"}},
			{Key: "b", Object: &final{finalMark, step, "v"}}}, nil)
	}
	write(0)
	readers := make([]func() error, 3*sparePins)
	for i := range readers {
		seen := 0
		readers[i] = func() error {
			v, p := table.pin()
			defer table.leave(p)
			a, _ := v.get("a")
			runtime.Gosched()
			b, _ := v.get("b")
			return checkFinals([]any{a, b}, 2, &seen)
		}
	}
	beside(t, write, fewer(20_000), readers...)
	requireNothingKept(t, table)
}
