// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRemovedHandlerIsNotKept: not by a look at who is due for a resync, nor by a resync that another handler has to hear.
func TestRemovedHandlerIsNotKept(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		release := make(chan struct{})
		stuck := newTestListener(t, p, &journal{on: func(string) { <-release }}, listenerOptions{resync: time.Second, check: time.Second})
		p.add(stuck, givenSnapshot(nil))
		distributeUpdate(p)
		handler, listener := addToBeRemoved(t, p)
		time.Sleep(time.Second)
		require.True(t, p.shouldResync())
		p.distribute([]change{{kind: changeUpdate, many: givenSnapshot([]any{pod("a", "2")}), resync: true}})
		p.remove(listener.Value())
		synctest.Wait()
		runtime.GC()
		assert.Nil(t, handler.Value())
		assert.Nil(t, listener.Value())
		close(release)
	})
}

func addToBeRemoved(t *testing.T, p *sharedProcessor) (weak.Pointer[journal], weak.Pointer[processorListener]) {
	handler := &journal{}
	listener := newTestListener(t, p, handler)
	p.add(listener, givenSnapshot(nil))
	return weak.Make(handler), weak.Make(listener)
}
