// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A history is the log of all states that one writer has made. Readers note what
// they were told, and the range of states that it may be about: from the one
// that was surely published when the call began to the one that was begun when
// it ended. Afterwards each answer must be that of one state of its range, and
// no reader may have gone back. As there is one writer, that is all that
// linearizability asks for.
//
// The log has, by value and group, the number of the objects of each state and
// the sums of random numbers that stand for them and for their keys.
type history struct {
	table *Table
	rng   *rand.Rand
	// begun and done are the last states that the writer has begun and published.
	begun, done atomic.Int64

	// What follows is the writer's while it writes, and the checkers' then.

	states []moment
	// holds has for each key what it has held, from which state on.
	holds map[string][]holding
	live  map[string]*fact
	// objects are those that live, by value.
	objects [historyValues][]*fact
	serial  uint64
	fresh   int
	falling bool // see swell
}

const (
	historyValues = 4
	historyGroups = 2
)

// fact is an object of a history.
type fact struct {
	key          string
	value, group int
	sum, keySum  uint64
	at           int // its place in history.objects
}

func (f *fact) String() string {
	if f == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s under %d, %x", f.key, f.value, f.sum)
}

type holding struct {
	from int
	fact *fact // nil: nothing
}

// tally is a set of objects in brief.
type tally struct {
	n         int
	sum, keys uint64
}

func (t *tally) add(f *fact, times int) {
	t.n += times
	t.sum += uint64(times) * f.sum
	t.keys += uint64(times) * f.keySum
}

func tallyOf(objs []any) (t tally) {
	for _, obj := range objs {
		t.add(obj.(*fact), 1)
	}
	return t
}

// moment is one state.
type moment struct {
	cells [historyValues][historyGroups]tally
	late  bool // the index "late" is there
}

// tally sums up the cells of which a function says so.
func (m *moment) tally(which func(value, group int) bool) (sum tally) {
	for v, groups := range m.cells {
		for g, t := range groups {
			if which(v, g) {
				sum.n, sum.sum, sum.keys = sum.n+t.n, sum.sum+t.sum, sum.keys+t.keys
			}
		}
	}
	return sum
}

func every(int, int) bool { return true }

func ofValue(value int) func(int, int) bool { return func(v, _ int) bool { return v == value } }

func ofEither(value, group int) func(int, int) bool {
	return func(v, g int) bool { return v == value || g == group }
}

func valueName(value int) string { return "value-" + strconv.Itoa(value) }
func groupName(group int) string { return "group-" + strconv.Itoa(group) }

func byValue(obj any) ([]string, error) { return []string{valueName(obj.(*fact).value)}, nil }

func newHistory(seed uint64) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), holds: map[string][]holding{}, live: map[string]*fact{}}
	h.table = New(map[string]IndexFunc{
		"value": byValue,
		"both": func(obj any) ([]string, error) {
			return []string{valueName(obj.(*fact).value), groupName(obj.(*fact).group)}, nil
		},
		"key": func(obj any) ([]string, error) { return []string{obj.(*fact).key}, nil },
	}, Options{})
	h.states = []moment{{}}
	return h
}

var historySeed = maphash.MakeSeed()

func keySum(key string) uint64 { return maphash.String(historySeed, key) }

// put returns the change that puts a new object under a key, which may be there.
func (h *history) put(key string, value int) Op {
	h.serial++
	f := &fact{key: key, value: value, keySum: keySum(key), sum: maphash.Comparable(historySeed, h.serial)}
	f.group = int(f.keySum>>32) % historyGroups
	h.drop(key)
	f.at = len(h.objects[value])
	h.objects[value] = append(h.objects[value], f)
	h.live[key] = f
	return Op{Key: key, Object: f}
}

