// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

var everyDelivery = map[string]Delivery{
	"lossless":          {},
	"lossless parallel": {Parallel: 3},
	"block":             {Overflow: OverflowBlock, Max: 1000},
	"coalesce":          {Overflow: OverflowCoalesce},
	"coalesce parallel": {Overflow: OverflowCoalesce, Parallel: 3},
	"disconnect":        {Overflow: OverflowDisconnect, Max: 1000},
}

// TestStuckHandlerHasOneResyncOutstanding: however many periods pass, the store has one snapshot open for it, and when it goes
// on it hears of all objects once more.
func TestStuckHandlerHasOneResyncOutstanding(t *testing.T) {
	for name, delivery := range everyDelivery {
		t.Run(name, func(t *testing.T) {
			inExactBubble(t, func(e *exact) {
				e.informer.life.resyncCheckPeriod = time.Second
				e.source.Put(testkit.Pod("b", "1"))
				release := make(chan struct{})
				handler := &testkit.Journal{On: func(string) { <-release }}
				_, err := e.informer.AddEventHandlerWithResyncPeriod(Deliver(handler, delivery), time.Second)
				require.NoError(t, err)
				synctest.Wait()
				for range 100 {
					resyncAll(e)
					e.source.Put(testkit.Pod("a", "2"))
					synctest.Wait()
				}
				stats, ok := SnapshotStatsOf(e.informer.store)
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

// resyncAll is what a reflector does when a period has passed.
func resyncAll(e *exact) {
	time.Sleep(time.Second)
	if e.informer.processor.ShouldResync() {
		require.NoError(e, e.informer.pipeline.handle([]event.Record{{Type: SyncAll}}, false))
	}
}
