// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// blockingHandler counts calls, and some of them block until it is released or, if exits is set,
// end their goroutine.
type blockingHandler struct {
	calls   int
	blocks  map[int]bool // by number of the call
	exits   bool
	release chan struct{}
}

func (h *blockingHandler) OnAdd(any, bool) {}

func (h *blockingHandler) OnDelete(any) {}

func (h *blockingHandler) OnUpdate(any, any) {
	h.calls++
	switch {
	case !h.blocks[h.calls]:
	case h.exits:
		runtime.Goexit()
	default:
		<-h.release
	}
}

// stopsAt returns the number of the call in which the handler is blocked, or of all calls.
func (h *blockingHandler) stopsAt(all int) (calls int, blocked bool) {
	for call := 1; call <= all; call++ {
		if h.blocks[call] && !h.exits {
			return call, true
		}
	}
	return all, false
}

// TestBlockedCallsHoldUpNobodyElse: whichever calls of whichever handlers block, the other handlers
// hear of everything, and there are no more goroutines than blocked calls.
func TestBlockedCallsHoldUpNobodyElse(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		inProcessorBubble(t, func(t *testing.T, p *Processor) {
			handlers := randomBlockers(random)
			for _, h := range handlers {
				p.Add(newTestListener(t, p, h), givenSnapshot(nil))
			}
			updates := 1 + random.IntN(100)
			for i := range updates {
				p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: "ns/a", Old: testkit.Pod("a", "1"), New: testkit.Pod("a", fmt.Sprint(i))}})
				if random.IntN(3) == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			stuck := 0
			for i, h := range handlers {
				calls, blocked := h.stopsAt(updates)
				assert.Equal(t, calls, h.calls, "seed %d, handler %d", seed, i)
				if blocked {
					stuck++
				}
			}
			assert.Equal(t, stuck, workersAtWork(), "seed %d", seed)
			for _, h := range handlers {
				close(h.release)
			}
			synctest.Wait()
			for i, h := range handlers {
				assert.Equal(t, updates, h.calls, "seed %d, handler %d", seed, i)
			}
			assert.Zero(t, workersAtWork(), "seed %d", seed)
		})
	}
}

// workersAtWork counts the workers of all processors that have begun.
func workersAtWork() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*pool).workOn("))
}

func randomBlockers(random *rand.Rand) []*blockingHandler {
	handlers := make([]*blockingHandler, 1+random.IntN(12))
	for i := range handlers {
		handlers[i] = &blockingHandler{blocks: map[int]bool{}, release: make(chan struct{}), exits: random.IntN(4) == 0}
		for range random.IntN(4) {
			handlers[i].blocks[1+random.IntN(100)] = true
		}
	}
	return handlers
}

// TestRemovedHandlerKeepsNoObject: neither what it was told last nor what it would have been told,
// also if the registration is kept.
func TestRemovedHandlerKeepsNoObject(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		var registrations []*Listener
		for _, handler := range []clientgo.ResourceEventHandler{nothing, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { <-release }}} {
			registrations = append(registrations, newTestListener(t, p, handler))
			p.Add(registrations[len(registrations)-1], givenSnapshot(nil))
		}
		var objects [][2]weak.Pointer[corev1.Pod]
		for range 5 {
			objects = append(objects, distributeUpdate(p))
		}
		synctest.Wait()
		assert.NotZero(t, countAlive(objects))
		for _, registration := range registrations {
			p.Remove(registration)
		}
		close(release)
		synctest.Wait()
		assert.Zero(t, countAlive(objects))
		runtime.KeepAlive(registrations)
	})
}

// TestAllHandlersMayRunAtOnce: a call may wait for the calls of all other handlers.
func TestAllHandlersMayRunAtOnce(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		const handlers = 64
		entered, all := make(chan struct{}, handlers), make(chan struct{})
		for range handlers {
			p.Add(newTestListener(t, p, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
				entered <- struct{}{}
				<-all
			}}), givenSnapshot(nil))
		}
		distributeUpdate(p)
		for range handlers {
			<-entered
		}
		close(all)
	})
}

// TestQuickHandlersShareAGoroutine: one worker makes all calls if none blocks. Workers run one at a
// time here, so that it does not matter when the scheduler takes the processor away from one.
func TestQuickHandlersShareAGoroutine(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		var callsBy []int // a worker each
		turn := make(chan struct{}, 1)
		p.pool.workFunc = func() {
			turn <- struct{}{}
			callsBy = append(callsBy, 0)
			p.pool.work()
			<-turn
		}
		for range 64 {
			p.Add(newTestListener(t, p, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
				callsBy[len(callsBy)-1]++
			}}), givenSnapshot(nil))
		}
		distributeUpdate(p)
		synctest.Wait()
		assert.Equal(t, []int{64, 0}, callsBy, "the second has come because the first might have blocked")
	})
}
