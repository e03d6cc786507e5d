// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache/e2e/follow"
)

// logVerbosity is the highest at which logs must not show contents.
const logVerbosity = 4

// logScanner reads logs instead of anybody else, and looks for contents of objects.
type logScanner struct{ report *report }

// Write implements io.Writer; it gets a log entry at a time.
func (s logScanner) Write(entry []byte) (int, error) {
	s.report.count("log entries", 1)
	if bytes.Contains(entry, []byte(follow.Marker)) {
		s.report.violation("logs", "klog", "%.500s", entry)
	}
	return len(entry), nil
}

// captureProcess sends all logs of the process to a scanner, and has panics of handlers counted
// instead of ending the process. The returned function puts everything back.
func captureProcess(r *report) (restore func()) {
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(
		textlogger.Output(logScanner{r}), textlogger.Verbosity(logVerbosity))))
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	return func() {
		klog.ClearLogger()
		utilruntime.ReallyCrash = crash
	}
}
