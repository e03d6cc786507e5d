// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kinformer/cache/internal/interleave"
)

// The tests in the schedule files run a table through all schedules: see internal/interleave. A
// configuration is a text of writes, which one writer makes one after the other, and what one or
// two readers call. The model of a table is the list of the states that the writes make.

// item is an object. No two of a configuration have the same number.
type item struct {
	key    string
	number uint
	values []string
}

func (i *item) String() string {
	return fmt.Sprintf("%s=%s #%d", i.key, strings.Join(i.values, ""), i.number)
}

// set is a set of items, by their numbers.
type set uint64

const maxItems = 64

// state is what the table is after a write.
type state struct {
	rv    string
	late  bool // the index "late" is there
	items map[string]*item
	// all are the items, and by those with a value.
	all set
	by  map[string]set
	// lacking is how many are in no index because the function failed.
	lacking int
}

// write makes a state of the one before.
type write struct {
	kind   string
	ops    []Op
	before *state
	after  *state
	words  string
}

// script is a list of writes.
type script struct {
	writes []write
	states []*state
}

// newScript reads writes, which are separated by semicolons:
//
//	a=v b=vw -c      a batch: a gets a new object with the value v, b one with v and w, c is deleted
//	replace a=v      the same by a Replace, so that all others are gone
//	install a=v      the same by a Draft
//	try a=v          a batch by TryApply, or by Apply if that could not
//	stop a=v         a Replace whose sequence panics at its end, so that nothing is changed
//	late             the index "late" is added
//
// Of an object with the value ! the index function returns an error, of one with ? it panics: the
// object is in no index.
func newScript(text string, from *state, number *uint) (s script) {
	s.states = []*state{from}
	for words := range strings.SplitSeq(text, ";") {
		if words = strings.TrimSpace(words); words != "" {
			w := newWrite(words, s.states[len(s.states)-1], number)
			s.writes, s.states = append(s.writes, w), append(s.states, w.after)
		}
	}
	return s
}

func newWrite(words string, before *state, number *uint) (w write) {
	w = write{kind: "apply", before: before, after: before.next(), words: words}
	fields := strings.Fields(words)
	switch fields[0] {
	case "replace", "install", "stop":
		clear(w.after.items)
		w.kind, fields = fields[0], fields[1:]
	case "try":
		w.kind, fields = fields[0], fields[1:]
	case "late":
		w.kind, fields = fields[0], nil
		w.after.late, w.after.rv = true, before.rv
	}
	for _, field := range fields {
		w.ops = append(w.ops, w.after.change(field, number))
	}
	if w.kind == "stop" {
		w.after.items, w.after.rv = maps.Clone(before.items), before.rv
	}
	w.after.sum()
	return w
}

func newState() *state { return &state{items: map[string]*item{}, by: map[string]set{}} }

// next returns a copy with the next resource version.
func (s *state) next() *state {
	n, _ := strconv.Atoi(s.rv)
	return &state{rv: strconv.Itoa(n + 1), late: s.late, items: maps.Clone(s.items)}
}

// change makes one change of a batch.
func (s *state) change(field string, number *uint) Op {
	if key, ok := strings.CutPrefix(field, "-"); ok {
		delete(s.items, key)
		return Op{Key: key, Delete: true}
	}
	key, values, _ := strings.Cut(field, "=")
	i := &item{key: key, number: *number, values: strings.Split(values, "")}
	if *number++; *number > maxItems {
		panic("too many items")
	}
	s.items[key] = i
	return Op{Key: key, Object: i}
}

func (s *state) sum() {
	s.all, s.by, s.lacking = 0, map[string]set{}, 0
	for _, i := range s.items {
		s.all |= 1 << i.number
		values, err := i.filed()
		if err != nil {
			s.lacking++
		}
		for _, value := range values {
			s.by[value] |= 1 << i.number
		}
	}
}

// keys returns those of the items in a set, sorted.
func (s *state) keys(of set) (keys []string) {
	for key, i := range s.items {
		if of&(1<<i.number) != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// itemsOf returns the set of objects; ok is false if one is there twice.
func itemsOf(objs []any) (of set, ok bool) {
	for _, obj := range objs {
		bit := set(1) << obj.(*item).number
		if of&bit != 0 {
			return of, false
		}
		of |= bit
	}
	return of, true
}

var errFails = errors.New("index function fails")

// filed returns the values under which an item is found.
func (i *item) filed() ([]string, error) {
	if v := i.values[0]; v == "!" || v == "?" {
		return nil, errFails
	}
	return i.values, nil
}

// valuesOfItem is the index function. It fails in the middle of what others can see.
func valuesOfItem(obj any) ([]string, error) {
	i := obj.(*item)
	values, err := i.filed()
	if err != nil {
		interleave.Point()
	}
	if i.values[0] == "?" {
		panic(errFails)
	}
	return values, err
}

// do makes the write. What a batch says of the objects that it replaces has to be right.
func (w *write) do(t *Table) error {
	ops := slices.Clone(w.ops)
	stamp := func(string) string { return w.after.rv }
	switch w.kind {
	case "late":
		return t.AddIndexers(map[string]IndexFunc{"late": valuesOfItem})
	case "replace":
		t.Replace(func(yield func(string, any) bool) {
			for _, op := range ops {
				if !yield(op.Key, op.Object) {
					return
				}
			}
		}, len(ops), w.after.rv)
		return nil
	case "stop":
		return w.stop(t)
	case "install":
		return w.install(t)
	case "try":
		if t.TryApply(ops, stamp) {
			return w.checkOld(ops)
		}
	}
	t.Apply(ops, stamp)
	return w.checkOld(ops)
}

// stop begins a Replace and gives it up.
func (w *write) stop(t *Table) (err error) {
	defer func() {
		if p := recover(); p != any(errFails) {
			err = fmt.Errorf("%s: panic: %v", w.words, p)
		}
	}()
	t.Replace(func(yield func(string, any) bool) {
		for _, op := range w.ops {
			yield(op.Key, op.Object)
		}
		panic(errFails)
	}, len(w.ops), "never")
	return nil
}

func (w *write) checkOld(ops []Op) error {
	items := maps.Clone(w.before.items)
	for _, op := range ops {
		was, had := items[op.Key]
		if had != op.Had || had && op.Old != any(was) {
			return fmt.Errorf("%s replaced %v, %v; it says %v, %v", w.words, was, had, op.Old, op.Had)
		}
		if delete(items, op.Key); !op.Delete {
			items[op.Key] = op.Object.(*item)
		}
	}
	return nil
}

// install makes a state by a draft. As nobody else writes, what it finds in the table is all that
// was there.
func (w *write) install(t *Table) error {
	d := t.Draft(len(w.ops))
	for ops := range slices.Chunk(w.ops, BlockLen) {
		var b Block
		for i, op := range ops {
			b.Objects[i], b.Text[i] = op.Object, []byte(op.Key)
		}
		b.N = len(ops)
		d.Look(&b)
		for i, found := range b.Former[:b.N] {
			if was := former(w.before, ops[i].Key); found != was {
				return fmt.Errorf("%s: a draft found %v, and there was %v", w.words, found, was)
			}
		}
		d.Put(&b)
	}
	if !d.Current() {
		return fmt.Errorf("%s: somebody else writes", w.words)
	}
	t.Install(d, w.after.rv)
	return nil
}
