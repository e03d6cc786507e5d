// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel_test

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"

	"github.com/kinformer/cache/kinformerotel"
)

// Spans are made while the program runs.
func ExampleRunTraces() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { kinformerotel.RunTraces(ctx, otel.GetTracerProvider(), kinformerotel.TraceOptions{}) })
	// ... the work of the program
	cancel()
	group.Wait() // the last requests are traced
	// Output:
}
