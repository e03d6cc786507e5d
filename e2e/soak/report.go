// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Violation is something that must not be.
type Violation struct {
	Rule  string // one of the package comment
	Where string
	What  string
	At    time.Duration // since the start of the run
}

func (v Violation) String() string {
	return fmt.Sprintf("%6.1fs %s: %s: %s", v.At.Seconds(), v.Rule, v.Where, v.What)
}

// Summary is what a run has done and found.
type Summary struct {
	Library    string
	Seed       uint64
	Took       time.Duration
	Rounds     int
	Checks     int
	Slowest    time.Duration // the slowest comparison until all was equal
	Informers  int           // started in all
	Counts     map[string]int64
	Faults     map[string]int
	Heap       []HeapSample // at each comparison
	HeapAfter  uint64       // after everything was stopped
	Violations []Violation  // the first of each rule and place, at most 1000
	Violated   map[string]int
}

// WriteTo writes the summary as text to be quoted.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "soak of %s, seed %d: %v, %d rounds of faults, %d comparisons (slowest %v), %d informers\n",
		s.Library, s.Seed, s.Took.Round(time.Second), s.Rounds, s.Checks, s.Slowest.Round(10*time.Millisecond), s.Informers)
	for _, name := range slices.Sorted(maps.Keys(s.Counts)) {
		fmt.Fprintf(&b, "  %-34s %d\n", name, s.Counts[name])
	}
	fmt.Fprintln(&b, "  faults:")
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		fmt.Fprintf(&b, "    %-32s %d\n", name, s.Faults[name])
	}
	if len(s.Heap) > 0 {
		slope, deviation := heapSlope(s.Heap)
		fmt.Fprintf(&b, "  heap: %.1f MiB at the first comparison, %.1f at the last, %.1f after the end; %.2f MiB an hour, standard error %.2f\n",
			mib(s.Heap[0].Bytes), mib(s.Heap[len(s.Heap)-1].Bytes), mib(s.HeapAfter), slope, deviation)
	}
	fmt.Fprintf(&b, "  violations: %d\n", len(s.Violations))
	for _, rule := range slices.Sorted(maps.Keys(s.Violated)) {
		fmt.Fprintf(&b, "    %-32s %d\n", rule, s.Violated[rule])
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// report collects what is found. Its methods may be called concurrently.
type report struct {
	out   io.Writer
	start time.Time

	mu struct {
		sync.Mutex
		summary Summary
	}
}

func newReport(c Config) *report {
	r := &report{out: c.Out, start: time.Now()}
	r.mu.summary = Summary{
		Library: c.Library, Seed: c.Seed,
		Counts: map[string]int64{}, Faults: map[string]int{}, Violated: map[string]int{},
	}
	return r
}

// violation notes that rule does not hold.
func (r *report) violation(rule, where, format string, args ...any) {
	const most, mostOfRule = 1000, 20
	v := Violation{Rule: rule, Where: where, What: fmt.Sprintf(format, args...), At: time.Since(r.start)}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.mu.summary
	s.Violated[rule]++
	if len(s.Violations) < most {
		s.Violations = append(s.Violations, v)
	}
	if s.Violated[rule] <= mostOfRule {
		fmt.Fprintln(r.out, "VIOLATION", v)
	}
}

func (r *report) progress(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%6.1fs %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

func (r *report) count(name string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.summary.Counts[name] += n
}

func (r *report) update(change func(*Summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.mu.summary)
}

// violated returns the number of violations so far.
func (r *report) violated() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.summary.Violations)
}

// end returns the summary, which the caller owns; the report is not used any more.
func (r *report) end() *Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.summary.Took = time.Since(r.start)
	return &r.mu.summary
}
