// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
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
	Heap       []uint64    // what is alive at each comparison
	HeapAfter  uint64      // after everything was stopped
	Violations []Violation // at most 1000
	Violated   map[string]int
}

// WriteTo writes the summary as text to be quoted.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "soak of %s, seed %d: %v, %d rounds of faults, %d comparisons (slowest %v), %d informers\n",
		s.Library, s.Seed, s.Took.Round(time.Second), s.Rounds, s.Checks, s.Slowest.Round(10*time.Millisecond), s.Informers)
	table(&b, s.Counts)
	fmt.Fprintln(&b, "  faults:")
	table(&b, s.Faults)
	if len(s.Heap) > 0 {
		fmt.Fprintf(&b, "  heap: %.1f MiB at the first comparison, %.1f at the last, %.1f after the end\n",
			mib(s.Heap[0]), mib(s.Heap[len(s.Heap)-1]), mib(s.HeapAfter))
	}
	fmt.Fprintf(&b, "  violations: %d\n", len(s.Violations))
	table(&b, s.Violated)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func table[N int | int64](b *strings.Builder, counts map[string]N) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "    %-36s %d\n", name, counts[name])
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// report collects what is found. Its methods may be called concurrently.
type report struct {
	out   io.Writer
	start time.Time

	mu      sync.Mutex
	summary Summary
}

func newReport(c Config) *report {
	return &report{out: c.Out, start: time.Now(), summary: Summary{
		Library: c.Library, Seed: c.Seed,
		Counts: map[string]int64{}, Faults: map[string]int{}, Violated: map[string]int{},
	}}
}

// violation notes that rule does not hold.
func (r *report) violation(rule, where, format string, args ...any) {
	const most, mostOfRule = 1000, 20
	v := Violation{Rule: rule, Where: where, What: fmt.Sprintf(format, args...), At: time.Since(r.start)}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.summary
	s.Violated[rule]++
	if len(s.Violations) < most {
		s.Violations = append(s.Violations, v)
	}
	if s.Violated[rule] <= mostOfRule {
		fmt.Fprintln(r.out, "VIOLATION", v)
	}
}

// of is where a checker reports to.
func (r *report) of(where string) checker.Report {
	return func(rule, fault string) { r.violation(rule, where, "%s", fault) }
}

func (r *report) progress(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%6.1fs %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

func (r *report) count(name string, n int64) { r.update(func(s *Summary) { s.Counts[name] += n }) }

func (r *report) update(change func(*Summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.summary)
}

// violated returns the number of violations so far.
func (r *report) violated() (n int) {
	r.update(func(s *Summary) { n = len(s.Violations) })
	return n
}

// end returns the summary, which the caller owns; the report is not used any more.
func (r *report) end() *Summary {
	r.update(func(s *Summary) { s.Took = time.Since(r.start) })
	return &r.summary
}

// Write implements io.Writer; it gets an entry of the log at a time, and looks for contents of
// objects.
func (r *report) Write(entry []byte) (int, error) {
	r.count("log entries", 1)
	if bytes.Contains(entry, []byte(follow.Marker)) {
		r.violation("logs", "klog", "%.500s", entry)
	}
	return len(entry), nil
}

// logVerbosity is the highest at which logs must not show contents.
const logVerbosity = 4

// captureProcess sends all logs of the process to the report, and has panics of handlers counted
// instead of ending the process. The returned function puts everything back.
func captureProcess(r *report) (restore func()) {
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(r), textlogger.Verbosity(logVerbosity))))
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	return func() {
		klog.ClearLogger()
		utilruntime.ReallyCrash = crash
	}
}
