// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRoomSeesWhatIsDistributedMeanwhile: notifications that are distributed between the two looks
// of room, at what the handler has and at what is on its way, are not overlooked by both.
func TestRoomSeesWhatIsDistributedMeanwhile(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		defer close(release)
		handler := &testkit.Journal{On: func(string) { <-release }}
		p.Add(newTestListener(t, p, handler, Options{Overflow: Block, Max: 4}), givenSnapshot(nil))
		onTheWay := 3
		room, freed := p.Room(func() int {
			for ; onTheWay > 0; onTheWay-- {
				p.Distribute([]event.Change{{Kind: event.ChangeAdd, Key: "ns/b", New: testkit.Pod("b", "1")}})
			}
			return onTheWay
		})
		assert.Nil(t, freed)
		assert.Equal(t, 1, room)
	})
}
