// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave

import (
	"fmt"
	"runtime"
	"sync"
)

// active is the current run of a schedule, or nil. During a run only its current thread runs.
var active *run

// exploring is set during Explore and Replay.
var exploring bool

// Point is an operation at which a thread of a schedule may have to wait. Outside of a schedule it
// does nothing.
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
	barred string // name of threads; "" means none
	// brief is the number of points that a thread may pass while it holds the mutex; 0 means any. held
	// is the number that the holder had passed when it took it.
	brief, held int
}

// Bar makes each schedule fail in which a thread with this name takes the mutex, or tries to.
func (m *Mutex) Bar(thread string) { m.barred = thread }

// Brief makes each schedule fail in which a thread passes more than this number of points while it
// holds the mutex. The call of Unlock is one.
func (m *Mutex) Brief(points int) { m.brief = points }

func (m *Mutex) Lock() {
	r := active
	if r == nil {
		m.m.Lock()
		return
	}
	for m.point(r); !m.m.TryLock(); {
		r.wait(m)
	}
	m.held = r.current.points
}

func (m *Mutex) TryLock() bool {
	if r := active; r != nil {
		m.point(r)
	}
	return m.m.TryLock()
}

// point is a point that fails in a barred thread.
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
		if m.brief > 0 && r.current.points-m.held > m.brief {
			r.fail(errLong)
		}
	}
}

// Await blocks until ready returns true. It stands for all kinds of waiting other than mutexes,
// such as channels. ready is called at points of other threads, so it must have no points and no
// effects.
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

// Go starts a goroutine. In a thread of a schedule it adds a thread. Before and after the schedule
// it calls f directly.
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
