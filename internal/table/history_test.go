// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// history is the log of all states of a table with one writer. Readers note their answers, and the
// range of states that each may be about: from the state published when the call began to the state
// begun when it ended. Afterwards each answer must be that of one state of its range, and the
// states of a reader must not go back. With one writer this is equivalent to linearizability.
//
// For each state the log has tallies of the objects, by value and group.
type history struct {
	table *Table
	rng   *rand.Rand
	// begun and done are the last states that the writer has begun and published.
	begun, done atomic.Int64

	// The fields below belong to the writer while it writes, and to the checkers afterwards.

	states []moment
	// holds maps each key to its objects, with the state from which on it held each.
	holds map[string][]holding
	live  map[string]*fact
	// objects are the stored objects, by value.
	objects [historyValues][]*fact
	serial  int
	fresh   int
	falling bool // see swell
}

const (
	historyValues = 4
	historyGroups = 2
)

var (
	valueNames = [historyValues]string{"value-0", "value-1", "value-2", "value-3"}
	groupNames = [historyGroups]string{"group-0", "group-1"}
)

// fact is an object of a history.
type fact struct {
	weights
	key          string
	value, group int
	at           int // index in history.objects
}

func (f *fact) String() string {
	return fmt.Sprintf("%s under %d, %x", f.key, f.value, f.sum)
}

type holding struct {
	from int
	fact *fact // nil if the key had no object
}

// moment is one state.
type moment struct {
	rv    string
	cells [historyValues][historyGroups]tally
	late  bool // the index "late" exists
}

// logged is the contents of a state, by its number.
type logged struct {
	*history
	state int
}

func (l logged) version() string { return l.states[l.state].rv }

func (l logged) has(index string) bool { return index != "late" || l.states[l.state].late }

func (l logged) object(key string) any {
	if f := l.held(key, l.state); f != nil {
		return f
	}
	return nil
}

func (l logged) members(index string, values ...string) (sum tally) {
	if index != "" && !l.has(index) {
		return sum
	}
	for v, groups := range l.states[l.state].cells {
		for g, t := range groups {
			if index == "" || slices.Contains(values, valueNames[v]) || index == "both" && slices.Contains(values, groupNames[g]) {
				sum.n += t.n
				sum.sum += t.sum
				sum.keySum += t.keySum
			}
		}
	}
	return sum
}

func (l logged) inUse(index string) (values []string) {
	for _, value := range valueNames {
		if l.members(index, value).n > 0 {
			values = append(values, value)
		}
	}
	return values
}

func byValue(obj any) ([]string, error) { return []string{valueNames[obj.(*fact).value]}, nil }

func newHistory(seed uint64) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), holds: map[string][]holding{}, live: map[string]*fact{}}
	h.table = New(map[string]IndexFunc{
		"value": byValue,
		"both": func(obj any) ([]string, error) {
			return []string{valueNames[obj.(*fact).value], groupNames[obj.(*fact).group]}, nil
		},
		"key": func(obj any) ([]string, error) { return []string{obj.(*fact).key}, nil },
	}, Options{})
	h.states = []moment{{}}
	return h
}

// put returns the change that stores a new object under a key, which may exist.
func (h *history) put(key string, value int) Op {
	h.serial++
	f := &fact{weights: weigh(key, h.serial), key: key, value: value}
	f.group = int(f.keySum>>32) % historyGroups
	h.drop(key)
	f.at = len(h.objects[value])
	h.objects[value] = append(h.objects[value], f)
	h.live[key] = f
	return Op{Key: key, Object: f}
}

// drop returns the change that deletes a key, which may not exist.
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

// newKey returns a key that was never used.
func (h *history) newKey() string {
	h.fresh++
	return "key-" + strconv.Itoa(h.fresh)
}

// any returns the key of one of the objects with a value, or "" if there is none.
func (h *history) any(value int) string {
	if n := len(h.objects[value]); n > 0 {
		return h.objects[value][h.rng.IntN(n)].key
	}
	return ""
}

// next logs the state with the currently live objects, and begins it. It differs from the last one
// only under these keys.
func (h *history) next(keys []string) (state int) {
	state = len(h.states)
	m := h.states[state-1]
	m.rv = strconv.Itoa(state)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if past := h.holds[key]; len(past) > 0 && past[len(past)-1].fact != nil {
			f := past[len(past)-1].fact
			m.cells[f.value][f.group].add(f.weights, -1)
		}
		f := h.live[key]
		if f != nil {
			m.cells[f.value][f.group].add(f.weights, +1)
		}
		h.holds[key] = append(h.holds[key], holding{state, f})
	}
	h.states = append(h.states, m)
	h.begun.Store(int64(state))
	return state
}

// apply writes one state by a batch.
func (h *history) apply(ops []Op) {
	keys := make([]string, len(ops))
	for i := range ops {
		keys[i] = ops[i].Key
	}
	state := h.next(keys)
	h.table.Apply(ops, func(string) string { return strconv.Itoa(state) })
	h.done.Store(int64(state))
}

// replace writes a state of n new objects and no others, some of them under existing keys.
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

