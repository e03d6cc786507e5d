// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// sink is where a reflector brings what it learns. One goroutine calls it, in the order of the server's events.
type sink interface {
	// put takes changes of a watch, in their order. Given are typ (Added, Updated, Deleted or Bookmark), object and version
	// as received. What cannot be taken is among what is returned and costs that change only. The slice is the caller's
	// again when the call returns, and cleared.
	put(changes []record) (refused []refusedRecord)
	// stage returns an empty whole state, of about so many objects. Of a streamed one an object may come again, in a later
	// state, and may be removed; a list has neither.
	stage(size int, streamed bool) stage
	// resync brings up again what the sink has.
	resync() error
	// room returns how many changes the sink would like to be given at once. If that is 0, freed is closed when it is worth
	// asking again. Only what comes by put needs room.
	room() (changes int, freed <-chan struct{})
}

// stage is a whole state on its way into a sink: from the pages of a list, or the events of a watch-list stream. Nobody sees
// it until it is published; to discard it, drop it. One goroutine uses it.
type stage interface {
	// put adds an object, in the state in which it counts.
	put(obj any) error
	// remove takes an object back.
	remove(obj any) error
	// publish makes what was put the content of the sink, in the order in which it came. The stage is empty afterwards.
	publish(version string) error
}
