// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// Profiled runs do and writes a CPU profile of it to a file, if that has a name.
func Profiled(path string, do func() error) error {
	if path == "" {
		return do()
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		return fmt.Errorf("CPU profile: %w", err)
	}
	failed := do()
	pprof.StopCPUProfile()
	return errors.Join(failed, file.Close())
}