// addLate writes a state that has the index "late", and the resource version of the last one.
func (h *history) addLate(t require.TestingT) {
	state := h.next(nil)
	h.states[state].late, h.states[state].rv = true, h.states[state-1].rv
	require.NoError(t, h.table.AddIndexers(map[string]IndexFunc{"late": byValue}))
	h.done.Store(int64(state))
}

// held returns the object of a key in a state.
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

// answer is the result of one call, with the range of states that it may be about.
type answer struct {
	from, to int
	fits     fits
	text     note
}

func (a answer) String() string { return a.text() }

// check finds a state for each answer of a reader, none older than the previous one.
func (h *history) check(t *testing.T, answers []answer) {
	t.Helper()
	seen := 0
	for i, a := range answers {
		state := max(a.from, seen)
		for state <= a.to && !a.fits(logged{h, state}) {
			state++
		}
		if state > a.to {
			t.Fatalf("call %d: %v fits none of the states %d to %d; the one before was about %d", i, a, a.from, a.to, seen)
		}
		seen = state
	}
}

// historian reads a history.
type historian struct {
	*history
	rng     *rand.Rand
	over    *atomic.Bool // set when the writer has ended
	answers []answer
}

// now returns an answer whose state was begun by now at the latest.
func (r *historian) now(f fits, text note) answer {
	return answer{to: int(r.begun.Load()), fits: f, text: text}
}

// read makes one call at random.
func (r *historian) read() {
	from := int(r.done.Load())
	a := r.call()
	a.from = from
	r.answers = append(r.answers, a)
}

func (r *historian) call() answer {
	ask := length()
	switch r.rng.IntN(20) {
	case 0:
	case 1:
		ask = version()
	case 2, 3:
		ask = get(r.someKey())
	case 4:
		return r.loop()
	case 5:
		ask = r.union()
	case 6:
		ask = byIndexOf("late", valueNames[r.rng.IntN(historyValues)])
	case 7, 8:
		return r.snapshot()
	default:
		ask = r.shared()
	}
	return r.now(ask(r.table))
}

// someKey returns a key that was used, or will be.
func (r *historian) someKey() string {
	return "key-" + strconv.Itoa(r.rng.IntN(int(r.done.Load())+64))
}

// shared returns a query of a table or a snapshot.
func (r *historian) shared() query {
	value := r.rng.IntN(2) // most are about the posting that grows and shrinks
	if r.rng.IntN(4) == 0 {
		value = r.rng.IntN(historyValues)
	}
	index, name := []string{"value", "both"}[r.rng.IntN(2)], valueNames[value]
	return []query{
		byIndexOf(index, name), byIndexOf(index, name), indexKeysOf(index, name), countOf(index, name),
		list(), listKeys(), valuesOf("value"),
	}[r.rng.IntN(7)]
}

// union unites two postings or reads one.
func (r *historian) union() query {
	f := &fact{value: r.rng.IntN(historyValues), group: r.rng.IntN(historyGroups)}
	if r.rng.IntN(2) == 0 {
		return unionOf("value", f, valueNames[f.value])
	}
	return unionOf("both", f, valueNames[f.value], groupNames[f.group])
}

// loop reads step by step. Its state is fixed when its body runs for the first time.
func (r *historian) loop() answer {
	index, value, to := []string{"value", ""}[r.rng.IntN(2)], valueNames[r.rng.IntN(historyValues)], -1
	seq, err := sequence(r.table, index, value)
	var got tally
	mismatch := err != nil
	for key, obj := range seq {
		if to < 0 {
			to = int(r.begun.Load())
			r.wait(2)
		}
		mismatch = mismatch || key != obj.(*fact).key
		got.add(obj.(*fact).weights, 1)
	}
	a := r.now(func(c contents) bool { return !mismatch && c.members(index, value) == got }, notef("loop = %d objects", got.n))
	if to >= 0 {
		a.to = to
	}
	return a
}

// wait waits until the writer has written up to n states.
func (r *historian) wait(n int) {
	until := r.done.Load() + int64(r.rng.IntN(n+1))
	for r.done.Load() < until && !r.over.Load() {
		runtime.Gosched()
	}
}

// snapshot queries one snapshot several times while the writer continues.
func (r *historian) snapshot() answer {
	s := r.table.Snapshot()
	defer s.Close()
	to := int(r.begun.Load())
	var all []answer
	for range 1 + r.rng.IntN(4) {
		all = append(all, r.now(r.shared()(s)))
		r.wait(8)
	}
	for _, ask := range []query{get(r.someKey()), version(), length()} {
		all = append(all, r.now(ask(s)))
	}
	return answer{to: to, text: notef("Snapshot: %v", all), fits: func(c contents) bool {
		return !slices.ContainsFunc(all, func(a answer) bool { return !a.fits(c) })
	}}
}

