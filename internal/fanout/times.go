// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import "time"

// Figures are what is known of one handler at one time.
type Figures struct {
	Name      string
	SyncError error // why it will never count as synced; nil if it may yet or does

	Working      bool // it is being called, or is about to be
	Stuck        bool // it has not returned from a call for long
	Disconnected bool // removed because it was too slow
	Removed      bool // for whatever reason

	Calling   time.Duration // how long the running call has lasted, the oldest one of several; 0 if there is none
	Oldest    time.Duration // how long ago the change was distributed that it is about
	Pending   int           // calls that are outstanding
	Coalesced uint64        // changes that will not be delivered because others say what they said
	Times     callTimes     // of the calls that have returned
}

// addTo adds to the figures of a handler. Those of several consumers are not summed up where each
// of them counts the same.
func (t *tally) addTo(all *Figures, now int64) {
	if t.current.running {
		all.Calling = max(all.Calling, time.Duration(now-t.current.since))
		all.Oldest = max(all.Oldest, time.Duration(now-t.current.at))
	}
	all.Times.merge(&t.times)
}
