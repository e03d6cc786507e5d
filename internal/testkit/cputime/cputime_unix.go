// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package cputime tells how much CPU time this process has used. There is no stand-in for it where
// a system does not tell: wall time under that name would be a wrong figure.
package cputime

import (
	"fmt"
	"syscall"
	"time"
)

// Used returns the CPU time that all threads of this process have used, of the user and of the
// system.
func Used() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
