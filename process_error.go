// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// ProcessErrorHandler hears of an item or a batch that could not be processed and is not tried again. It is called in the
// goroutine that processed, which goes on when it returns; it must be safe for use by several goroutines.
type ProcessErrorHandler func(ctx context.Context, err error)

// processFailures sees to it that no error of a process function is lost: each is counted and goes to the hook.
type processFailures struct {
	hook ProcessErrorHandler // nil: utilruntime.HandleErrorWithContext

	mu struct {
		sync.Mutex
		count uint64
		last  error
	}
}

func (f *processFailures) report(ctx context.Context, err error) {
	f.mu.Lock()
	f.mu.count++
	f.mu.last = kept(discreet(err))
	f.mu.Unlock()
	if f.hook == nil {
		utilruntime.HandleErrorWithContext(ctx, discreet(err), "Failed to process changes popped from the queue")
		return
	}
	f.hook(ctx, err)
}

// panicking is deferred around a process function. It reports a panic, with what was processed, and lets it go on.
func (f *processFailures) panicking(processed any) {
	if p := recover(); p != nil {
		f.reportPanic(nameOf(processed), p)
		panic(p)
	}
}

// panickingBatch is panicking for a batch in the typed form.
func (f *processFailures) panickingBatch(batch []record) {
	if p := recover(); p != nil {
		f.reportPanic(nameOf(batch), p)
		panic(p)
	}
}

func (f *processFailures) reportPanic(processed string, p any) {
	f.report(context.Background(), fmt.Errorf("process function panicked on %s: %v", processed, p))
}

// nameOf says in a log what was processed: keys, never contents.
func nameOf(processed any) string {
	switch of := processed.(type) {
	case []record:
		return nameOfBatch(len(of), func() string { return of[0].key })
	case []Delta:
		return nameOfBatch(len(of), func() string { return nameOf(Deltas(of[:1])) })
	case Deltas:
		if len(of) > 0 {
			processed = of.Newest().Object
		}
	}
	key, err := DeletionHandlingMetaNamespaceKeyFunc(processed)
	if err != nil {
		return fmt.Sprintf("an item of type %T", processed)
	}
	return fmt.Sprintf("%q", key)
}

func nameOfBatch(n int, first func() string) string {
	if n == 0 {
		return "an empty batch"
	}
	return fmt.Sprintf("a batch of %d that begins with %s", n, first())
}

func (f *processFailures) addTo(stats *QueueStats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stats.ProcessErrors, stats.LastProcessError = f.mu.count, f.mu.last
}
