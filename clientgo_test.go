// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache"
)

// TestBorderErrorsAreTheSameValues: errors.Is finds an error of either package with the variable of the
// other.
func TestBorderErrorsAreTheSameValues(t *testing.T) {
	assert.Same(t, clientgo.ErrFIFOClosed, cache.ErrFIFOClosed)
	assert.Same(t, clientgo.ErrZeroLengthDeltasObject, cache.ErrZeroLengthDeltasObject)
}

// TestWaitForLogsItsCaller: log lines have the position of the caller, not of this package's function.
func TestWaitForLogsItsCaller(t *testing.T) {
	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))
	ctx := klog.NewContext(t.Context(), logger)

	_, _, line, _ := runtime.Caller(0)
	done := cache.WaitFor(ctx, "my-caches", doneChecker("pods"))

	assert.True(t, done)
	assert.Equal(t, 2, strings.Count(out.String(), fmt.Sprintf("clientgo_test.go:%d]", line+1)), out.String())
}

// doneChecker is a DoneChecker with this name that is done.
type doneChecker string

func (c doneChecker) Name() string { return string(c) }

func (c doneChecker) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
