// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave || !interleave

package table

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
)

// The model, the history and the schedules make the queries below, of tables and of snapshots, and
// compare each answer with the contents of a state.

// readable has the methods that tables and snapshots share.
type readable interface {
	RV() string
	Len() int
	Get(key string) (any, bool)
	List() []any
	ListKeys() []string
	ByIndex(index, value string) ([]any, error)
	IndexKeys(index, value string) ([]string, error)
	Count(index, value string) (int, error)
	IndexValues(index string) ([]string, error)
	All() iter.Seq2[string, any]
	ByIndexSeq(index, value string) (iter.Seq2[string, any], error)
}

// contents is a table in one state.
type contents interface {
	version() string
	has(index string) bool
	// object returns the object under a key, or nil.
	object(key string) any
	// members sums up the objects with any of the values in an index, or all with the index "".
	members(index string, values ...string) tally
	// inUse returns the values in use in an index, sorted.
	inUse(index string) []string
}

// weights are random numbers that stand for an object and for its key.
type weights struct{ sum, keySum uint64 }

var weightSeed = maphash.MakeSeed()

func weigh(key string, serial int) weights {
	return weights{maphash.Comparable(weightSeed, serial), maphash.String(weightSeed, key)}
}

func (w weights) weight() weights { return w }

type weighed interface{ weight() weights }

// tally is a summary of a set of objects: their number, and the sums of their weights.
type tally struct {
	n int
	weights
}

func (t *tally) add(w weights, times int) {
	t.n += times
	t.sum += uint64(times) * w.sum
	t.keySum += uint64(times) * w.keySum
}

// keys returns the summary of the keys alone.
func (t tally) keys() tally {
	t.sum = 0
	return t
}

func tallyOf(objs []any) (t tally) {
	for _, obj := range objs {
		t.add(obj.(weighed).weight(), 1)
	}
	return t
}

func tallyOfKeys(keys []string) (t tally) {
	for _, key := range keys {
		t.add(weights{keySum: maphash.String(weightSeed, key)}, 1)
	}
	return t
}

// query makes one call. It returns a function that reports whether the answer is that of a state,
// and a description of the answer.
type query func(of readable) (fits, note)

type fits = func(c contents) bool

type note func() string

func notef(format string, args ...any) note {
	return func() string { return fmt.Sprintf(format, args...) }
}

// asIndexed reports whether an error is that of a query of an index.
func asIndexed(c contents, index string, err error) bool {
	if c.has(index) {
		return err == nil
	}
	return errors.Is(err, ErrNoIndex)
}

func get(key string) query {
	return func(of readable) (fits, note) {
		obj, ok := of.Get(key)
		return func(c contents) bool {
			want := c.object(key)
			return ok == (want != nil) && (!ok || obj == want)
		}, notef("Get(%s) = %v, %v", key, obj, ok)
	}
}

func byIndexOf(index, value string) query {
	return func(of readable) (fits, note) {
		objs, err := of.ByIndex(index, value)
		got := tallyOf(objs)
		return func(c contents) bool { return asIndexed(c, index, err) && got == c.members(index, value) },
			notef("ByIndex(%s, %s) = %v, %v", index, value, objs, err)
	}
}

// unionOf calls Index, which a snapshot lacks, for an object with these values.
func unionOf(index string, obj any, values ...string) query {
	return func(of readable) (fits, note) {
		objs, err := of.(*Table).Index(index, obj)
		got := tallyOf(objs)
		return func(c contents) bool { return asIndexed(c, index, err) && got == c.members(index, values...) },
			notef("Index(%s) of %v = %v, %v", index, values, objs, err)
	}
}

func indexKeysOf(index, value string) query {
	return func(of readable) (fits, note) {
		keys, err := of.IndexKeys(index, value)
		got, sorted := tallyOfKeys(keys), slices.IsSorted(keys)
		return func(c contents) bool {
			return asIndexed(c, index, err) && sorted && got == c.members(index, value).keys()
		}, notef("IndexKeys(%s, %s) = %v, %v", index, value, keys, err)
	}
}

func countOf(index, value string) query {
	return func(of readable) (fits, note) {
		n, err := of.Count(index, value)
		return func(c contents) bool { return asIndexed(c, index, err) && n == c.members(index, value).n },
			notef("Count(%s, %s) = %d, %v", index, value, n, err)
	}
}

func valuesOf(index string) query {
	return func(of readable) (fits, note) {
		got, err := of.IndexValues(index)
		slices.Sort(got)
		return func(c contents) bool { return asIndexed(c, index, err) && slices.Equal(got, c.inUse(index)) },
			notef("IndexValues(%s) = %v, %v", index, got, err)
	}
}

func list() query {
	return func(of readable) (fits, note) {
		objs := of.List()
		got := tallyOf(objs)
		return func(c contents) bool { return got == c.members("") }, notef("List = %v", objs)
	}
}

func listKeys() query {
	return func(of readable) (fits, note) {
		keys := of.ListKeys()
		got := tallyOfKeys(keys)
		return func(c contents) bool { return got == c.members("").keys() }, notef("ListKeys = %v", keys)
	}
}

