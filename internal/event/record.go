// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	clientgo "k8s.io/client-go/tools/cache"
)

// Record is one change on its way from the reflector through the queue to the store. Key and version are read once, where
// the object enters the queue, and carried from there on.
type Record struct {
	Type    clientgo.DeltaType
	Key     string
	Version string // resourceVersion as received, before any transform
	Object  any    // as it will be stored; a tombstone for synthetic deletions; nil for ReplacedAll, SyncAll and Bookmark
	State   any    // of a ReplacedAll: what is to become the whole state, the business of those who make and apply it

	Transformed bool // object may tell another version than was received
}

// Keyed reports whether the record is about one object, which alone may share a batch with others.
func (r *Record) Keyed() bool {
	switch r.Type {
	case clientgo.ReplacedAll, clientgo.SyncAll, clientgo.Bookmark:
		return false
	default:
		return true
	}
}

// Refused is a change that a sink could not take, and why.
type Refused struct {
	Type   clientgo.DeltaType
	Key    string // "" if it has none
	Object any
	Err    error
}

// LastState is the object that a record tells of, without a tombstone around it.
func (r *Record) LastState() any {
	if tombstone, ok := r.Object.(clientgo.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return r.Object
}

// BatchLimit bounds what is read before it is handed over: the first event of a batch waits for the others. At 256 the cost
// of handing over, a lock and perhaps a wake-up, is a few nanoseconds an event; larger batches gain nothing more.
const BatchLimit = 256
