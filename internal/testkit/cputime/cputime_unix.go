// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package cputime returns the CPU time used by this process. It has no substitute for systems
// without getrusage: wall time would be a wrong figure.
package cputime

import (
	"fmt"
	"syscall"
	"time"
)

// Used returns the user and system CPU time of all threads of this process.
func Used() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
