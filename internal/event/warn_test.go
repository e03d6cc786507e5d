// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// warnOfAll logs a warning with values of each kind, in the name of its caller. It returns the line
// of the caller's file.
func warnOfAll(logger klog.Logger) (line int) {
	event.Warn(logger, 1, "A handler \"is\" slow", "handler", "main.go:118", "call", 10*time.Second, "pending", 3,
		"names", []string{"a", "b"}, "err", errors.New("two\nlines"), "never", func() {})
	_, _, line, _ = runtime.Caller(1)
	return line
}

// TestWarn checks the severity of warnings with and without a logger in klog, and the line of the
// file that they name.
func TestWarn(t *testing.T) {
	state := klog.CaptureState()
	defer state.Restore()
	var own, info bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutputBySeverity("INFO", &info) // also gets the warnings
	klog.SetOutputBySeverity("WARNING", &own)
	var lines strings.Builder
	write := func(prefix, args string) { fmt.Fprintln(&lines, prefix, args) }
	logger := funcr.New(write, funcr.Options{LogCaller: funcr.All})

	said := func(warn func() int) (structured, text string, line int) {
		lines.Reset()
		own.Reset()
		line = warn()
		klog.Flush()
		return lines.String(), own.String(), line
	}
	klog.ClearLogger()
	none, text, line := said(func() int { return warnOfAll(klog.Background()) })
	assert.Empty(t, none)
	assert.Regexp(t, fmt.Sprintf(`^W\d+ .* warn_test.go:%d\] `, line), text)
	_, text, _ = strings.Cut(text, "] ")
	text, _, _ = strings.Cut(text, " never=")
	assert.Equal(t, `"A handler \"is\" slow" handler="main.go:118" call="10s" pending=3 names=["a","b"] err="two\nlines"`, text)

	for name, set := range map[string]func() klog.Logger{
		"of klog": func() klog.Logger { klog.SetLogger(logger); return klog.Background() },
		"of klog, contextual": func() klog.Logger {
			klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
			return klog.Background()
		},
		"of the program": func() klog.Logger { klog.ClearLogger(); return logger },
	} {
		t.Run(name, func(t *testing.T) {
			logger := set()
			structured, none, line := said(func() int { return warnOfAll(logger) })
			assert.Empty(t, none)
			assert.Contains(t, structured, `"severity"="warning" "handler"="main.go:118" "call"="10s" "pending"=3`)
			assert.Contains(t, structured, fmt.Sprintf(`"caller"={"file"="warn_test.go" "line"=%d}`, line))
		})
	}
	klog.ClearLogger()
	_, text, _ = said(func() int { return warnOfAll(klog.Background().WithName("pods")) })
	assert.Empty(t, text, "what was added to a logger would be lost")
	assert.Contains(t, info.String(), `logger="pods" severity="warning"`)
	assert.NotPanics(t, func() { event.Warn(klog.Logger{}, 0, "for nobody") })
}
