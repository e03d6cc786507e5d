// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The concurrent tests write states that say themselves whether they are whole:
//
//   - the object "clock" counts the states, and so does the resource version;
//   - the objects of a pair always change together: both have the same count
//     and are filed under the same value, or neither is there.

type half struct {
	pair, side int
	count      int
	value      string
}

const (
	clockKey   = "clock"
	pairs      = 40
	pairValues = 3
)

func (h *half) key() string {
	if h.pair < 0 {
		return clockKey
	}
	return fmt.Sprintf("pair-%d-%d", h.pair, h.side)
}

func pairIndexers() map[string]IndexFunc {
	return map[string]IndexFunc{
		"value": func(obj any) ([]string, error) { return []string{obj.(*half).value}, nil },
		// "both" has two values for each object, so that Index unites them.
		"both": func(obj any) ([]string, error) {
			h := obj.(*half)
			return []string{h.value, "pair-" + strconv.Itoa(h.pair)}, nil
		},
	}
}

// pairWriter changes the table at random, one state at a time.
type pairWriter struct {
	table *Table
	rng   *rand.Rand
	count int
	live  map[int]string
}

func (w *pairWriter) clock() Op {
	return Op{Key: clockKey, Object: &half{pair: -1, count: w.count, value: "time"}}
}

func (w *pairWriter) change() []Op {
	i := w.rng.IntN(pairs)
	if _, ok := w.live[i]; ok && w.rng.IntN(3) == 0 {
		delete(w.live, i)
		return []Op{{Key: (&half{pair: i}).key(), Delete: true}, {Key: (&half{pair: i, side: 1}).key(), Delete: true}}
	}
	w.live[i] = "v" + strconv.Itoa(w.rng.IntN(pairValues))
	var ops []Op
	for side := range 2 {
		h := &half{pair: i, side: side, count: w.count, value: w.live[i]}
		if w.rng.IntN(4) == 0 {
			// A draft within the draft, which nobody may ever see.
			ops = append(ops, Op{Key: h.key(), Object: &half{pair: i, side: side, count: -1, value: "draft"}})
		}
		ops = append(ops, Op{Key: h.key(), Object: h})
	}
	return ops
}

func (w *pairWriter) replace() {
	w.live = map[int]string{}
	objs := map[string]any{clockKey: &half{pair: -1, count: w.count, value: "time"}}
	for i := range w.rng.IntN(pairs) {
		w.live[i] = "v" + strconv.Itoa(w.rng.IntN(pairValues))
		for side := range 2 {
			h := &half{pair: i, side: side, count: w.count, value: w.live[i]}
			objs[h.key()] = h
		}
	}
	w.table.Replace(maps.All(objs), len(objs), strconv.Itoa(w.count))
}

func (w *pairWriter) step() {
	w.count++
	if w.count > 1 && w.rng.IntN(50) > 0 {
		w.table.Apply(append(w.change(), w.clock()), func(string) string { return strconv.Itoa(w.count) })
		return
	}
	w.replace()
}

// pairReader makes random calls and remembers the newest state it has seen.
type pairReader struct {
	t     require.TestingT
	table *Table
	rng   *rand.Rand
	seen  int
	buf   []any
}

// now checks that a state is not older than what was seen before.
func (r *pairReader) now(count int) {
	require.GreaterOrEqual(r.t, count, r.seen, "went back in time")
	r.seen = count
}

func count(t require.TestingT, rv string) int {
	n, err := strconv.Atoi(rv)
	require.NoError(t, err)
	return n
}

// whole checks objects of one state: pairs are complete and equal, everything
// belongs to value if it is not empty. It returns the clock's count, or 0.
func whole(t require.TestingT, objs []any, value string) (clock int) {
	byPair := map[int]*half{}
	for _, obj := range objs {
		h := obj.(*half)
		if h.pair < 0 {
			require.Zero(t, clock, "two clocks")
			clock = h.count
			continue
		}
		require.Positive(t, h.count, "a draft is visible")
		if value != "" {
			require.Equal(t, value, h.value)
		}
		other, ok := byPair[h.pair]
		if !ok {
			byPair[h.pair] = h
			continue
		}
		require.NotNil(t, other, "pair %d has three halves", h.pair)
		require.NotEqual(t, other.side, h.side, "pair %d", h.pair)
		require.Equal(t, other.count, h.count, "pair %d", h.pair)
		require.Equal(t, other.value, h.value, "pair %d", h.pair)
		byPair[h.pair] = nil
	}
	for i, h := range byPair {
		require.Nil(t, h, "half of pair %d is missing", i)
	}
	return clock
}

