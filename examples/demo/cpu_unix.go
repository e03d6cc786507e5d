// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time that all threads of this process have used.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it has no reason to
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
