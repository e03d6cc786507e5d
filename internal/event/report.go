// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Report passes an error that cannot be returned to the ErrorHandlers of
// k8s.io/apimachinery/pkg/util/runtime, in order, as HandleErrorWithContext does. It skips
// apimachinery's handler that sleeps.
func Report(ctx context.Context, err error, msg string, keysAndValues ...any) {
	report(ctx, err, msg, keysAndValues...)
}

// ReportTo is Report with a logger instead of a context.
func ReportTo(logger klog.Logger, err error, msg string, keysAndValues ...any) {
	report(klog.NewContext(context.Background(), logger), err, msg, keysAndValues...)
}

// report must be two calls below the reporting function. apimachinery's logging handler skips as
// many frames to find the line to log.
func report(ctx context.Context, err error, msg string, keysAndValues ...any) {
	for _, handler := range utilruntime.ErrorHandlers {
		if !sleeps(handler) {
			handler(ctx, err, msg, keysAndValues...)
		}
	}
}

// sleeps reports whether a handler is the default one that sleeps until a millisecond after the
// last error of the process. In the goroutine of a reflector the sleep delays events. In a synctest
// bubble the last error may be decades ahead. The handler is not exported, so it is recognized by
// the name of the function that makes it.
func sleeps(handler utilruntime.ErrorHandler) bool {
	name := runtime.FuncForPC(reflect.ValueOf(handler).Pointer()).Name()
	return strings.HasPrefix(name, "k8s.io/apimachinery/pkg/util/runtime.") && strings.Contains(name, "backoffError")
}

// Name returns the key of the processed item for a log, never its contents.
func Name(processed any) string {
	switch of := processed.(type) {
	case []Record:
		return nameOfBatch(len(of), func() string { return of[0].Key })
	case []clientgo.Delta:
		return nameOfBatch(len(of), func() string { return Name(clientgo.Deltas(of[:1])) })
	case clientgo.Deltas:
		if len(of) > 0 {
			processed = of.Newest().Object
		}
	}
	key, err := clientgo.DeletionHandlingMetaNamespaceKeyFunc(processed)
	if err != nil {
		return fmt.Sprintf("an item of type %T", processed)
	}
	return fmt.Sprintf("%q", key)
}

func nameOfBatch(n int, first func() string) string {
	if n == 0 {
		return "an empty batch"
	}
	return fmt.Sprintf("a batch of %d that begins with %s", n, first())
}
