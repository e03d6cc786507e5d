// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/event"
)

// ProcessErrorHandler is called with the error of an item or a batch that could not be processed
// and is not tried again. It is called in the goroutine that processed, which goes on when it
// returns; it must be safe for use by several goroutines.
type ProcessErrorHandler func(ctx context.Context, err error)

// processFailures makes sure that no error of a process function is lost: each is counted and goes
// to the hook.
type processFailures struct {
	hook ProcessErrorHandler // nil: utilruntime.HandleErrorWithContext

	mu struct {
		sync.Mutex
		count uint64
		last  error
	}
}

func (f *processFailures) report(ctx context.Context, err error) {
	told := event.Discreet(err)
	f.note(event.Kept(told))
	if f.hook == nil {
		utilruntime.HandleErrorWithContext(ctx, told, "Failed to process changes popped from the queue")
		return
	}
	f.hook(ctx, err)
}

func (f *processFailures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.count++
	f.mu.last = err
}

// panicking is deferred around a process function. It reports a panic, with what was processed, and
// lets it go on.
func (f *processFailures) panicking(processed any) {
	if p := recover(); p != nil {
		f.reportPanic(event.Name(processed), p)
		panic(p)
	}
}

func (f *processFailures) reportPanic(processed string, p any) {
	f.report(context.Background(), fmt.Errorf("process function panicked on %s: %v", processed, p))
}

func (f *processFailures) addTo(stats *QueueStats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stats.ProcessErrors, stats.LastProcessError = f.mu.count, f.mu.last
}
