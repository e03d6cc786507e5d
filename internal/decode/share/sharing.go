// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"reflect"
	"sync/atomic"
)

const (
	// gainWindow is how many bytes are looked at before it is decided whether parts are worth
	// looking for, and leastGain the share of them that has to be found: one byte in so many.
	gainWindow = 1 << 20
	leastGain  = 8
	// probes: of so many objects one looks for parts while that is not worth it.
	probes = 16
)

// Sharing is how the objects of a decoder share the parts of a table. Where no object is like
// another, looking for parts would cost a fifth of decoding: so few objects do there. Any number of
// goroutines may use it at a time.
type Sharing struct {
	table *Parts

	idle         atomic.Bool // it is not worth it, but for probes
	turn         atomic.Uint32
	found, bytes atomic.Int64 // of this window

	report func(*Written) // may be nil
}

// NewSharing returns what a decoder shares parts by.
func NewSharing(table *Parts) *Sharing { return &Sharing{table: table} }

// parts returns the table if the next object, or the rest of one, is to look for parts, else nil.
func (s *Sharing) parts(rest bool) *Parts {
	if s == nil || s.idle.Load() && (rest || s.turn.Add(1)%probes != 0) {
		return nil
	}
	return s.table
}

// note takes notice of an object of which so many bytes were found in the table.
func (s *Sharing) note(found, bytes int) {
	sum := s.found.Add(int64(found))
	if seen := s.bytes.Add(int64(bytes)); seen >= gainWindow && s.bytes.CompareAndSwap(seen, 0) {
		s.found.Add(-sum)
		s.idle.Store(sum*leastGain < seen)
	}
}

// Written is a part that somebody has written to, although objects share it.
type Written struct {
	In      string        // the names that lead to it, before any that may be data
	Is, Was reflect.Value // of one type
}

// Report has each check of a part reported: nil, if it is what its bytes mean. It is called before
// the first object is decoded, to from any goroutine that decodes.
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
