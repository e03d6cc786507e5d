// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/kinformer/cache/internal/testkit"
)

// letGo reports whether the garbage collector can take what p points to. Another goroutine, on its
// way to its end, may have it for a moment longer.
func letGo[T any](p weak.Pointer[T]) bool {
	for end := time.Now().Add(testkit.Patience); p.Value() != nil && time.Now().Before(end); {
		runtime.GC()
	}
	return p.Value() == nil
}

func TestMain(m *testing.M) { testkit.RunTests(m) }
