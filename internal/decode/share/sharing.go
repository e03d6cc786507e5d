// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"reflect"
	"sync/atomic"
)

const (
	// hitWindow is the number of bytes of objects over which the share of bytes found in the table
	// is measured. Lookups continue if one byte in leastHits was found.
	hitWindow = 1 << 20
	leastHits = 8
	// probes is the number of objects per object that still looks up parts while lookups do not
	// pay.
	probes = 16
)

// Sharing decides which objects of a decoder look up parts. Where objects have nothing in common,
// lookups would cost a fifth of decoding, so only one object in probes looks up parts. It is safe
// for concurrent use.
type Sharing struct {
	table *Parts

	idle         atomic.Bool // lookups do not pay: probes only
	turn         atomic.Uint32
	found, bytes atomic.Int64 // in the current window

	report func(*Written) // may be nil
}

// NewSharing returns the Sharing of one decoder. The table may be shared by several decoders.
func NewSharing(table *Parts) *Sharing { return &Sharing{table: table} }

// parts returns the table if the next object, or the rest of one, looks up parts, and nil
// otherwise.
func (s *Sharing) parts(rest bool) *Parts {
	if s == nil || s.idle.Load() && (rest || s.turn.Add(1)%probes != 0) {
		return nil
	}
	return s.table
}

// note adds an object, of whose bytes found were in parts from the table. At the end of a window it
// decides whether lookups pay.
func (s *Sharing) note(found, bytes int) {
	sum := s.found.Add(int64(found))
	if seen := s.bytes.Add(int64(bytes)); seen >= hitWindow && s.bytes.CompareAndSwap(seen, 0) {
		s.found.Add(-sum)
		s.idle.Store(sum*leastHits < seen)
	}
}

// Written describes a shared part that a program has modified.
type Written struct {
	In      string        // the path of field names, up to names that may be data
	Is, Was reflect.Value // the modified value and the correct one, of the same type
}

// Report registers a function to call after each check of a part: with nil if the part is
// unmodified. Report must be called before the first object is decoded. to is called by any
// decoding goroutine.
func (s *Sharing) Report(to func(*Written)) *Sharing {
	s.report = to
	return s
}

// empty empties the table.
func (s *Sharing) empty() {
	if s != nil {
		s.table.empty()
	}
}

func (s *Sharing) reported(w *Written) {
	if s != nil && s.report != nil {
		s.report(w)
	}
}
