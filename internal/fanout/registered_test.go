// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRegisteredListeners: whoever comes and goes, those are registered that were added and not
// removed.
func TestRegisteredListeners(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		registered := map[*Listener]bool{}
		for range 300 {
			listener := newTestListener(t, p, nothing)
			assert.False(t, p.Has(listener))
			p.Remove(listener)
			p.Add(listener, givenSnapshot(nil))
			registered[listener] = true
			for removed := range registered {
				if random.IntN(3) > 0 {
					break
				}
				p.Remove(removed)
				p.Remove(removed)
				delete(registered, removed)
				assert.False(t, p.Has(removed))
			}
			assert.Equal(t, len(registered), p.Count())
		}
		for listener := range registered {
			assert.True(t, p.Has(listener))
		}
	})
}

// TestListenersOfAnother: a processor may be asked for the listener of another one, whatever that
// does meanwhile, and to remove it, and does nothing.
func TestListenersOfAnother(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		p.Add(newTestListener(t, p, nothing), givenSnapshot(nil))
		askForForeign(t, p)
		assert.Equal(t, 1, p.Count())
	})
}

func askForForeign(t *testing.T, p *Processor) {
	other := NewProcessor(neverSynced{}, p.clock)
	defer other.Stop()
	foreign := newTestListener(t, other, nothing)
	var done sync.WaitGroup
	done.Go(func() {
		for range 100 {
			assert.False(t, p.Has(foreign))
			p.Remove(foreign)
		}
	})
	for range 100 {
		other.Add(newTestListener(t, other, nothing), givenSnapshot(nil))
	}
	other.Add(foreign, givenSnapshot(nil))
	done.Wait()
	assert.True(t, other.Has(foreign))
}
