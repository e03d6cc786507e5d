// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

var everyDelivery = map[string]cache.Delivery{
	"lossless":          {},
	"lossless parallel": {Parallel: 3},
	"block":             {Overflow: cache.OverflowBlock, Max: 1000},
	"coalesce":          {Overflow: cache.OverflowCoalesce},
	"coalesce parallel": {Overflow: cache.OverflowCoalesce, Parallel: 3},
	"disconnect":        {Overflow: cache.OverflowDisconnect, Max: 1000},
}

// TestStuckHandlerHasOneResyncOutstanding: however many periods pass, the store has one snapshot
// open for it, and when it goes on it hears of all objects once more.
func TestStuckHandlerHasOneResyncOutstanding(t *testing.T) {
	for name, delivery := range everyDelivery {
		t.Run(name, func(t *testing.T) {
			inResyncedBubble(t, time.Second, func(e *exact) {
				e.source.Put(testkit.Pod("b", "1"))
				release := make(chan struct{})
				handler := &testkit.Journal{On: func(string) { <-release }}
				_, err := e.informer.AddEventHandlerWithResyncPeriod(cache.Deliver(handler, delivery), time.Second)
				require.NoError(t, err)
				synctest.Wait()
				for range 100 {
					time.Sleep(time.Second)
					e.source.Put(testkit.Pod("a", "2"))
					synctest.Wait()
				}
				stats, ok := cache.SnapshotStatsOf(e.informer)
				require.True(t, ok)
				assert.LessOrEqual(t, stats.Open, 1)
				handler.Take()
				close(release)
				synctest.Wait()
				assert.Contains(t, strings.Join(handler.Take(), "\n")+"\n", " b1\n")
			})
		})
	}
}
