// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// record is one change on its way from the reflector through the queue to the store. Key and version are read once, where
// the object enters the queue, and carried from there on.
type record struct {
	typ     DeltaType
	key     string
	version string // resourceVersion as received, before any transform
	object  any    // as it will be stored; a tombstone for synthetic deletions; nil for ReplacedAll, SyncAll and Bookmark
	state   any    // of a ReplacedAll: what is to become the whole state, the business of those who make and apply it

	transformed bool // object may tell another version than was received
}

// keyed reports whether the record is about one object, which alone may share a batch with others.
func (r *record) keyed() bool {
	switch r.typ {
	case ReplacedAll, SyncAll, Bookmark:
		return false
	default:
		return true
	}
}

// refusedRecord is a change that a sink could not take, and why.
type refusedRecord struct {
	typ    DeltaType
	key    string // "" if it has none
	object any
	err    error
}
