// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"testing"
	"time"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// CpuTime is what the process has used.
func CpuTime(b *testing.B) time.Duration {
	b.Helper()
	used, err := cputime.Used()
	if err != nil {
		b.Fatal(err)
	}
	return used
}
