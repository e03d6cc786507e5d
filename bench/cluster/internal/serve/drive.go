// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// driver lets the time of a world pass. It stands at first, and whenever it is stopped.
type driver struct {
	world  *world.World
	orders chan func()

	runs    bool
	start   time.Time     // when time 0 is; moves with each pause
	elapsed time.Duration // while it stands
	late    time.Duration // the most that anything was done after its time
}

func newDriver(w *world.World) *driver { return &driver{world: w, orders: make(chan func())} }

// run drives until the context ends.
func (d *driver) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d.runs {
			timer.Reset(d.advance())
		}
		select {
		case <-timer.C:
		case order := <-d.orders:
			order()
		case <-ctx.Done():
			return
		}
	}
}

// advance does what is due and returns how long nothing is.
func (d *driver) advance() time.Duration {
	for {
		now := time.Since(d.start)
		next := d.world.Advance(now)
		if wait := next - time.Since(d.start); wait > 0 {
			return wait
		} else if d.late < -wait {
			d.late = -wait
		}
	}
}

// do has something done by the goroutine that drives.
func (d *driver) do(ctx context.Context, order func()) error {
	done := make(chan struct{})
	select {
	case d.orders <- func() { order(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resume lets time pass.
func (d *driver) resume() {
	if !d.runs {
		d.runs, d.start = true, time.Now().Add(-d.elapsed)
		d.world.Epoch(d.start.UnixNano())
	}
}

// pause stops time, after all that is due.
func (d *driver) pause() {
	if d.runs {
		d.advance()
		d.runs, d.elapsed = false, time.Since(d.start)
	}
}
