// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCallTimes(t *testing.T) {
	var times callTimes
	times.add(1, time.Microsecond)
	times.add(32, 80*time.Microsecond)
	times.add(10, 5*time.Millisecond) // one of the quick calls was not
	times.add(1, time.Hour)
	assert.Equal(t, [callTimeBuckets]uint64{0: 1 + 32 + 9, 2: 1, 6: 1}, times.Histogram)
	assert.Equal(t, uint64(44), times.Calls)
	assert.Equal(t, time.Hour, times.Longest)
}
