// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cputime

import (
	"errors"
	"time"
)

// Used returns an error, because this system lacks getrusage.
func Used() (time.Duration, error) {
	return 0, errors.New("CPU time is read by getrusage, which this system lacks")
}