// drop returns the change that deletes a key, which may be missing.
func (h *history) drop(key string) Op {
	if f := h.live[key]; f != nil {
		of := h.objects[f.value]
		last := of[len(of)-1]
		of[f.at], last.at = last, f.at
		h.objects[f.value] = of[:len(of)-1]
		delete(h.live, key)
	}
	return Op{Key: key, Delete: true}
}

// newKey returns a key that no object has had.
func (h *history) newKey() string {
	h.fresh++
	return "key-" + strconv.Itoa(h.fresh)
}

// any returns the key of one of the objects with a value; "" if there is none.
func (h *history) any(value int) string {
	if n := len(h.objects[value]); n > 0 {
		return h.objects[value][h.rng.IntN(n)].key
	}
	return ""
}

// next logs the state that has what is live now, and begins it. It differs from
// the last one under these keys only.
func (h *history) next(keys []string) (state int) {
	state = len(h.states)
	m := h.states[state-1]
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if past := h.holds[key]; len(past) > 0 && past[len(past)-1].fact != nil {
			f := past[len(past)-1].fact
			m.cells[f.value][f.group].add(f, -1)
		}
		f := h.live[key]
		if f != nil {
			m.cells[f.value][f.group].add(f, +1)
		}
		h.holds[key] = append(h.holds[key], holding{state, f})
	}
	h.states = append(h.states, m)
	h.begun.Store(int64(state))
	return state
}

// apply makes one state of changes.
func (h *history) apply(ops []Op) {
	keys := make([]string, len(ops))
	for i := range ops {
		keys[i] = ops[i].Key
	}
	state := h.next(keys)
	h.table.Apply(ops, func(string) string { return strconv.Itoa(state) })
	h.done.Store(int64(state))
}

// replace makes a state of n new objects and no others; some have keys that
// there were.
func (h *history) replace(n int) {
	keys := slices.Sorted(maps.Keys(h.live))
	for _, key := range keys {
		h.drop(key)
	}
	keep := keys[:min(n/2, len(keys))]
	for i := range n {
		key := h.newKey()
		if i < len(keep) {
			key = keep[i]
		}
		h.put(key, h.rng.IntN(historyValues))
		keys = append(keys, key)
	}
	objects := map[string]any{}
	for key, f := range h.live {
		objects[key] = f
	}
	state := h.next(keys)
	h.table.Replace(maps.All(objects), n, strconv.Itoa(state))
	h.done.Store(int64(state))
}

// addLate makes a state that has the index "late".
func (h *history) addLate(t require.TestingT) {
	h.states[h.next(nil)].late = true
	require.NoError(t, h.table.AddIndexers(map[string]IndexFunc{"late": byValue}))
	h.done.Store(int64(len(h.states) - 1))
}

// held returns what a key held in a state.
func (h *history) held(key string, state int) *fact {
	past := h.holds[key]
	i, found := slices.BinarySearchFunc(past, state, func(p holding, s int) int { return p.from - s })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return past[i].fact
}

// answer is what one call said: which states it fits, of those it may be about.
type answer struct {
	from, to int
	fits     func(state int) bool
	what     string
	args     []any
}

func (a answer) String() string { return fmt.Sprintf(a.what, a.args...) }

// check finds a state for each answer of a reader, none older than the one
// before.
func (h *history) check(t *testing.T, answers []answer) {
	t.Helper()
	seen := 0
	for i, a := range answers {
		state := max(a.from, seen)
		for state <= a.to && !a.fits(state) {
			state++
		}
		if state > a.to {
			t.Fatalf("call %d: %v fits none of the states %d to %d; the one before was about %d%s",
				i, a, a.from, a.to, seen, h.elsewhere(a))
		}
		seen = state
	}
}

// elsewhere says which states an answer does fit, of those near its own.
func (h *history) elsewhere(a answer) string {
	for state := max(0, a.from-1000); state < min(a.to+1000, len(h.states)); state++ {
		if a.fits(state) {
			return fmt.Sprintf("; it fits %d", state)
		}
	}
	return ""
}
