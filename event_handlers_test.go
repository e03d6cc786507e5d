// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		seen := &testkit.Journal{}
		seen.On = func(line string) {
			if line == "initial a1" || line == "initial b1" {
				runtime.Goexit()
			}
		}
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Add(testkit.Pod("b", "1"))
		handle := b.handle(seen)
		b.start()
		b.source.Add(testkit.Pod("c", "1"))
		synctest.Wait()
		lines := seen.Take()
		require.Len(t, lines, 3)
		assert.Equal(t, "add c1", lines[2])
		require.NoError(t, cache.ShutDownEventHandler(b.informer, handle))
	})
}

func (b *bubble) addWithPeriod(handler cache.ResourceEventHandler, period time.Duration) {
	_, err := b.informer.AddEventHandlerWithResyncPeriod(handler, period)
	require.NoError(b, err)
}
