// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"sync"

	"github.com/kinformer/cache/internal/event"
)

// Failures counts the errors of process functions and passes each to the hook, so that none is
// lost.
type Failures struct {
	Hook func(ctx context.Context, err error) // nil means event.Report

	mu struct {
		sync.Mutex
		count uint64
		last  error
	}
}

// Report counts err, and passes it to the hook.
func (f *Failures) Report(ctx context.Context, err error) {
	redacted := event.Redacted(err)
	f.note(event.Retainable(redacted))
	if f.Hook == nil {
		event.Report(ctx, redacted, "Failed to process changes popped from the queue")
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

// Panicking must be deferred by a process function. It reports a panic and the processed object,
// and continues the panic.
func (f *Failures) Panicking(processed any) {
	if p := recover(); p != nil {
		f.ReportPanic(event.Name(processed), p)
		panic(p)
	}
}

// ReportPanic reports a panic value.
func (f *Failures) ReportPanic(processed string, p any) {
	f.Report(context.Background(), fmt.Errorf("process function panicked on %s: %v", processed, p))
}

// Known returns the number of errors, and the last one.
func (f *Failures) Known() (count uint64, last error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.count, f.mu.last
}
