// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package measure

import (
	"errors"
	"time"
)

// processCPU needs getrusage: without it there is no benchmark, rather than
// one that shows wall time under the name of CPU time.
func processCPU() (time.Duration, error) {
	return 0, errors.New("CPU time is read by getrusage, which this system lacks")
}
