// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRemovedHandlerIsNotKept: not by a look at who is due for a resync, nor by a resync that
// another handler has to hear.
func TestRemovedHandlerIsNotKept(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		stuck := newTestListener(t, p, &testkit.Journal{On: func(string) { <-release }}, Options{Resync: time.Second, Check: time.Second})
		p.Add(stuck, givenSnapshot(nil))
		distributeUpdate(p)
		handler, listener := addToBeRemoved(t, p)
		time.Sleep(time.Second)
		require.True(t, p.ShouldResync())
		p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot([]any{testkit.Pod("a", "2")}), Resync: true}})
		p.Remove(listener.Value())
		synctest.Wait()
		runtime.GC()
		assert.Nil(t, handler.Value())
		assert.Nil(t, listener.Value())
		close(release)
	})
}

func addToBeRemoved(t *testing.T, p *Processor) (weak.Pointer[testkit.Journal], weak.Pointer[Listener]) {
	handler := &testkit.Journal{}
	listener := newTestListener(t, p, handler)
	p.Add(listener, givenSnapshot(nil))
	return weak.Make(handler), weak.Make(listener)
}
