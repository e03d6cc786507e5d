// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/test/e2e/follow"
)

// report collects the events of a run. Its methods may be called concurrently.
type report struct {
	testing.TB

	mu     sync.Mutex
	counts map[string]int64
}

func newReport(t testing.TB) *report { return &report{TB: t, counts: map[string]int64{}} }

// violation fails the test, and describes the first violations of a rule in the package comment.
func (r *report) violation(rule, where, format string, args ...any) {
	const most = 20
	if r.count("VIOLATIONS: "+rule, 1) > most {
		r.Fail()
		return
	}
	r.Errorf("VIOLATION %s: %s: %s", rule, where, fmt.Sprintf(format, args...))
}

// of returns the checker.Report of the informer, handler or reader called where.
func (r *report) of(where string) checker.Report {
	return func(rule, fault string) { r.violation(rule, where, "%s", fault) }
}

// count adds n and returns the sum.
func (r *report) count(name string, n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name] += n
	return r.counts[name]
}

// String returns all counts, one a line.
func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(&text, "    %-44s %d\n", name, r.counts[name])
	}
	return text.String()
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
