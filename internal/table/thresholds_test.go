// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// The workloads keep the structure at the sizes where it changes shape. Each
// makes one state.
var workloads = map[string]func(h *history){
	"posting of none":       func(h *history) { h.around(1, 24) },
	"posting of a few":      func(h *history) { h.around(len(h.states)/2%(leafLen-8), leafLen) },
	"posting of a leaf":     func(h *history) { h.around(leafLen, leafLen+24) },
	"posting of two leaves": func(h *history) { h.around(2*leafLen, 2*leafLen+24) },
	"posting of four":       func(h *history) { h.around(4*leafLen, 4*leafLen+24) },
	"chunk of records":      func(h *history) { h.around(slabLen-12, slabLen) },
	"hash tables that grow": (*history).grow,
	"body that shrinks":     (*history).swell,
	"replaced bodies": func(h *history) {
		if h.rng.IntN(4) == 0 {
			h.replace(h.rng.IntN(2 * leafLen))
		} else {
			h.around(leafLen, leafLen+24)
		}
	},
}

// around has one posting come and go around a number of members, in a table of
// about all objects, by one to three changes.
func (h *history) around(members, all int) {
	var ops []Op
	for range 1 + h.rng.IntN(3) {
		n := len(h.objects[0])
		switch more := n - members + h.rng.IntN(5) - 2; {
		case more < 0 && members-n > leafLen/2:
			for range members - n {
				ops = append(ops, h.put(h.newKey(), 0))
			}
		case h.rng.IntN(8) == 0 && n > 0:
			key := h.any(0) // and a draft within the draft, which nobody may see
			ops = append(ops, h.put(key, 3), h.put(key, 0))
		case more < 0:
			ops = append(ops, h.enter(all))
		case n > 0:
			ops = append(ops, h.exit(all))
		}
	}
	h.apply(ops)
}

// enter adds a member to the posting: an object from another, or a new one,
// perhaps under a key that there was.
func (h *history) enter(all int) Op {
	if key := h.any(1 + h.rng.IntN(historyValues-1)); key != "" && (len(h.live) >= all || h.rng.IntN(3) == 0) {
		return h.put(key, 0)
	}
	if key := "key-" + strconv.Itoa(1+h.rng.IntN(h.fresh+1)); h.live[key] == nil && h.rng.IntN(2) == 0 {
		return h.put(key, 0)
	}
	return h.put(h.newKey(), 0)
}

// exit takes a member out of the posting: to another one, or for good.
func (h *history) exit(all int) Op {
	if len(h.live) < all && h.rng.IntN(3) == 0 {
		return h.put(h.any(0), 1+h.rng.IntN(historyValues-1))
	}
	return h.drop(h.any(0))
}

// grow adds objects, and begins again with a few ones after a while.
func (h *history) grow() {
	if len(h.live) > 500 || h.rng.IntN(60) == 0 {
		h.replace(h.rng.IntN(4))
		return
	}
	var ops []Op
	for range 1 + h.rng.IntN(8) {
		ops = append(ops, h.put(h.newKey(), h.rng.IntN(historyValues)))
	}
	h.apply(ops)
}

// swell adds objects until there are more than sparseMin, and then removes them
// until the body shrinks.
func (h *history) swell() {
	c := h.table.core.Load()
	var ops []Op
	if h.falling = len(h.live) > sparseMin || h.falling && c.records.next > sparseMin; !h.falling {
		for range 40 {
			ops = append(ops, h.put(h.newKey(), h.rng.IntN(2)))
		}
	} else {
		for range 10 {
			ops = append(ops, h.drop(h.any(h.rng.IntN(2))))
		}
	}
	h.apply(ops)
}

// TestAnswersAtThresholds has readers make all calls while one writer keeps the
// structure at a size where it changes shape. What they were told is checked
// against the log of all states.
func TestAnswersAtThresholds(t *testing.T) {
	const readers, states, maxStates = 3, 600, 30_000
	for name, step := range workloads {
		t.Run(name, func(t *testing.T) {
			jostle(t)
			h := newHistory(uint64(len(name)))
			all, running := make([]*historian, readers), atomic.Int64{}
			running.Store(readers)
			var over atomic.Bool
			var wg sync.WaitGroup
			for i := range all {
				all[i] = &historian{history: h, rng: rand.New(rand.NewPCG(2, uint64(i))), over: &over}
				wg.Go(func() {
					for range fewer(2000) {
						all[i].read()
					}
					running.Add(-1)
				})
			}
			for i := 0; running.Load() > 0 || i < states; i++ {
				if i > maxStates {
					over.Store(true) // nobody waits for more
					runtime.Gosched()
				} else if step(h); i == states/2 {
					h.addLate(t)
				}
			}
			wg.Wait()
			for _, r := range all {
				h.check(t, r.answers)
			}
			t.Logf("%d states", len(h.states))
			requireNothingKept(t, h.table)
		})
	}
}
