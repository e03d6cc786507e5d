// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"math/bits"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/time/rate"
)

// sizer adds up the memory that objects take, what several share once. It calls none of their
// methods and writes to nothing.
type sizer struct {
	seen  map[place]struct{}
	steps int // values that may still be looked at; what is behind the last one is not counted
	bytes int64
}

// place is where something is in memory. A struct and its first field are at the same address.
type place struct {
	at unsafe.Pointer
	of reflect.Type
}

// sizeOf returns how many bytes the objects take, how many of them were looked at before steps
// values were, and how many steps are left.
func sizeOf(objects []any, steps int) (bytes int64, looked, left int) {
	s := sizer{seen: map[place]struct{}{}, steps: steps}
	for _, obj := range objects {
		if s.steps <= 0 {
			break
		}
		if looked++; obj != nil {
			s.addBoxed(reflect.ValueOf(obj))
		}
	}
	return s.bytes, looked, max(s.steps, 0)
}

// first notes that something is counted, and reports whether it was not before.
func (s *sizer) first(at unsafe.Pointer, of reflect.Type) bool {
	p := place{at, of}
	if _, known := s.seen[p]; known || at == nil {
		return false
	}
	s.seen[p] = struct{}{}
	return true
}

// addBoxed adds what an interface holds.
func (s *sizer) addBoxed(v reflect.Value) {
	if v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
		s.bytes += block(v.Type().Size())
	}
	s.add(v)
}

// add adds what a value leads to, and not the value itself.
func (s *sizer) add(v reflect.Value) {
	if s.steps--; s.steps < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		s.addString(v.String())
	case reflect.Pointer:
		s.addPointer(v)
	case reflect.Interface:
		if !v.IsNil() {
			s.addBoxed(v.Elem())
		}
	case reflect.Slice:
		s.addSlice(v)
	case reflect.Map:
		s.addMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !isFlat(f.Type()) {
				s.add(f)
			}
		}
	case reflect.Array:
		s.addElements(v)
	}
}

func (s *sizer) addString(text string) {
	if len(text) > 0 && s.first(unsafe.Pointer(unsafe.StringData(text)), stringType) {
		s.bytes += block(uintptr(len(text)))
	}
}

var stringType = reflect.TypeFor[string]()

func (s *sizer) addPointer(v reflect.Value) {
	of := v.Type().Elem()
	if v.IsNil() || !s.first(v.UnsafePointer(), of) {
		return
	}
	s.bytes += block(of.Size())
	if !isFlat(of) {
		s.add(v.Elem())
	}
}

func (s *sizer) addSlice(v reflect.Value) {
	if v.Cap() == 0 || !s.first(v.UnsafePointer(), v.Type()) {
		return
	}
	s.bytes += block(uintptr(v.Cap()) * v.Type().Elem().Size())
	s.addElements(v)
}

// addElements adds what the elements of a slice or array lead to.
func (s *sizer) addElements(v reflect.Value) {
	if isFlat(v.Type().Elem()) {
		return
	}
	for i := 0; i < v.Len() && s.steps > 0; i++ {
		s.add(v.Index(i))
	}
}

func (s *sizer) addMap(v reflect.Value) {
	if v.IsNil() || !s.first(v.UnsafePointer(), v.Type()) {
		return
	}
	key, value := v.Type().Key(), v.Type().Elem()
	s.bytes += mapSize(v.Len(), key.Size()+value.Size())
	if isFlat(key) && isFlat(value) {
		return
	}
	for entries := v.MapRange(); s.steps > 0 && entries.Next(); {
		s.add(entries.Key())
		s.add(entries.Value())
	}
}

// mapSize is what a map of so many entries takes: groups of 8 slots, of which at most 7 are in use
// once there are several groups.
func mapSize(entries int, slot uintptr) int64 {
	const header, table, group = 48, 40, 8
	if entries == 0 {
		return header
	}
	if entries <= group {
		return header + block(group+group*slot)
	}
	groups := uintptr(1) << bits.Len(uint((entries*8/7-1)/group))
	return header + table + block(groups*(group+group*slot))
}

// block is the size of what the allocator hands out for so many bytes, to within an eighth.
func block(size uintptr) int64 {
	switch {
	case size < 16: // the allocator puts several into one block
		return int64(size)
	case size <= 128:
		return int64(size+15) &^ 15
	default:
		step := uintptr(1) << (bits.Len(uint(size-1)) - 4)
		return int64((size + step - 1) &^ (step - 1))
	}
}

// flatTypes has what isFlat has found out.
var flatTypes sync.Map // reflect.Type → bool

// isFlat reports whether values of a type lead to nothing that is worth a look.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return t.Len() == 0 || isFlat(t.Elem())
	case reflect.Struct:
		if flat, known := flatTypes.Load(t); known {
			return flat.(bool)
		}
		flat := isFlatStruct(t)
		flatTypes.Store(t, flat)
		return flat
	default:
		return true
	}
}

func isFlatStruct(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() { // whose location is one for all
		return true
	}
	for i := range t.NumField() {
		if !isFlat(t.Field(i).Type) {
			return false
		}
	}
	return true
}

const (
	// mostSampled is how many objects are looked at: the mean of 64 pods of one cluster is within a
	// tenth of that of all.
	mostSampled = 64
	// sampleSteps bounds the values that are looked at in one sample: 64 pods have some 30,000, at
	// 30 ns each.
	sampleSteps = 50_000
	// sampleAge is how long an estimate is good for: the mean size of objects changes slowly.
	sampleAge = 10 * time.Minute

	// The process may look at budgetMost values at once, 6 ms, and at budgetRate more each second,
	// a thousandth of a core.
	budgetMost = 200_000
	budgetRate = 30_000
)

// estimate is how much memory objects take, by a sample of them. The zero value is none.
type estimate struct {
	sampled int       // how many objects were looked at
	at      time.Time // when
	object  float64   // mean bytes of one, with what it shares with others of the sample counted once
	key     float64   // mean bytes of the text of its key
}

// newBudget returns what bounds the cost of samples in a process, in values that are looked at. A
// sample may overdraw it.
func newBudget() *rate.Limiter { return rate.NewLimiter(budgetRate, budgetMost) }

// allows reports whether a sample may be taken: for a first estimate if anything is left, for a
// newer one if half of it is, so that those who have none get theirs.
func allows(budget *rate.Limiter, now time.Time, first bool) bool {
	left := budget.TokensAt(now)
	return left > budgetMost/2 || first && left > 0
}

// sample is the estimate of one set of objects. The zero value has none yet. It keeps no object.
type sample struct {
	mu struct {
		sync.Mutex
		known estimate
	}
}

// of returns an estimate: the last one, or if that is old, or there is none, and the budget allows
// it, a new one of the objects that take returns, with the bytes of their keys.
func (s *sample) of(budget *rate.Limiter, now time.Time, take func(most int) (objects []any, keys int)) estimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.known
	first := known.sampled == 0
	if !first && now.Sub(known.at) < sampleAge || !allows(budget, now, first) {
		return *known
	}
	objects, keys := take(mostSampled)
	if len(objects) == 0 {
		return *known
	}
	bytes, looked, left := sizeOf(objects, sampleSteps)
	budget.ReserveN(now, sampleSteps-left)
	*known = estimate{
		sampled: looked, at: now,
		object: float64(bytes) / float64(looked), key: float64(keys) / float64(len(objects)),
	}
	return *known
}
