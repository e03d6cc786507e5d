// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// step is a run of changes that were taken together: changes[next:end], or that range of a bulk record.
type step struct {
	changes   []change // without bulk records, in memory that keeps no other changes alive
	bulk      *change  // a bulk record, or nil
	next, end int32
	settled   int32 // up to where the run is counted
	upTo      int64 // where the courier is when all is counted, if it reads no further ahead
	calls     int32 // not counted yet
	began     int64 // when the first of these was made
	initial   bool  // the call that is running belongs to the initial list
	panicked  bool  // the last call has
	quick     bool  // the last calls were quick: what follows need not be timed one by one
	plain     bool  // all of changes are for this courier and bounded, or all of bulk is for it
}

// more tells whether some of what was taken is not delivered.
func (s *step) more() bool {
	return s.next < s.end || s.bulk != nil && int(s.next) < s.bulk.many.len()
}

// oldest returns the change that is delivered next, or the bulk record that it belongs to.
func (s *step) oldest() *change {
	if s.bulk != nil {
		return s.bulk
	}
	return &s.changes[s.next]
}

// former returns the object of the Add that was delivered last.
func (s *step) former() any {
	if s.bulk != nil {
		return s.bulk.many.at(int(s.next - 1))
	}
	return s.changes[s.next-1].new
}

// boundedSince returns how many of the changes from that one on were delivered and are bounded.
func (s *step) boundedSince(from int32) (n int) {
	switch {
	case s.bulk != nil:
		return 0
	case s.plain:
		return int(s.next - from)
	}
	for i := from; i < s.next; i++ {
		if s.changes[i].bounded() {
			n++
		}
	}
	return n
}
