// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{reported.record}
	utilruntime.PanicHandlers = []func(context.Context, any){reported.panicked}
	goleak.VerifyTestMain(m)
}

// reported collects what an implementation hands to utilruntime's global hooks: errors that nobody
// returns, and panics. Tests do not run in parallel.
var reported reports

type reports struct {
	mu struct {
		sync.Mutex
		errors []string
		panics []any
	}
}

func (r *reports) record(_ context.Context, err error, msg string, keysAndValues ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.errors = append(r.mu.errors, fmt.Sprint(msg, " ", err, " ", keysAndValues))
}

func (r *reports) panicked(_ context.Context, what any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.panics = append(r.mu.panics, what)
}

func (r *reports) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.errors, r.mu.panics = nil, nil
}

// errors returns the errors reported since the case began.
func (r *reports) errors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.mu.errors...)
}

// mentions says whether a reported error contains the text.
func (r *reports) mentions(text string) bool {
	for _, e := range r.errors() {
		if strings.Contains(e, text) {
			return true
		}
	}
	return false
}

// panics returns the values of the panics caught since the case began.
func (r *reports) panics() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]any(nil), r.mu.panics...)
}

// survivePanics makes utilruntime.HandleCrash swallow panics until the test ends, as processes that
// opt out of crashing do.
func survivePanics(t *testing.T) {
	before := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash = before })
}
