// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"runtime/trace"
)

// traced begins a task of the execution trace, if one is being taken, and logs there what it is
// about. The caller ends it.
func traced(ctx context.Context, task, about string) (_ context.Context, end func()) {
	if !trace.IsEnabled() {
		return ctx, func() {}
	}
	ctx, begun := trace.NewTask(ctx, task)
	trace.Log(ctx, "type", about)
	return ctx, begun.End
}
