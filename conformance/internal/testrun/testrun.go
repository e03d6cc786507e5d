// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testrun runs a compiled Go test binary and says what became of each test, also when the
// binary crashes or hangs in the middle.
package testrun

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Status is what became of a test.
type Status string

// The ways in which a test can end.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is the outcome of one test.
type Result struct {
	Status Status
	// Reason is empty unless the test failed: "failed", "crashed", "did not end" or "never
	// started".
	Reason string
	// Output is what the test printed, its subtests included.
	Output string
	// Elapsed is as the test binary measured it; zero if it did not end.
	Elapsed time.Duration
}

// Binary is a test binary, built with go test -c.
type Binary struct {
	// Path is the executable, Dir the directory that it runs in.
	Path, Dir string
	// Timeout is how long one process may run before it is made to print its goroutines and exit.
	Timeout time.Duration
	// Echo, if not nil, receives all output as it comes.
	Echo io.Writer
}

// grace is how long a process may take to exit after its own timeout. Printing the goroutines takes
// a moment.
const grace = 30 * time.Second

// Outcome is what came of one or more processes.
type Outcome struct {
	// Results has one entry for each test that was asked for.
	Results map[string]Result
	// Package is what a process printed outside of its tests when it failed although none of its
	// tests did: a leak that TestMain found, a data race after the last test. Empty if there was
	// nothing of the kind.
	Package string
}

// Run runs the tests together. After a crash, the tests that had not begun run again in a new
// process, so that each test has a result of its own.
func (b Binary) Run(ctx context.Context, tests []string) (Outcome, error) {
	out := Outcome{Results: map[string]Result{}}
	remaining := slices.Clone(tests)
	for len(remaining) > 0 {
		p, err := b.process(ctx, remaining)
		if err != nil {
			return out, err
		}
		begun := p.settle(out.Results)
		if !p.ok && !p.anyFailed() {
			out.Package += p.loose.String()
		}
		left := slices.DeleteFunc(slices.Clone(remaining), func(t string) bool { return begun[t] })
		if len(left) == len(remaining) {
			for _, t := range left {
				out.Results[t] = Result{Status: Failed, Reason: "never started", Output: p.loose.String()}
			}
			break
		}
		remaining = left
	}
	return out, nil
}

// process is one run of the binary.
type process struct {
	tests map[string]*progress
	loose strings.Builder // output that belongs to no test
	ok    bool            // exit status 0
}

// progress is what was heard of one top-level test.
type progress struct {
	output  strings.Builder
	ended   Status
	elapsed time.Duration
}

// event is what test2json prints.
type event struct {
	Action  string
	Test    string
	Output  string
	Elapsed float64
}

// process runs the binary once for the tests. Its output goes through test2json, which tells the
// tests apart.
func (b Binary) process(ctx context.Context, tests []string) (*process, error) {
	bounded, cancel := context.WithTimeout(ctx, b.Timeout+grace)
	defer cancel()
	bin := exec.CommandContext(bounded, b.Path, "-test.v=test2json", "-test.paniconexit0",
		"-test.timeout="+b.Timeout.String(), "-test.run="+Pattern(tests))
	bin.Dir = b.Dir
	bin.WaitDelay = 5 * time.Second
	reader, writer := io.Pipe()
	bin.Stdout, bin.Stderr = writer, writer
	convert := exec.CommandContext(ctx, "go", "tool", "test2json")
	convert.Stdin = reader
	events, err := convert.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting test2json: %w", err)
	}
	if err := convert.Start(); err != nil {
		return nil, fmt.Errorf("starting test2json: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		err := bin.Run()
		ended <- errors.Join(err, writer.Close())
	}()
	p := &process{tests: map[string]*progress{}}
	readErr := p.read(events, b.Echo)
	runErr := <-ended
	convertErr := convert.Wait()
	p.ok = runErr == nil
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("running %s: %w", b.Path, err)
	}
	var status *exec.ExitError
	if runErr != nil && !errors.As(runErr, &status) && bounded.Err() == nil {
		return nil, fmt.Errorf("running %s: %w", b.Path, runErr)
	}
	return p, errors.Join(readErr, convertErr)
}

// read takes in all events.
func (p *process) read(events io.Reader, echo io.Writer) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("reading a test event: %w", err)
			}
			p.take(e)
			if echo != nil {
				fmt.Fprint(echo, e.Output)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading test events: %w", err)
		}
	}
}

func (p *process) take(e event) {
	name, _, isSub := strings.Cut(e.Test, "/")
	if name == "" {
		p.loose.WriteString(e.Output)
		return
	}
	t := p.tests[name]
	if t == nil {
		t = &progress{}
		p.tests[name] = t
	}
	t.output.WriteString(e.Output)
	if isSub {
		return
	}
	switch e.Action {
	case "pass":
		t.ended = Passed
	case "fail":
		t.ended = Failed
	case "skip":
		t.ended = Skipped
	}
	t.elapsed = time.Duration(e.Elapsed * float64(time.Second))
}

// settle writes a result for each test that began, and returns their names. The test that began and
// did not end took the process with it; if tests run in parallel, it is one of those.
func (p *process) settle(results map[string]Result) map[string]bool {
	begun := map[string]bool{}
	for name, t := range p.tests {
		begun[name] = true
		r := Result{Status: t.ended, Output: t.output.String(), Elapsed: t.elapsed}
		switch {
		case t.ended == "":
			r.Status, r.Reason = Failed, "crashed"
			if strings.Contains(r.Output+p.loose.String(), "panic: test timed out") {
				r.Reason = "did not end"
			}
			r.Output += p.loose.String()
		case t.ended == Failed:
			r.Reason = "failed"
		}
		results[name] = r
	}
	return begun
}

func (p *process) anyFailed() bool {
	for _, t := range p.tests {
		if t.ended == Failed || t.ended == "" {
			return true
		}
	}
	return false
}

// Pattern is the regular expression that matches exactly the tests named.
func Pattern(tests []string) string {
	quoted := make([]string, 0, len(tests))
	for _, t := range tests {
		quoted = append(quoted, regexp.QuoteMeta(t))
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
