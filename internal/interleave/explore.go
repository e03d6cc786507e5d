// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave

import (
	"fmt"
	"math/bits"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// Report is the result of Explore.
type Report struct {
	// Schedules is the number of schedules run, Steps the number of steps of the longest one.
	Schedules, Steps int
	// Failure is the first schedule that failed, or nil.
	Failure *Failure
}

// Failure is a schedule that failed.
type Failure struct {
	Err      error
	Schedule []Switch
	// Trace describes the activity of the threads, line by line.
	Trace string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%v\nschedule %v:\n%s", f.Err, f.Schedule, f.Trace)
}

func (f *Failure) Unwrap() error { return f.Err }

// Explore runs every schedule with at most this number of preemptions, each on a new program, until
// one fails. Nothing else may run meanwhile.
func Explore(preemptions int, program func() Program) Report {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	exploring = true
	defer func() { exploring = false }()
	e := explorer{program: program}
	e.visit(nil, preemptions)
	return e.Report
}

// Replay runs one schedule, which may end before the program does, and returns its trace.
func Replay(schedule []Switch, program func() Program) (text string, err error) {
	exploring = true
	defer func() { exploring = false }()
	r := run{trace: new(trace)}
	_, err = r.start(program(), schedule)
	return r.trace.String(), err
}

// collectEvery is the number of schedules between garbage collections, few enough that the memory of
// abandoned schedules is bounded, and many enough that collections are a small part of the time.
const collectEvery = 1000

type explorer struct {
	Report
	program func() Program
	run     run
	// options has scratch memory for each number of switches.
	options [][]option
}

// visit runs a schedule, and all longer ones that begin with it. It returns false if one has
// failed.
func (e *explorer) visit(schedule []Switch, preemptions int) bool {
	depth, first := len(schedule), 1
	if depth > 0 {
		first = schedule[depth-1].Step + 1
	}
	if !e.try(schedule) {
		return false
	}
	for len(e.options) <= depth {
		e.options = append(e.options, nil)
	}
	e.options[depth] = append(e.options[depth][:0], e.run.options...)
	for i := range e.options[depth] {
		of, left := e.options[depth][i], preemptions
		if of&forced == 0 {
			left--
		}
		if of &^= forced; left < 0 {
			continue
		}
		for ; of != 0; of &= of - 1 {
			to := bits.TrailingZeros16(uint16(of))
			if !e.visit(append(schedule, Switch{Step: first + i, To: to}), left) {
				return false
			}
		}
	}
	return true
}

// try runs one schedule.
func (e *explorer) try(schedule []Switch) bool {
	_, err := e.run.start(e.program(), schedule)
	e.Steps = max(e.Steps, e.run.step)
	if e.Schedules++; e.Schedules%collectEvery == 0 {
		runtime.GC()
	}
	if err == nil {
		return true
	}
	e.Failure = &Failure{Err: err, Schedule: append([]Switch(nil), schedule...)}
	e.Failure.Trace, _ = Replay(schedule, e.program)
	return false
}

// trace is the description of a schedule, with a line for each time that a thread runs.
type trace struct {
	text strings.Builder
	from int
}

func (s *trace) String() string { return s.text.String() }

// enters records that the current thread runs.
func (s *trace) enters(r *run) {
	if s != nil {
		s.from = r.step
	}
}

// leaves records that the current thread stops running, with the reason and its position.
func (s *trace) leaves(r *run, why string) {
	if s == nil {
		return
	}
	t := r.current
	fmt.Fprintf(&s.text, "\t%s (thread %d), from step %d: %s at step %d", t.Name, t.id, s.from, why, r.step)
	if !t.ended {
		s.text.WriteString(where())
	}
	s.text.WriteByte('\n')
}

// where describes the next operation and its callers.
func where() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	var at []string
	for f, more := frames.Next(); more && len(at) < 3; f, more = frames.Next() {
		of := path.Base(f.Function)
		switch pkg, _, _ := strings.Cut(of, "."); pkg {
		case "interleave", "atomic", "sync", "runtime":
			continue
		}
		at = append(at, fmt.Sprintf("%s (%s:%d)", of, path.Base(f.File), f.Line))
	}
	return ", before " + strings.Join(at, " < ")
}
