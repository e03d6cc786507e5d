// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"context"
	"io"
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestMain fails the run if goroutines remain. Reported errors are only logged, by the logger of the
// context: apimachinery's own handlers sleep until a time outside the synctest bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, msg, keysAndValues...)
		},
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}
