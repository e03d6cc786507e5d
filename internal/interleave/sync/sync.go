// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync stands for the standard library's in code that package interleave runs: its mutexes
// have points, and so do its wait groups.
package sync

import (
	"sync"

	"github.com/kinformer/cache/internal/interleave"
)

type (
	// Mutex is interleave's.
	Mutex = interleave.Mutex
	// Pool is sync.Pool. As one processor is used and no garbage is collected it returns what was
	// put into it last.
	Pool = sync.Pool
	// Map and Once are sync's, without points: no schedule is about them.
	Map  = sync.Map
	Once = sync.Once
)

// WaitGroup is sync.WaitGroup with points.
type WaitGroup struct {
	running, waiting int
}

// Add adds to how many are running. It panics where the standard library's may: also for one that
// is added to none while somebody waits.
func (g *WaitGroup) Add(n int) {
	interleave.Point()
	if g.running == 0 && g.waiting > 0 || g.running+n < 0 {
		panic("sync: WaitGroup misuse")
	}
	g.running += n
}

func (g *WaitGroup) Done() { g.Add(-1) }

func (g *WaitGroup) Wait() {
	g.waiting++
	defer func() { g.waiting-- }()
	interleave.Await(func() bool { return g.running == 0 })
}

func (g *WaitGroup) Go(f func()) {
	g.Add(1)
	interleave.Go(func() {
		defer g.Done()
		f()
	})
}

// Running is how many have not ended.
func (g *WaitGroup) Running() int { return g.running }
