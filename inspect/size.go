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

// sizer sums up the memory of objects, and counts shared memory once. It calls no methods of the
// objects and does not modify them.
type sizer struct {
	seen  map[place]struct{}
	steps int // the number of values that may still be visited; values beyond are not counted
	bytes int64
}

// place identifies a value in memory. A struct and its first field have the same address.
type place struct {
	at unsafe.Pointer
	of reflect.Type
}

// sizeOf returns the bytes of the objects, the number of objects that were visited before the steps
// were used up, and the number of steps that are left.
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

// first records a place, and reports whether it is new.
func (s *sizer) first(at unsafe.Pointer, of reflect.Type) bool {
	p := place{at, of}
	if _, seen := s.seen[p]; seen || at == nil {
		return false
	}
	s.seen[p] = struct{}{}
	return true
}

// addBoxed adds the content of an interface.
func (s *sizer) addBoxed(v reflect.Value) {
	if v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
		s.bytes += block(v.Type().Size())
	}
	s.add(v)
}

// add adds the memory that a value refers to, without the value itself.
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

// addElements adds the memory that the elements of a slice or array refer to.
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

// mapSize returns the bytes of a map: it has groups of 8 slots, of which at most 7 are used once
// there are several groups.
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

// block returns the size of the allocator's block for size bytes, to within an eighth.
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

// flatTypes caches the results of isFlat for structs.
var flatTypes sync.Map // reflect.Type → bool

// isFlat reports whether values of a type refer to no memory worth counting.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return t.Len() == 0 || isFlat(t.Elem())
	case reflect.Struct:
		if flat, ok := flatTypes.Load(t); ok {
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
	if t == reflect.TypeFor[time.Time]() { // its location is shared
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
	// mostSampled is the number of objects in a sample: the mean of 64 pods of one cluster is
	// within a tenth of the mean of all.
	mostSampled = 64
	// sampleSteps bounds the values that a sample visits: 64 pods have some 30,000, at 30 ns each.
	sampleSteps = 50_000
	// sampleAge is how long an estimate is used: the mean size of objects changes slowly.
	sampleAge = 10 * time.Minute

	// The process may visit budgetMost values at once, which takes 6 ms, and budgetRate more each
	// second, which takes a thousandth of a core.
	budgetMost = 200_000
	budgetRate = 30_000
)

// estimate is the memory of objects, estimated from a sample. The zero value means that there is
// none.
type estimate struct {
	sampled int       // the number of objects in the sample
	at      time.Time // the time of the sample
	object  float64   // mean bytes of an object; memory that objects of the sample share counts once
	key     float64   // mean bytes of the text of its key
}

// newBudget returns the budget of a process for samples, in visited values. A sample may overdraw
// it.
func newBudget() *rate.Limiter { return rate.NewLimiter(budgetRate, budgetMost) }

// allows reports whether a sample may be taken. A first estimate needs a positive budget, a newer
// one half of it, so that first estimates have precedence.
func allows(budget *rate.Limiter, now time.Time, first bool) bool {
	left := budget.TokensAt(now)
	return left > budgetMost/2 || first && left > 0
}

// sample is the estimate for one set of objects. The zero value has none. It keeps no object.
type sample struct {
	mu struct {
		sync.Mutex
		last estimate
	}
}

// of returns an estimate. It takes a new sample if the last one is old or missing and the budget
// allows one. take returns at most most objects, and the bytes of their keys.
func (s *sample) of(budget *rate.Limiter, now time.Time, take func(most int) (objects []any, keys int)) estimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.last
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
