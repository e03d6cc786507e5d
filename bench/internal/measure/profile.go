// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// Profiles says which profiles are written; each field is the beginning of the
// files' names, and an empty one writes none.
//
// The runtime's allocation and block profiles count from the start of the
// process. Each measured region therefore leaves two files, "before" and
// "after"; `go tool pprof -base before after` shows the region alone.
type Profiles struct {
	CPU, Memory, Block string
}

// Enable sets the sampling rates of the profiles that are wanted. It is called
// once, before anything is measured.
func (p Profiles) Enable() {
	if p.Memory != "" {
		runtime.MemProfileRate = 64 << 10
	}
	if p.Block != "" {
		runtime.SetBlockProfileRate(1000) // one sample for 1 us of blocking
	}
}

// Around runs do and writes the profiles of it. The name tells the regions
// apart: row, side, round.
func (p Profiles) Around(name string, do func() error) error {
	if err := p.snapshot(name, "before"); err != nil {
		return err
	}
	stop, err := p.startCPU(name)
	if err != nil {
		return err
	}
	failed := do()
	return errors.Join(failed, stop(), p.snapshot(name, "after"))
}

// startCPU begins a CPU profile, if one is wanted, and returns what ends it.
func (p Profiles) startCPU(name string) (stop func() error, err error) {
	if p.CPU == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(p.CPU + name + ".cpu.pprof")
	if err != nil {
		return nil, fmt.Errorf("CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("CPU profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// snapshot writes the cumulative profiles that are wanted.
func (p Profiles) snapshot(name, when string) error {
	var failed []error
	if p.Memory != "" {
		failed = append(failed, write("allocs", p.Memory+name+"."+when+".mem.pprof"))
	}
	if p.Block != "" {
		failed = append(failed, write("block", p.Block+name+"."+when+".block.pprof"))
	}
	return errors.Join(failed...)
}

func write(profile, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%s profile: %w", profile, err)
	}
	return errors.Join(pprof.Lookup(profile).WriteTo(file, 0), file.Close())
}
