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

// letGo reports whether the garbage collector frees the object of p. It retries, because a goroutine
// that is about to end may still refer to it.
func letGo[T any](p weak.Pointer[T]) bool {
	for end := time.Now().Add(testkit.Patience); p.Value() != nil && time.Now().Before(end); {
		runtime.GC()
	}
	return p.Value() == nil
}

func TestMain(m *testing.M) { testkit.RunTests(m) }
