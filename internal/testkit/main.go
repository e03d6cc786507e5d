// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

// RunTests runs the tests of a package, and fails for a goroutine that is left.
func RunTests(m *testing.M) {
	flag.Parse()
	klog.SetLogger(funcr.New(processLog.write, funcr.Options{}))
	goleak.VerifyTestMain(m)
}

// processLog is where all goes that klog is given, at V(0). Tests do not change klog's logger,
// because goroutines of other tests may still use it; they listen by CaptureLog. -v shows the log,
// so that else what a failing test says can be found.
var processLog tap

type tap struct{ listener atomic.Pointer[Logged] }

func (l *tap) write(prefix, args string) {
	if testing.Verbose() {
		fmt.Fprintln(os.Stderr, prefix, args)
	}
	if listener := l.listener.Load(); listener != nil {
		listener.Write(prefix, args)
	}
}

// CaptureLog has what is logged at V(0) go to the result, too, until the test ends.
func CaptureLog(t *testing.T) *Logged {
	t.Helper()
	lines := &Logged{}
	processLog.listener.Store(lines)
	t.Cleanup(func() { processLog.listener.Store(nil) })
	return lines
}

// About returns the texts that contain what.
func About(what string, texts []string) (found []string) {
	for _, text := range texts {
		if strings.Contains(text, what) {
			found = append(found, text)
		}
	}
	return found
}