// workloads keep the structure at the sizes at which it changes shape. Each call writes one state.
var workloads = map[string]func(h *history){
	"posting of none":       func(h *history) { h.around(1, 24) },
	"posting of a few":      func(h *history) { h.around(len(h.states)/2%(leafLen-8), leafLen) },
	"posting of a leaf":     func(h *history) { h.around(leafLen, leafLen+24) },
	"posting of two leaves": func(h *history) { h.around(2*leafLen, 2*leafLen+24) },
	"posting of four":       func(h *history) { h.around(4*leafLen, 4*leafLen+24) },
	"chunk of records":      func(h *history) { h.around(slabLen-12, slabLen) },
	"hash tables that grow": (*history).grow,
	"body that shrinks":     (*history).swell,
	"replaced bodies": func(h *history) {
		if h.rng.IntN(4) == 0 {
			h.replace(h.rng.IntN(2 * leafLen))
		} else {
			h.around(leafLen, leafLen+24)
		}
	},
}

// around writes a batch of one to three changes that keeps the size of one posting near members, in
// a table of about all objects.
func (h *history) around(members, all int) {
	var ops []Op
	for range 1 + h.rng.IntN(3) {
		n := len(h.objects[0])
		switch more := n - members + h.rng.IntN(5) - 2; {
		case more < 0 && members-n > leafLen/2:
			for range members - n {
				ops = append(ops, h.put(h.newKey(), 0))
			}
		case h.rng.IntN(8) == 0 && n > 0:
			key := h.any(0) // a version within the draft must not be visible
			ops = append(ops, h.put(key, 3), h.put(key, 0))
		case more < 0:
			ops = append(ops, h.enter(all))
		case n > 0:
			ops = append(ops, h.exit(all))
		}
	}
	h.apply(ops)
}

// enter adds a member to the posting: an object from another posting, or a new one, perhaps under a
// key used before.
func (h *history) enter(all int) Op {
	if key := h.any(1 + h.rng.IntN(historyValues-1)); key != "" && (len(h.live) >= all || h.rng.IntN(3) == 0) {
		return h.put(key, 0)
	}
	if key := "key-" + strconv.Itoa(1+h.rng.IntN(h.fresh+1)); h.live[key] == nil && h.rng.IntN(2) == 0 {
		return h.put(key, 0)
	}
	return h.put(h.newKey(), 0)
}

// exit removes a member from the posting: it moves to another one, or is deleted.
func (h *history) exit(all int) Op {
	if len(h.live) < all && h.rng.IntN(3) == 0 {
		return h.put(h.any(0), 1+h.rng.IntN(historyValues-1))
	}
	return h.drop(h.any(0))
}

// grow adds objects, and starts again with a few ones after a while.
func (h *history) grow() {
	if len(h.live) > 500 || h.rng.IntN(60) == 0 {
		h.replace(h.rng.IntN(4))
		return
	}
	var ops []Op
	for range 1 + h.rng.IntN(8) {
		ops = append(ops, h.put(h.newKey(), h.rng.IntN(historyValues)))
	}
	h.apply(ops)
}

// swell adds objects until there are more than sparseMin, and then removes them until the body
// shrinks.
func (h *history) swell() {
	c := h.table.core.Load()
	var ops []Op
	if h.falling = len(h.live) > sparseMin || h.falling && c.records.next > sparseMin; !h.falling {
		for range 40 {
			ops = append(ops, h.put(h.newKey(), h.rng.IntN(2)))
		}
	} else {
		for range 10 {
			ops = append(ops, h.drop(h.any(h.rng.IntN(2))))
		}
	}
	h.apply(ops)
}

// TestAnswersAtThresholds checks the answers of readers against the log of all states, while one
// writer keeps the structure at a size at which it changes shape.
func TestAnswersAtThresholds(t *testing.T) {
	const readers, states, maxStates = 3, 600, 30_000
	for name, step := range workloads {
		t.Run(name, func(t *testing.T) {
			jostle(t)
			h := newHistory(uint64(len(name)))
			all, running := make([]*historian, readers), atomic.Int64{}
			running.Store(readers)
			var over atomic.Bool
			var wg sync.WaitGroup
			for i := range all {
				all[i] = &historian{history: h, rng: rand.New(rand.NewPCG(2, uint64(i))), over: &over}
				wg.Go(func() {
					for range readTimes() {
						all[i].read()
					}
					running.Add(-1)
				})
			}
			for i := 0; running.Load() > 0 || i < states; i++ {
				if i > maxStates {
					over.Store(true) // readers stop waiting
					runtime.Gosched()
				} else if step(h); i == states/2 {
					h.addLate(t)
				}
			}
			wg.Wait()
			for _, r := range all {
				h.check(t, r.answers)
			}
			t.Logf("%d states", len(h.states))
			requireNothingKept(t, h.table)
		})
	}
}

// jostle makes the operating system preempt readers and writers at any instruction, until the test
// ends: there are more threads than processors, and some threads only wake each other. So another
// goroutine runs between two adjacent loads hundreds of times a second, which otherwise takes
// hours.
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

// readTimes is how often a reader reads. With invariants each write takes ten times as long.
func readTimes() int {
	if invariants {
		return 200
	}
	return testkit.Runs(500, 2000)
}

// half is an object with a value.
type half struct {
	count int
	value string
}
