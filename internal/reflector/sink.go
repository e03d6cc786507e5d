// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"github.com/kinformer/cache/internal/event"
)

// Sink is where a reflector brings what it learns. One goroutine calls it, in the order of the
// server's events.
type Sink interface {
	// Put takes changes of a watch, in their order. Given are typ (Added, Updated, Deleted or
	// Bookmark), object and version as received. What cannot be taken is among what is returned and
	// costs that change only. The slice is the caller's again when the call returns, and cleared.
	Put(changes []event.Record) (refused []event.Refused)
	// Stage returns an empty whole state, of about so many objects. Of a streamed one an object may
	// come again, in a later state, and may be removed; a list has neither.
	Stage(size int, streamed bool) Stage
	// Resync brings up again what the sink has.
	Resync() error
	// Room returns how many changes the sink would like to be given at once. If that is 0, freed is
	// closed when it is worth asking again. Only what comes by put needs room.
	Room() (changes int, freed <-chan struct{})
}

// Stage is a whole state on its way into a sink: from the pages of a list, or the events of a
// watch-list stream. Nobody sees it until it is published; to discard it, drop it. One goroutine
// uses it.
type Stage interface {
	// Put adds an object, in the state in which it counts.
	Put(obj any) error
	// Remove takes an object back.
	Remove(obj any) error
	// Publish makes what was put the content of the sink, in the order in which it came. The stage
	// is empty afterwards.
	Publish(version string) error
}
