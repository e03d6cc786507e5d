// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"sync/atomic"
	"time"
)

// vigilStep is how often it is looked for stuck handlers while the watch is not read.
const vigilStep = 5 * time.Second

// vigil looks for stuck handlers while one of them holds up the watch: then nothing comes with
// which the processor would.
type vigil struct {
	look func()
	held atomic.Bool // written with the lock
	mu   struct {
		sync.Mutex
		timer *time.Timer // nil until the watch was held up
		over  bool
	}
}

// note is called by the reader of the watch when that is held up, or no more.
func (v *vigil) note(held bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch v.held.Store(held); {
	case v.mu.over:
	case v.mu.timer == nil:
		v.mu.timer = time.AfterFunc(vigilStep, v.ring)
	case held:
		v.mu.timer.Reset(vigilStep)
	default:
		v.mu.timer.Stop()
	}
}

// ring looks, and lets the timer ring again. It holds the lock meanwhile, so that nobody looks who
// has ended.
func (v *vigil) ring() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held.Load() && !v.mu.over {
		v.look()
		v.mu.timer.Reset(vigilStep)
	}
}

// end returns when the timer rings no more.
func (v *vigil) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.over = true; v.mu.timer != nil {
		v.mu.timer.Stop()
	}
}
