// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestBlockHandsOutEveryPlace: with handlers that block the source, beside others that are stuck
// and come and go, the source gets on as soon as there is room for one event more.
func TestBlockHandsOutEveryPlace(t *testing.T) {
	const updates = 300
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		inProcessorBubble(t, func(t *testing.T, p *Processor) {
			stuck, release := &blockingHandler{blocks: map[int]bool{1: true}, release: make(chan struct{})}, make(chan struct{})
			p.Add(newTestListener(t, p, stuck), givenSnapshot(nil))
			var heard [6]atomic.Int64
			for i := range heard {
				slow := random.IntN(2) == 0
				handler := clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
					if n := heard[i].Add(1); n == updates/2 {
						<-release
					} else if slow {
						runtime.Gosched()
					}
				}}
				options := Options{Overflow: Block, Max: 1 + random.IntN(3), Parallel: 1 + random.IntN(2)}
				p.Add(newTestListener(t, p, handler, options), givenSnapshot(nil))
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range updates {
					for room := 0; room == 0; {
						var freed <-chan struct{}
						if room, freed = p.Room(func() int { return 0 }); room == 0 {
							<-freed
						}
					}
					key := fmt.Sprint("ns/", i%5)
					p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: key, Old: testkit.Pod("a", "1"), New: testkit.Pod("a", "2")}})
				}
			}()
			synctest.Wait()
			assert.False(t, isClosed(done), "some handlers are in a call")
			close(release)
			<-done
			synctest.Wait()
			for i := range heard {
				assert.EqualValues(t, updates, heard[i].Load(), "seed %d, handler %d", seed, i)
			}
			close(stuck.release)
		})
	}
}
