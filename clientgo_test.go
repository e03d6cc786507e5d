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
	"github.com/stretchr/testify/require"
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
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})
	require.NoError(t, queue.Replace(nil, "1"))

	_, _, line, _ := runtime.Caller(0)
	done := cache.WaitFor(ctx, "my-caches", queue.HasSyncedChecker())

	assert.True(t, done)
	assert.Equal(t, 2, strings.Count(out.String(), fmt.Sprintf("clientgo_test.go:%d]", line+1)), out.String())
}
