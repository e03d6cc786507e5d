// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"runtime/debug"
)

// Program is a program to be run with a schedule.
type Program struct {
	Threads []Thread
	// Check is called after the last thread has ended. It may be nil.
	Check func() error
}

// Thread is a thread of a program. It may exit its goroutine. A panic is a failure.
type Thread struct {
	Name string
	Body func()
}

// Switch is the choice of thread To at a step. Steps are counted over all threads: a step is a
// point, or a moment at which a thread ends or begins to wait.
type Switch struct {
	Step, To int
}

// option is the set of the other threads that could run at a step, with forced set if the current
// thread could not.
type option uint16

const forced option = 1 << 15

const (
	// maxThreads is the number of threads for which an option has bits.
	maxThreads = 15
	// maxSteps is far more than the steps of any program that terminates.
	maxSteps = 100_000
)

var (
	errDeadlock = errors.New("deadlock: all threads wait")
	errEndless  = errors.New("the program does not end")
	errDiffers  = errors.New("the program is not deterministic: with the same switches it differs")
	errBarred   = errors.New("a mutex is barred to the thread that takes it")
	errLong     = errors.New("a mutex is held for too long")
	errMany     = errors.New("too many threads")
)

// run is the execution of one schedule.
type run struct {
	threads  []*thread
	current  *thread
	runnable option // threads that neither wait nor have ended
	awaiting int    // number of threads in Await
	living   int
	step     int
	// due are the remaining switches. After the last one, options are recorded.
	due     []Switch
	options []option
	failure error
	over    chan struct{}
	trace   *trace // nil unless the schedule is traced
}

type thread struct {
	Thread
	id    int
	waits *Mutex      // the mutex that it waits for, or nil
	ready func() bool // the condition that it waits for in Await, or nil
	ended bool
	// points is the number of points that it has passed.
	points int
	wake   chan struct{}
}

// start runs a program with a schedule and returns the options after the last switch.
func (r *run) start(p Program, schedule []Switch) (options []option, err error) {
	*r = run{due: schedule, options: r.options[:0], over: make(chan struct{}), trace: r.trace}
	for _, t := range p.Threads {
		r.add(t)
	}
	active = r
	r.next()
	<-r.over
	active = nil
	if r.failure == nil && len(r.due) > 0 {
		r.failure = fmt.Errorf("%w: no step %d", errDiffers, r.due[0].Step)
	}
	if r.failure == nil && p.Check != nil {
		r.failure = p.Check()
	}
	return r.options, r.failure
}

// add creates a thread, which waits until it is chosen.
func (r *run) add(of Thread) {
	t := &thread{Thread: of, id: len(r.threads), wake: make(chan struct{}, 1)}
	if t.id == maxThreads {
		r.fail(errMany)
		return
	}
	r.threads = append(r.threads, t)
	r.runnable |= 1 << t.id
	r.living++
	go t.run(r)
}

func (t *thread) run(r *run) {
	defer r.end(t)
	defer func() {
		if p := recover(); p != nil {
			r.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	r.sleep(t)
	t.Body()
}

// fail records an error. From then on points do nothing, and each thread exits when it is chosen.
func (r *run) fail(err error) {
	if r.failure == nil {
		r.failure = err
	}
}

// point counts a step, and switches to another thread if the schedule says so.
func (r *run) point() {
	if r.failure != nil {
		return
	}
	r.current.points++
	if r.step++; r.step > maxSteps {
		r.fail(errEndless)
		runtime.Goexit()
	}
	r.askAwaiting()
	if len(r.due) == 0 {
		r.options = append(r.options, r.runnable&^(1<<r.current.id))
	} else if r.due[0].Step == r.step {
		r.give(r.take())
	}
}

// take removes the switch that is due and returns its thread.
func (r *run) take() *thread {
	to := r.due[0].To
	if r.due = r.due[1:]; r.runnable&(1<<to) == 0 {
		r.fail(fmt.Errorf("%w: thread %d cannot go on at step %d", errDiffers, to, r.step))
		return r.anyLeft()
	}
	return r.threads[to]
}

// give switches to another thread, and returns when the current one is chosen again.
func (r *run) give(to *thread) {
	me := r.current
	r.trace.leaves(r, "is preempted")
	r.current = to
	to.wake <- struct{}{}
	r.sleep(me)
}

// sleep blocks until a thread is chosen.
func (r *run) sleep(t *thread) {
	<-t.wake
	if r.failure != nil {
		runtime.Goexit()
	}
	r.trace.enters(r)
}

// wait switches to another thread until a mutex may be free.
func (r *run) wait(m *Mutex) {
	if r.failure != nil {
		runtime.Goexit()
	}
	r.current.waits = m
	r.pause()
}

// pause switches to another thread until the current one is chosen again.
func (r *run) pause() {
	me := r.current
	r.runnable &^= 1 << me.id
	r.trace.leaves(r, "waits")
	r.next()
	r.sleep(me)
}

// await switches to another thread until a condition may be true.
func (r *run) await(ready func() bool) {
	if r.failure != nil {
		runtime.Goexit()
	}
	r.current.ready = ready
	r.awaiting++
	r.pause()
}

// askAwaiting makes the threads runnable whose conditions are true.
func (r *run) askAwaiting() {
	if r.awaiting == 0 {
		return
	}
	for _, t := range r.threads {
		if t.ready != nil && t.ready() {
			t.ready = nil
			r.awaiting--
			r.runnable |= 1 << t.id
		}
	}
}

// unlocked makes the threads runnable that wait for a mutex.
func (r *run) unlocked(m *Mutex) {
	for _, t := range r.threads {
		if t.waits == m {
			t.waits = nil
			r.runnable |= 1 << t.id
		}
	}
}

// end chooses the thread that runs after one has ended.
func (r *run) end(t *thread) {
	t.ended = true
	r.runnable &^= 1 << t.id
	r.trace.leaves(r, "ends")
	if r.living--; r.living == 0 {
		close(r.over)
		return
	}
	r.next()
}

// next chooses a thread when the current one cannot run: that of the schedule, or the first
// runnable one.
func (r *run) next() {
	r.askAwaiting()
	if r.step++; r.runnable == 0 {
		r.fail(errDeadlock)
	}
	if r.failure != nil {
		r.choose(r.anyLeft())
		return
	}
	first := r.threads[bits.TrailingZeros16(uint16(r.runnable))]
	if len(r.due) == 0 {
		r.options = append(r.options, forced|r.runnable&^(1<<first.id))
	} else if r.due[0].Step == r.step {
		first = r.take()
	}
	r.choose(first)
}

func (r *run) choose(t *thread) {
	r.current = t
	t.wake <- struct{}{}
}

// anyLeft returns a thread that has not ended.
func (r *run) anyLeft() *thread {
	for _, t := range r.threads {
		if !t.ended {
			return t
		}
	}
	panic("all have ended")
}
