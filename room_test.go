// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRoomSeesWhatIsDistributedMeanwhile: notifications that are distributed between the two looks of room, at what the
// handler has and at what is on its way, are not overlooked by both.
func TestRoomSeesWhatIsDistributedMeanwhile(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		release := make(chan struct{})
		defer close(release)
		handler := &journal{on: func(string) { <-release }}
		p.add(newTestListener(t, p, handler, listenerOptions{overflow: block, max: 4}), givenSnapshot(nil))
		onTheWay := 3
		room, freed := p.room(func() int {
			for ; onTheWay > 0; onTheWay-- {
				p.distribute([]change{{kind: changeAdd, key: "ns/b", new: pod("b", "1")}})
			}
			return onTheWay
		})
		assert.Nil(t, freed)
		assert.Equal(t, 1, room)
	})
}
