// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// TestLimitQueue: only queues of package cache are accepted.
func TestLimitQueue(t *testing.T) {
	own := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
	type users struct{ *cache.RealFIFO }
	for _, queue := range []cache.Queue{own, users{own}, cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})} {
		require.NoError(t, kinformer.LimitQueue(queue, 3))
		known, err := inspect.QueueOf(queue)
		require.NoError(t, err)
		assert.Equal(t, 3, known.Limit)
	}
	assert.ErrorIs(t, kinformer.LimitQueue(struct{ cache.Queue }{own}, 3), inspect.ErrForeign, "it may be anything")
	assert.ErrorIs(t, kinformer.LimitQueue(nil, 3), inspect.ErrForeign)
}
