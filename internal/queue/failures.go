// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"sync"

	"github.com/kinformer/cache/internal/event"
)

// Failures makes sure that no error of a process function is lost: each is counted and goes
// to the hook.
type Failures struct {
	Hook func(ctx context.Context, err error) // nil: event.Report

	mu struct {
		sync.Mutex
		count uint64
		last  error
	}
}

// Report counts err, and hands it to the hook.
func (f *Failures) Report(ctx context.Context, err error) {
	told := event.Discreet(err)
	f.note(event.Kept(told))
	if f.Hook == nil {
		event.Report(ctx, told, "Failed to process changes popped from the queue")
		return
	}
	f.Hook(ctx, err)
}

func (f *Failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.count++
	f.mu.last = err
}

// Panicking is deferred around a process function. It reports a panic, with what was processed, and
// lets it go on.
func (f *Failures) Panicking(processed any) {
	if p := recover(); p != nil {
		f.ReportPanic(event.Name(processed), p)
		panic(p)
	}
}

// ReportPanic reports what was thrown while something was processed.
func (f *Failures) ReportPanic(processed string, p any) {
	f.Report(context.Background(), fmt.Errorf("process function panicked on %s: %v", processed, p))
}

// Known returns how many errors there were, and the last.
func (f *Failures) Known() (count uint64, last error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.count, f.mu.last
}
