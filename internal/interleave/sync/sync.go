// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync replaces the standard library's in code run by package interleave. Its mutexes and
// wait groups have points.
package sync

import (
	"sync"

	"github.com/kinformer/cache/internal/interleave"
)

type (
	// Mutex is interleave.Mutex.
	Mutex = interleave.Mutex
	// Pool is sync.Pool. With one processor and without garbage collection, Get returns the value
	// that was put last.
	Pool = sync.Pool
)

// WaitGroup is sync.WaitGroup with points.
type WaitGroup struct {
	running, waiting int
}

// Add adds n to the number of running goroutines. It panics when the standard library's may: also
// if it adds to zero while a goroutine waits.
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

// Running returns the number of running goroutines.
func (g *WaitGroup) Running() int { return g.running }