func (r *pairReader) step() {
	value := "v" + strconv.Itoa(r.rng.IntN(pairValues))
	switch r.rng.IntN(12) {
	case 0:
		r.buf = r.table.ListInto(r.buf[:0])
		r.now(whole(r.t, r.buf, ""))
	case 1:
		obj, ok := r.table.Get(clockKey)
		require.True(r.t, ok)
		r.now(obj.(*half).count)
	case 2:
		objs, err := r.table.ByIndex("value", "time")
		require.NoError(r.t, err)
		r.now(whole(r.t, objs, ""))
	case 3:
		objs, err := r.table.ByIndex("value", value)
		require.NoError(r.t, err)
		whole(r.t, objs, value)
	case 4:
		r.now(count(r.t, r.table.RV()))
	case 5:
		require.Equal(r.t, 1, r.table.Len()%2)
		require.Equal(r.t, 1, len(r.table.ListKeys())%2)
	case 6:
		n, err := r.table.Count("both", value)
		require.NoError(r.t, err)
		require.Zero(r.t, n%2)
	case 7:
		r.union(value)
	case 8:
		r.snapshot(value)
	case 9:
		values, err := r.table.IndexValues("value")
		require.NoError(r.t, err)
		require.Contains(r.t, values, "time")
		require.NotContains(r.t, values, "draft")
	case 10:
		keys, err := r.table.IndexKeys("value", value)
		require.NoError(r.t, err)
		require.Zero(r.t, len(keys)%2)
	case 11:
		r.single(r.rng.IntN(pairs))
	}
}

// union asks for the objects of one value and of the clock's in one call.
func (r *pairReader) union(value string) {
	objs, err := r.table.Index("both", &half{pair: -1, value: value})
	require.NoError(r.t, err)
	r.now(whole(r.t, objs, ""))
}

// single reads both halves of a pair one after the other.
func (r *pairReader) single(i int) {
	first, ok := r.table.Get((&half{pair: i}).key())
	second, ok2 := r.table.Get((&half{pair: i, side: 1}).key())
	if ok && ok2 {
		require.LessOrEqual(r.t, first.(*half).count, second.(*half).count)
		require.Positive(r.t, first.(*half).count)
	}
}

// snapshot checks that all answers are from one state, again and again.
func (r *pairReader) snapshot(value string) {
	s := r.table.Snapshot()
	defer s.Close()
	for range 3 {
		r.now(count(r.t, s.RV()))
		objs := s.List()
		require.Equal(r.t, s.Len(), len(objs))
		require.Equal(r.t, r.seen, whole(r.t, objs, ""))
		obj, ok := s.Get(clockKey)
		require.True(r.t, ok)
		require.Equal(r.t, r.seen, obj.(*half).count)
		members, err := s.ByIndex("value", value)
		require.NoError(r.t, err)
		whole(r.t, members, value)
		n := 0
		for _, obj := range objs {
			if obj.(*half).value == value {
				n++
			}
		}
		require.Len(r.t, members, n, "index and objects differ")
	}
}

// failOnce makes require usable in goroutines: the first failure ends them all.
type failOnce struct {
	t      *testing.T
	failed atomic.Bool
}

func (f *failOnce) Errorf(format string, args ...any) { f.t.Errorf(format, args...) }

func (f *failOnce) FailNow() {
	f.failed.Store(true)
	panic(f)
}

func (f *failOnce) guard() {
	if p := recover(); p != nil && p != any(f) {
		panic(p)
	}
}

// TestConcurrentReadersSeeWholeStatesInOrder is R1 and R2.
func TestConcurrentReadersSeeWholeStatesInOrder(t *testing.T) {
	const states, readers = 4000, 3
	table := New(pairIndexers(), Options{})
	w := &pairWriter{table: table, rng: rand.New(rand.NewPCG(1, 2)), live: map[int]string{}}
	w.step()
	fail := &failOnce{t: t}
	var done atomic.Bool
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			defer fail.guard()
			r := &pairReader{t: fail, table: table, rng: rand.New(rand.NewPCG(3, uint64(i)))}
			for !done.Load() && !fail.failed.Load() {
				r.step()
			}
		})
	}
	wg.Go(func() {
		defer done.Store(true)
		for i := range states {
			w.step()
			if i%1000 == 500 {
				name := "late-" + strconv.Itoa(i)
				require.NoError(t, table.AddIndexers(map[string]IndexFunc{name: pairIndexers()["value"]}))
			}
		}
	})
	wg.Wait()
	requireNothingKept(t, table)
}

// TestGetIsMonotonous hammers one key: it is always there and only grows.
func TestGetIsMonotonous(t *testing.T) {
	writes := fewer(100_000)
	jostle(t)
	table := New(nil, Options{})
	put(table, clockKey, 0)
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			seen := 0
			for !done.Load() {
				obj, ok := table.Get(clockKey)
				if !ok || obj.(int) < seen {
					t.Errorf("got %v, %v after %d", obj, ok, seen)
					return
				}
				seen = obj.(int)
			}
		})
	}
	for i := range writes {
		put(table, clockKey, i)
	}
	done.Store(true)
	wg.Wait()
}
