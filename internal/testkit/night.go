// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"testing"
)

// AtNight skips a test of load or of bounds, or one that runs the go command for long, unless
// KINFORMER_NIGHT is set, as make nightly sets it.
func AtNight(t testing.TB) {
	t.Helper()
	if os.Getenv("KINFORMER_NIGHT") == "" {
		t.Skip("for the night: set KINFORMER_NIGHT=1")
	}
}
