// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"testing"

	"github.com/kinformer/cache/internal/testkit"
)

// letGo reports whether the garbage collector can take what p points to. Another goroutine, on its
// way to its end, may have it for a moment longer.
func TestMain(m *testing.M) { testkit.RunTests(m) }
