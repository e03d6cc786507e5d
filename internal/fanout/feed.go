// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
)

// feed is what was distributed so far: the log of changes, and how far it is written. Places in it
// are counted in calls of a handler. One goroutine at a time writes, any number of consumers read.
type feed struct {
	epoch    time.Time            // of change.at and of all other times in nanoseconds
	upstream clientgo.DoneChecker // says whether the first list was distributed

	end      atomic.Int64 // calls that all changes so far stand for; written under mu
	bounded  atomic.Int64 // how many of them are bounded; written under mu
	syncedAt atomic.Int64 // the end of the initial list; unknownPosition until all of it is written

	freed atomic.Pointer[chan struct{}] // closed by MadeRoom; nil if room waits for nothing

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
	f.epoch, f.upstream = time.Now(), upstream
	f.syncedAt.Store(unknownPosition)
	f.mu.log.Spare = &spareSegments
}

func (f *feed) now() int64 { return int64(time.Since(f.epoch)) }

// AppendLocked writes the changes, and counts them.
func (f *feed) appendLocked(changes []event.Change) {
	f.mu.log.Append(changes)
	end, bounded := f.end.Load(), f.bounded.Load()
	for i := range changes {
		end += int64(changes[i].Size())
		if isBounded(&changes[i]) {
			bounded++
		}
		if changes[i].Initial {
			f.mu.lastInitial = end
		}
	}
	f.end.Store(end)
	f.bounded.Store(bounded)
}

// MadeRoom closes freed. It takes no lock.
func (f *feed) madeRoom() {
	if f.freed.Load() == nil { // nearly always
		return
	}
	if changed := f.freed.Swap(nil); changed != nil {
		close(*changed)
	}
}
