// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
)

// feed is what was distributed so far: the log of changes, and how far it is written. Places in it
// are counted in calls of a handler. One goroutine at a time writes, any number of consumers read.
type feed struct {
	stopwatch
	upstream clientgo.DoneChecker // says whether the first list was distributed

	end      atomic.Int64 // calls that all changes so far stand for; written under mu
	bounded  atomic.Int64 // how many of them are bounded; written under mu
	syncedAt atomic.Int64 // the end of the initial list; unknownPosition until all of it is written

	freed atomic.Pointer[chan struct{}] // closed by madeRoom; nil if room waits for nothing

	// mu guards the writer's end of the log, and with it the pool and who is registered.
	mu struct {
		sync.Mutex
		log         eventlog.Log[event.Change]
		lastInitial int64 // end when the last change of the initial list was written
	}
}

const unknownPosition = -1

// spareSegments are the segments that no log uses.
var spareSegments sync.Pool

func (f *feed) init(upstream clientgo.DoneChecker) {
	f.stopwatch, f.upstream = startStopwatch(), upstream
	f.syncedAt.Store(unknownPosition)
	f.mu.log.Spare = &spareSegments
}

// madeRoom closes freed. It takes no lock.
func (f *feed) madeRoom() {
	if f.freed.Load() == nil { // nearly always
		return
	}
	if changed := f.freed.Swap(nil); changed != nil {
		close(*changed)
	}
}
