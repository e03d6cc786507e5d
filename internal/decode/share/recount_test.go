// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave || !interleave

package share

import "fmt"

// recount returns the entries of the table. It returns an error unless each is found, and thus in
// the table once, is not too large, and the counters are correct, with surplus in the bytes.
func (t *Parts) recount(surplus int64) (entries []*Part, err error) {
	slots, limit := *t.slots.Load(), t.limit.Load()
	bytes := surplus + int64(len(slots))*slotBytes
	for i := range slots {
		e := slots[i].entry.Load()
		if e == nil {
			continue
		}
		if _, found := t.find(e.of, e.raw); found != e || e.size() > limit/largestShare {
			return nil, fmt.Errorf("%q of %d bytes is where it is not found, twice, or too large", e.raw, e.size())
		}
		entries, bytes = append(entries, e), bytes+e.size()
	}
	if bytes != t.bytes.Load() || int64(len(entries)) != t.entries.Load() || bytes > limit {
		return nil, fmt.Errorf("%d bytes of %d and %d entries, not %d and %d", t.bytes.Load(), limit, t.entries.Load(), bytes, len(entries))
	}
	return entries, nil
}
