// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cputime

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

// Process is the usage of a process at a time: its CPU time so far, and its memory in bytes, at that
// time and at most.
type Process struct {
	At        time.Time
	CPU       time.Duration
	RSS, Peak uint64
}

// Of reads the usage of another process from /proc.
func Of(pid int) (Process, error) {
	p := Process{At: time.Now()}
	const user, system = 14 - 3, 15 - 3 // proc(5), where the field after the name is the third
	inUser, err := number(pid, "stat", ") ", user)
	inSystem, err2 := number(pid, "stat", ") ", system)
	rss, err3 := number(pid, "status", "VmRSS:", 0)
	peak, err4 := number(pid, "status", "VmHWM:", 0)
	p.CPU, p.RSS, p.Peak = time.Duration(inUser+inSystem)*tick, rss<<10, peak<<10
	return p, errors.Join(err, err2, err3, err4)
}

// number returns the word at an index after a text in a file of a process.
func number(pid int, file, after string, index int) (uint64, error) {
	path := fmt.Sprintf("/proc/%d/%s", pid, file)
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(content), after)
	words := strings.Fields(rest)
	if len(words) <= index {
		return 0, fmt.Errorf("%s: unknown format", path)
	}
	return strconv.ParseUint(words[index], 10, 64)
}