func length() query {
	return func(of readable) (fits, note) {
		n := of.Len()
		return func(c contents) bool { return n == c.members("").n }, notef("Len = %d", n)
	}
}

func version() query {
	return func(of readable) (fits, note) {
		rv := of.RV()
		return func(c contents) bool { return rv == c.version() }, notef("RV = %q", rv)
	}
}

// sequence returns All with the index "", and otherwise ByIndexSeq.
func sequence(of readable, index, value string) (iter.Seq2[string, any], error) {
	if index == "" {
		return of.All(), nil
	}
	return of.ByIndexSeq(index, value)
}

// everyQuery returns all queries of these keys, indexes and values.
func everyQuery(keys, indexes, among []string) []query {
	ask := []query{list(), listKeys(), length(), version()}
	for _, key := range keys {
		ask = append(ask, get(key))
	}
	for _, index := range indexes {
		ask = append(ask, valuesOf(index))
		for _, value := range among {
			ask = append(ask, byIndexOf(index, value), indexKeysOf(index, value), countOf(index, value))
		}
	}
	return ask
}

// differs returns an error for the first answer that is not that of a state.
func differs(c contents, from readable, ask []query) error {
	for _, q := range ask {
		if f, text := q(from); !f(c) {
			return fmt.Errorf("%s, and the state is %v", text(), c)
		}
	}
	return nil
}

// item is an object with its index values.
type item struct {
	weights
	key    string
	values map[string][]string
	// broken maps the indexes whose function fails for this object to the kind of failure.
	broken map[string]string
}

func newItem(key string, serial int) *item {
	return &item{weights: weigh(key, serial), key: key, values: map[string][]string{}, broken: map[string]string{}}
}

func (it *item) String() string { return fmt.Sprintf("%s=%v, %x", it.key, it.values, it.sum) }

var errBroken = errors.New("broken object")

// itemIndex is the IndexFunc of one index over items.
func itemIndex(name string) IndexFunc {
	return func(obj any) ([]string, error) {
		it := obj.(*item)
		switch it.broken[name] {
		case "error":
			return []string{"wrong"}, errBroken
		case "panic":
			panic(errBroken)
		}
		return it.values[name], nil
	}
}

// state is a reference implementation of a table. The fields after items are set by sum.
type state struct {
	rv      string
	indexes []string
	items   map[string]*item

	all     tally
	by      map[string]map[string]tally // by index and value
	lacking map[string]int              // number of items in no posting of an index because its function failed
}

func newState(indexes ...string) *state { return &state{indexes: indexes, items: map[string]*item{}} }

func (s *state) clone() *state {
	return &state{rv: s.rv, indexes: slices.Clone(s.indexes), items: maps.Clone(s.items)}
}

// sum sums up the items, and returns s.
func (s *state) sum() *state {
	s.all, s.by, s.lacking = tally{}, map[string]map[string]tally{}, nil
	for _, it := range s.items {
		s.all.add(it.weights, 1)
	}
	for _, index := range s.indexes {
		s.by[index] = map[string]tally{}
		for _, it := range s.items {
			s.file(index, it)
		}
	}
	return s
}

func (s *state) file(index string, it *item) {
	if it.broken[index] != "" {
		if s.lacking == nil {
			s.lacking = map[string]int{}
		}
		s.lacking[index]++
		return
	}
	for _, value := range slices.Compact(slices.Sorted(slices.Values(it.values[index]))) {
		t := s.by[index][value]
		t.add(it.weights, 1)
		s.by[index][value] = t
	}
}

func (s *state) String() string {
	return fmt.Sprintf("%v, version %s", slices.Sorted(maps.Keys(s.items)), s.rv)
}

func (s *state) version() string { return s.rv }

func (s *state) has(index string) bool { return slices.Contains(s.indexes, index) }

func (s *state) object(key string) any {
	if it := s.items[key]; it != nil {
		return it
	}
	return nil
}

func (s *state) members(index string, values ...string) (sum tally) {
	switch {
	case index == "":
		return s.all
	case len(values) == 1:
		return s.by[index][values[0]]
	}
	for _, it := range s.items {
		has := func(value string) bool { return slices.Contains(it.values[index], value) }
		if s.has(index) && it.broken[index] == "" && slices.ContainsFunc(values, has) {
			sum.add(it.weights, 1)
		}
	}
	return sum
}

func (s *state) inUse(index string) []string { return slices.Sorted(maps.Keys(s.by[index])) }

// pairsOf returns the keys and objects of changes.
func pairsOf(ops []Op) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, op := range ops {
			if !yield(op.Key, op.Object) {
				return
			}
		}
	}
}

// checkOld checks the replaced objects that a batch returns. It applies the changes to items.
func checkOld(items map[string]*item, ops []Op) error {
	for _, op := range ops {
		was, had := items[op.Key]
		if had != op.Had || had && op.Old != any(was) {
			return fmt.Errorf("%s had %v, %v; the batch says %v, %v", op.Key, was, had, op.Old, op.Had)
		}
		if delete(items, op.Key); !op.Delete {
			items[op.Key] = op.Object.(*item)
		}
	}
	return nil
}
