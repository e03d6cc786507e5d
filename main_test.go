// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// letGo reports whether the garbage collector can take what p points to. Another goroutine, on its way to its end, may have
// it for a moment longer.
func letGo[T any](p weak.Pointer[T]) bool {
	for end := time.Now().Add(patience); p.Value() != nil && time.Now().Before(end); {
		runtime.GC()
	}
	return p.Value() == nil
}

func TestMain(m *testing.M) { runTests(m) }

// runTests runs the tests of a package, and fails for a goroutine that is left. Reported errors are only logged: apimachinery's second default
// handler sleeps until a millisecond after the last error, which is years inside a synctest bubble.
func runTests(m *testing.M) {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, msg, keysAndValues...)
		},
	}
	flag.Parse()
	klog.SetLogger(funcr.New(processLog.write, funcr.Options{}))
	goleak.VerifyTestMain(m)
}

// processLog is where all goes that klog is given, at V(0). Tests do not change klog's logger, because goroutines of other
// tests may still use it; they listen by captureLog. -v shows the log, so that else what a failing test says can be found.
var processLog tap

type tap struct{ listener atomic.Pointer[logged] }

func (l *tap) write(prefix, args string) {
	if testing.Verbose() {
		fmt.Fprintln(os.Stderr, prefix, args)
	}
	if listener := l.listener.Load(); listener != nil {
		listener.write(prefix, args)
	}
}

// captureLog has what is logged at V(0) go to the result, too, until the test ends.
func captureLog(t *testing.T) *logged {
	t.Helper()
	lines := &logged{}
	processLog.listener.Store(lines)
	t.Cleanup(func() { processLog.listener.Store(nil) })
	return lines
}
