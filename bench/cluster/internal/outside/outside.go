// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outside measures another process, by what the system tells of it: the process does
// nothing for that, but for writing a line for each garbage collection.
package outside

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc, on all systems that Go supports.
const tick = 10 * time.Millisecond

// Process is one that is measured.
type Process struct{ PID int }

// Reading is what a process has used so far, and takes now.
type Reading struct {
	At  time.Time
	CPU time.Duration
	RSS uint64 // bytes
}

var errUnknownForm = errors.New("the system tells it in an unknown form")

func (p Process) path(file string) string { return fmt.Sprintf("/proc/%d/%s", p.PID, file) }

// Read reads.
func (p Process) Read() (Reading, error) {
	r := Reading{At: time.Now()}
	stat, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return r, fmt.Errorf("read CPU time: %w", err)
	}
	statm, err := os.ReadFile(p.path("statm"))
	if err != nil {
		return r, fmt.Errorf("read memory: %w", err)
	}
	if r.CPU, err = cpuOf(string(stat)); err != nil {
		return r, err
	}
	r.RSS, err = rssOf(string(statm))
	return r, err
}

// cpuOf reads the user and system time, which follow the name in parentheses.
func cpuOf(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 14 - 3, 15 - 3 // proc(5), where the field behind the name is the third
	if len(fields) <= system {
		return 0, fmt.Errorf("CPU time: %w", errUnknownForm)
	}
	inUser, err := strconv.ParseInt(fields[user], 10, 64)
	inSystem, err2 := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(inUser+inSystem) * tick, errors.Join(err, err2)
}

func rssOf(statm string) (uint64, error) {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("memory: %w", errUnknownForm)
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// Forget has the system forget the peak of the memory.
func (p Process) Forget() error {
	if err := os.WriteFile(p.path("clear_refs"), []byte("5"), 0); err != nil {
		return fmt.Errorf("forget the peak: %w", err)
	}
	return nil
}

// Peak returns the most memory since Forget.
func (p Process) Peak() (uint64, error) {
	status, err := os.ReadFile(p.path("status"))
	if err != nil {
		return 0, fmt.Errorf("read the peak: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("the peak: %w", errUnknownForm)
}

// FirstToGo has the system end the process before others when memory runs out.
func (p Process) FirstToGo() error {
	if err := os.WriteFile(p.path("oom_score_adj"), []byte("1000"), 0); err != nil {
		return fmt.Errorf("make it the first to go: %w", err)
	}
	return nil
}

// Time is what all cores have done so far.
type Time struct{ All, Stolen uint64 }

// Cores reads what all cores have done.
func Cores() (Time, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Time{}, fmt.Errorf("read CPU steal: %w", err)
	}
	return timeOf(string(stat))
}

func timeOf(stat string) (t Time, err error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	const stolen, guest = 8, 9 // with the name, as field 0; guests are within user
	if len(fields) <= stolen || fields[0] != "cpu" {
		return t, fmt.Errorf("CPU steal: %w", errUnknownForm)
	}
	for i, field := range fields[1:min(guest, len(fields))] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return t, fmt.Errorf("CPU steal: %w", err)
		}
		t.All += ticks
		if i+1 == stolen {
			t.Stolen = ticks
		}
	}
	return t, nil
}

// StolenSince returns the share of the time since then that other machines were given.
func (t Time) StolenSince(then Time) float64 {
	if t.All <= then.All {
		return 0
	}
	return float64(t.Stolen-then.Stolen) / float64(t.All-then.All)
}
