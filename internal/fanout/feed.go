// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
)

// feed is the log of distributed changes, with its length. Positions are counted in calls of a
// handler. One goroutine at a time writes, and any number of consumers read.
type feed struct {
	stopwatch
	upstream clientgo.DoneChecker // reports whether the first list was distributed

	end      atomic.Int64 // number of calls for all changes so far; written under mu
	bounded  atomic.Int64 // number of bounded ones among them; written under mu
	syncedAt atomic.Int64 // end of the initial list; unknownPosition until all of it is written

	freed atomic.Pointer[chan struct{}] // closed by madeRoom; nil if Room does not wait

	logger atomic.Pointer[klog.Logger] // of the lines about handlers; nil before the informer runs

	// mu guards the writer's end of the log, the pool and the registrations.
	mu struct {
		sync.Mutex
		log         eventlog.Log[event.Change]
		lastInitial int64 // value of end after the last change of the initial list
	}
}

const unknownPosition = -1

// spareSegments holds unused segments of all logs.
var spareSegments sync.Pool

func (f *feed) init(upstream clientgo.DoneChecker) {
	f.stopwatch, f.upstream = startStopwatch(), upstream
	f.syncedAt.Store(unknownPosition)
	f.mu.log.Spare = &spareSegments
}

// loggerOr returns own or, if it is nil, the logger of the informer, which is klog's before the
// informer runs.
func (f *feed) loggerOr(own *klog.Logger) klog.Logger {
	if own = cmp.Or(own, f.logger.Load()); own != nil {
		return *own
	}
	return klog.Background()
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
