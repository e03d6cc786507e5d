// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
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

// addNamed registers a handler of that name.
func addNamed(p *Processor, name string, handler clientgo.ResourceEventHandler, known ...any) *Listener {
	listener := p.NewListener(handler, Options{Name: name, Logger: klog.Background()})
	p.Add(listener, givenSnapshot(known))
	return listener
}

// TestCalled: handlers are named that were called, or are in their first call, those included that
// were removed since, and no others.
func TestCalled(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		addNamed(p, "called", nothing)
		addNamed(p, "stuck", clientgo.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
		removed := addNamed(p, "removed", nothing)
		assert.Empty(t, p.Called(), "nothing has come")
		p.Distribute([]event.Change{{Kind: event.ChangeAdd, Key: "ns/a", New: testkit.Pod("a", "1")}})
		synctest.Wait()
		p.Remove(removed)
		addNamed(p, "late", nothing)
		p.Remove(addNamed(p, "in vain", nothing))
		assert.Equal(t, []string{"called", "removed", "stuck"}, p.Called())
		close(release)
		p.Stop()
		assert.Equal(t, []string{"called", "removed", "stuck"}, p.Called())
	})
}

// TestFewFormerHandlersAreNamed: of those that are gone the last ones, each name once.
func TestFewFormerHandlersAreNamed(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		var names []string
		for i := range 3 * mostFormer {
			names = append(names, fmt.Sprintf("%04d", i))
			for range 2 {
				listener := addNamed(p, names[i], nothing, testkit.Pod("a", "1"))
				synctest.Wait()
				p.Remove(listener)
			}
		}
		assert.Equal(t, names[2*mostFormer:], p.Called())
	})
}
