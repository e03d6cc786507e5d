// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

var errReported = errors.New("reported")

// TestReport checks that all handlers, those of the program and the default one that logs, are
// called in order in the reporting goroutine, and that none sleeps, not even in a bubble that
// begins long before the last error.
func TestReport(t *testing.T) {
	utilruntime.HandleError(errors.New("the last error, of the real clock"))
	defaults := utilruntime.ErrorHandlers
	require.Len(t, defaults, 2, "the default handlers of this version: one that logs and one that sleeps")
	defer func() { utilruntime.ErrorHandlers = defaults }()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		logger := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{LogCaller: funcr.Error})
		note := func(name string) utilruntime.ErrorHandler {
			return func(_ context.Context, err error, msg string, keysAndValues ...any) {
				lines = append(lines, fmt.Sprint(name, " ", msg, " ", err, keysAndValues))
			}
		}
		utilruntime.ErrorHandlers = slices.Concat([]utilruntime.ErrorHandler{note("first")}, defaults, []utilruntime.ErrorHandler{note("last")})
		began := time.Now()
		_, file, line, _ := runtime.Caller(0)
		event.Report(klog.NewContext(t.Context(), logger), errReported, "by context", "key", 1)
		event.ReportTo(logger, errReported, "by logger", "key", 2)
		assert.Zero(t, time.Since(began))
		require.Len(t, lines, 6)
		assert.Equal(t, []string{"first by context reported [key 1]", "last by context reported [key 1]"}, []string{lines[0], lines[2]})
		assert.Equal(t, []string{"first by logger reported [key 2]", "last by logger reported [key 2]"}, []string{lines[3], lines[5]})
		for i, logged := range []string{lines[1], lines[4]} {
			assert.Contains(t, logged, "UnhandledError")
			assert.Contains(t, logged, fmt.Sprintf(`"file"="%s" "line"=%d`, file[strings.LastIndex(file, "/")+1:], line+1+i))
		}
	})
}
