// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave

import (
	"fmt"
	"runtime"
	"sync"
)

// active is the run of the schedule in progress. While there is one, only its current thread runs.
var active *run

// exploring is set while Explore or Replay is at work.
var exploring bool

// Point is where a thread of a schedule may have to wait. Outside of a schedule it does nothing.
func Point() {
	if r := active; r != nil {
		r.point()
	}
}

// Fail ends the schedule, and the calling thread, with an error.
func Fail(err error) {
	active.fail(err)
	runtime.Goexit()
}

// Mutex is sync.Mutex with points.
type Mutex struct {
	m      sync.Mutex
	barred string // the name of threads; empty: none
}

// Bar has schedules fail in which a thread of this name takes the mutex, or tries to.
func (m *Mutex) Bar(thread string) { m.barred = thread }

func (m *Mutex) Lock() {
	r := active
	if r == nil {
		m.m.Lock()
		return
	}
	for m.point(r); !m.m.TryLock(); {
		r.wait(m)
	}
}

func (m *Mutex) TryLock() bool {
	if r := active; r != nil {
		m.point(r)
	}
	return m.m.TryLock()
}

// point is one that is barred to some.
func (m *Mutex) point(r *run) {
	if r.point(); m.barred != "" && r.current.Name == m.barred {
		Fail(fmt.Errorf("%w: %s", errBarred, m.barred))
	}
}

func (m *Mutex) Unlock() {
	Point()
	m.m.Unlock()
	if r := active; r != nil {
		r.unlocked(m)
	}
}

// Await waits until ready reports true: what else the code waits for, by a channel or whatever.
// Others ask it at each of their points, so it has none itself, and changes nothing.
func Await(ready func() bool) {
	Point()
	for !ready() {
		if r := active; r != nil {
			r.await(ready)
		} else {
			runtime.Gosched()
		}
	}
}

// Go starts a goroutine: one more thread, if it is called by a thread of a schedule. Before and
// after the schedule f runs at once.
func Go(f func()) {
	switch r := active; {
	case r != nil:
		r.point()
		r.add(Thread{Name: "goroutine", Body: f})
	case exploring:
		f()
	default:
		go f()
	}
}

// Yield is a point.
func Yield() { Point() }
