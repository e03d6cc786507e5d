// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
)

// Summary is the result of a run.
type Summary struct {
	Rounds   int
	Checks   int
	Slowest  time.Duration // until all was equal
	Counts   map[string]int64
	Faults   map[string]int
	Heap     []uint64       // live bytes at each comparison, and after the end
	Violated map[string]int // by rule
}

// write writes the summary in a form to be quoted.
func (s *Summary) write(w io.Writer, c Config, took time.Duration) {
	fmt.Fprintf(w, "soak of %s, seed %d: %v, %d rounds of faults, %d comparisons (slowest %v)\n",
		c.Library, c.Seed, took.Round(time.Second), s.Rounds, s.Checks, s.Slowest.Round(10*time.Millisecond))
	table(w, s.Counts)
	fmt.Fprintln(w, "  faults:")
	table(w, s.Faults)
	fmt.Fprint(w, "  heap at each comparison and after the end, MiB:")
	for _, n := range s.Heap {
		fmt.Fprintf(w, " %.1f", mib(n))
	}
	fmt.Fprintf(w, "\n  rules violated: %d\n", len(s.Violated))
	table(w, s.Violated)
}

func table[N int | int64](w io.Writer, counts map[string]N) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "    %-36s %d\n", name, counts[name])
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// report collects the events of a run. Its methods may be called concurrently.
type report struct {
	config Config
	start  time.Time

	mu      sync.Mutex
	summary Summary
}

func newReport(c Config) *report {
	return &report{config: c, start: time.Now(), summary: Summary{
		Counts: map[string]int64{}, Faults: map[string]int{}, Violated: map[string]int{},
	}}
}

// violation records the violation of a rule in the package comment and prints the first ones.
func (r *report) violation(rule, where, format string, args ...any) {
	const most = 20
	n := 0
	r.update(func(s *Summary) { s.Violated[rule]++; n = s.Violated[rule] })
	if n <= most {
		r.progress("VIOLATION %s: %s: %s", rule, where, fmt.Sprintf(format, args...))
	}
}

// of returns the checker.Report of the informer, handler or reader called where.
func (r *report) of(where string) checker.Report {
	return func(rule, fault string) { r.violation(rule, where, "%s", fault) }
}

func (r *report) progress(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.config.Out, "%6.1fs %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

func (r *report) count(name string, n int64) { r.update(func(s *Summary) { s.Counts[name] += n }) }

func (r *report) update(change func(*Summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.summary)
}

// end writes and returns the summary. The caller owns it; the report must not be used afterwards.
func (r *report) end() *Summary {
	r.summary.write(r.config.Out, r.config, time.Since(r.start))
	return &r.summary
}

// Write implements io.Writer. It receives one log entry at a time, and looks for contents of objects.
func (r *report) Write(entry []byte) (int, error) {
	r.count("log entries", 1)
	if bytes.Contains(entry, []byte(follow.Marker)) {
		r.violation("logs", "klog", "%.500s", entry)
	}
	return len(entry), nil
}

// logVerbosity is the highest verbosity at which logs must not contain contents of objects.
const logVerbosity = 4

// captureProcess sends all logs of the process to r, and keeps panics of handlers from ending the
// process. The returned function restores the settings.
func captureProcess(r *report) (restore func()) {
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(r), textlogger.Verbosity(logVerbosity))))
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	return func() {
		klog.ClearLogger()
		utilruntime.ReallyCrash = crash
	}
}
