// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"flag"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestMain fails the run for a goroutine that is left. Reported errors are only logged: apimachinery's second default
// handler sleeps until a millisecond after the last error, which is years inside a synctest bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, msg, keysAndValues...)
		},
	}
	flag.Parse()
	if !testing.Verbose() {
		klog.SetLogger(logr.Discard()) // so that what a failing test says can be found; -v shows the log
	}
	goleak.VerifyTestMain(m)
}
