// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
)

// historian reads a history.
type historian struct {
	*history
	rng     *rand.Rand
	over    *atomic.Bool // the writer has ended
	answers []answer
}

// now notes an answer that was fixed at last right now. args are for what, which
// is written out when something is wrong.
func (r *historian) now(fits func(state int) bool, what string, args ...any) answer {
	return answer{to: int(r.begun.Load()), fits: fits, what: what, args: args}
}

// read makes one call at random.
func (r *historian) read() {
	from := int(r.done.Load())
	a := r.call()
	a.from = from
	r.answers = append(r.answers, a)
}

func (r *historian) call() answer {
	switch r.rng.IntN(20) {
	case 0:
		n := r.table.Len()
		return r.now(func(s int) bool { return r.states[s].tally(every).n == n }, "Len = %d", n)
	case 1:
		rv := r.table.RV()
		return r.now(func(s int) bool { return r.version(s, rv) }, "RV = %q", rv)
	case 2, 3:
		return r.get()
	case 4:
		return r.loop()
	case 5:
		return r.union()
	case 6:
		return r.late()
	case 7, 8:
		return r.snapshot()
	}
	return r.query(r.table)
}

// version tells whether a state has a resource version. An AddIndexers leaves
// it as it is.
func (r *historian) version(s int, rv string) bool {
	if s > 0 && r.states[s].late != r.states[s-1].late {
		s--
	}
	return rv == strconv.Itoa(s) || s == 0 && rv == ""
}

// someKey is one that there has been, or will be.
func (r *historian) someKey() string {
	return "key-" + strconv.Itoa(r.rng.IntN(int(r.done.Load())+64))
}

func (r *historian) get() answer {
	key := r.someKey()
	obj, ok := r.table.Get(key)
	var f *fact
	if ok {
		f = obj.(*fact)
	}
	return r.now(func(s int) bool { return r.held(key, s) == f }, "Get(%s) = %v", key, f)
}

// query makes one call that tables and snapshots have in common.
func (r *historian) query(from reader) answer {
	value := r.rng.IntN(2) // most are about the posting that grows and shrinks
	if r.rng.IntN(4) == 0 {
		value = r.rng.IntN(historyValues)
	}
	index := []string{"value", "both"}[r.rng.IntN(2)]
	switch r.rng.IntN(7) {
	case 0, 1:
		objs, err := from.ByIndex(index, valueName(value))
		return r.now(r.same(tallyOf(objs), ofValue(value), err), "ByIndex(%s, %d) = %d objects", index, value, len(objs))
	case 2:
		keys, err := from.IndexKeys(index, valueName(value))
		return r.now(r.sameKeys(keys, ofValue(value), slices.IsSorted(keys) && err == nil),
			"IndexKeys(%s, %d) = %d keys", index, value, len(keys))
	case 3:
		n, err := from.Count(index, valueName(value))
		return r.now(func(s int) bool { return err == nil && r.states[s].tally(ofValue(value)).n == n },
			"Count(%s, %d) = %d", index, value, n)
	case 4:
		objs := from.List()
		return r.now(r.same(tallyOf(objs), every, nil), "List = %d objects", len(objs))
	case 5:
		keys := from.ListKeys()
		return r.now(r.sameKeys(keys, every, true), "ListKeys = %d keys", len(keys))
	}
	values, err := from.IndexValues("value")
	return r.now(func(s int) bool { return err == nil && r.inUse(s, values) }, "IndexValues = %v", values)
}

func (r *historian) same(got tally, which func(int, int) bool, err error) func(int) bool {
	return func(s int) bool { return err == nil && r.states[s].tally(which) == got }
}

func (r *historian) sameKeys(keys []string, which func(int, int) bool, ok bool) func(int) bool {
	var sum uint64
	for _, key := range keys {
		sum += keySum(key)
	}
	return func(s int) bool {
		want := r.states[s].tally(which)
		return ok && want.keys == sum && want.n == len(keys)
	}
}

// inUse tells whether these are the values in use in a state.
func (r *historian) inUse(s int, values []string) bool {
	n := 0
	for v := range historyValues {
		if r.states[s].tally(ofValue(v)).n > 0 {
			if n++; !slices.Contains(values, valueName(v)) {
				return false
			}
		}
	}
	return n == len(values)
}

// union has the table unite two postings, or look at one, as Index does.
func (r *historian) union() answer {
	f := &fact{value: r.rng.IntN(historyValues), group: r.rng.IntN(historyGroups)}
	if r.rng.IntN(2) == 0 {
		objs, err := r.table.Index("value", f)
		return r.now(r.same(tallyOf(objs), ofValue(f.value), err), "Index(value, %d) = %d objects", f.value, len(objs))
	}
	objs, err := r.table.Index("both", f)
	return r.now(r.same(tallyOf(objs), ofEither(f.value, f.group), err),
		"Index(both, %d or %d) = %d objects", f.value, f.group, len(objs))
}

// late reads an index that is added at some time.
func (r *historian) late() answer {
	value := r.rng.IntN(historyValues)
	objs, err := r.table.ByIndex("late", valueName(value))
	if errors.Is(err, ErrNoIndex) {
		return r.now(func(s int) bool { return !r.states[s].late }, "ByIndex(late): no index")
	}
	fits := r.same(tallyOf(objs), ofValue(value), err)
	return r.now(func(s int) bool { return r.states[s].late && fits(s) }, "ByIndex(late, %d) = %d objects", value, len(objs))
}

// loop reads step by step. Its state is fixed when its body runs first.
func (r *historian) loop() answer {
	value, to := r.rng.IntN(historyValues), -1
	seq, err := r.table.ByIndexSeq("value", valueName(value))
	which := ofValue(value)
	if r.rng.IntN(2) == 0 {
		seq, which = r.table.All(), every
	}
	var got tally
	mismatch := err != nil
	for key, obj := range seq {
		if to < 0 {
			to = int(r.begun.Load())
			r.wait(2)
		}
		mismatch = mismatch || key != obj.(*fact).key
		got.add(obj.(*fact), 1)
	}
	a := r.now(func(s int) bool { return !mismatch && r.states[s].tally(which) == got }, "loop = %d objects", got.n)
	if to >= 0 {
		a.to = to
	}
	return a
}

// wait lets the writer make up to n states.
func (r *historian) wait(n int) {
	until := r.done.Load() + int64(r.rng.IntN(n+1))
	for r.done.Load() < until && !r.over.Load() {
		runtime.Gosched()
	}
}

// snapshot asks one snapshot several questions, while the writer goes on.
func (r *historian) snapshot() answer {
	s := r.table.Snapshot()
	defer s.Close()
	to := int(r.begun.Load())
	var all []answer
	for range 1 + r.rng.IntN(4) {
		all = append(all, r.query(s))
		r.wait(8)
	}
	key := r.someKey()
	obj, ok := s.Get(key)
	rv, n := s.RV(), s.Len()
	return answer{to: to, what: "Snapshot: Get(%s) = %v, RV %q, %d objects; %v", args: []any{key, obj, rv, n, all},
		fits: func(state int) bool {
			f := r.held(key, state)
			if !r.version(state, rv) || r.states[state].tally(every).n != n || ok != (f != nil) || ok && obj != any(f) {
				return false
			}
			return !slices.ContainsFunc(all, func(a answer) bool { return !a.fits(state) })
		}}
}
