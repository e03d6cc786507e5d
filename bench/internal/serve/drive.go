// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"time"

	"github.com/kinformer/cache/bench/internal/world"
)

// driver lets the time of a world pass. It stands at first, and whenever it is stopped.
type driver struct {
	world   *world.World
	resumed chan struct{}

	mu struct {
		sync.Mutex // also of the world, but for its shelves
		runs       bool
		start      time.Time     // when time 0 is; moves with each pause
		elapsed    time.Duration // while it stands
		late       time.Duration // the most that anything was done after its time
	}
}

func newDriver(w *world.World) *driver { return &driver{world: w, resumed: make(chan struct{}, 1)} }

// run drives until the context ends.
func (d *driver) run(ctx context.Context) {
	for {
		select {
		case <-time.After(d.advance()):
		case <-d.resumed:
		case <-ctx.Done():
			return
		}
	}
}

// advance does what is due and returns how long nothing is.
func (d *driver) advance() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.runs {
		return time.Hour
	}
	return d.advanceLocked()
}

func (d *driver) advanceLocked() time.Duration {
	for {
		next := d.world.Advance(time.Since(d.mu.start))
		wait := next - time.Since(d.mu.start)
		if wait > 0 {
			return wait
		}
		d.mu.late = max(d.mu.late, -wait)
	}
}

// resume lets time pass.
func (d *driver) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.runs {
		return
	}
	d.mu.runs, d.mu.start = true, time.Now().Add(-d.mu.elapsed)
	d.world.Epoch(d.mu.start.UnixNano())
	select {
	case d.resumed <- struct{}{}:
	default: // it is told already
	}
}

// pause stops time, after all that is due.
func (d *driver) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.runs {
		d.advanceLocked()
		d.mu.runs, d.mu.elapsed = false, time.Since(d.mu.start)
	}
}

// lateness returns the most that anything was late since it was last asked.
func (d *driver) lateness() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := d.mu.late
	d.mu.late = 0
	return late
}
