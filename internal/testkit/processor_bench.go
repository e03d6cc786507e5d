// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"syscall"
	"testing"
	"time"
)

// CpuTime is what the process has used.
func CpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
