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

// Program is what a schedule is run on.
type Program struct {
	Threads []Thread
	// Check is called after the last thread has ended; nil: there is nothing to check.
	Check func() error
}

// Thread is one of a program. It may panic, which is a failure, or exit its goroutine, which is
// not.
type Thread struct {
	Name string
	Body func()
}

// Switch says who goes on at a step. Steps are counted over all threads: a step is a point, or the
// moment at which a thread ends or begins to wait.
type Switch struct {
	Step, To int
}

// An option is what else could be done at a step: the set of the threads that could go on, and
// whether somebody had to be chosen.
type option uint16

const forced option = 1 << 15

const (
	// maxThreads have a bit in an option.
	maxThreads = 15
	// maxSteps are many more than any program takes that ends.
	maxSteps = 100_000
)

var (
	errDeadlock = errors.New("deadlock: all threads wait")
	errEndless  = errors.New("the program does not end")
	errDiffers  = errors.New("the program differs from what it was by the same switches")
	errBarred   = errors.New("a mutex is barred to the thread that takes it")
	errMany     = errors.New("too many threads")
)

// run is one schedule in progress.
type run struct {
	threads  []*thread
	current  *thread
	runnable option // those that neither wait nor have ended
	awaiting int    // those that wait in Await
	living   int
	step     int
	// due are the switches that are yet to come. After the last one options are noted.
	due     []Switch
	options []option
	failure error
	over    chan struct{}
	story   *story // nil unless it is told
}

type thread struct {
	Thread
	id    int
	waits *Mutex      // or nil
	ready func() bool // what it waits for in Await; or nil
	ended bool
	wake  chan struct{}
}

// start runs a program by a schedule and returns the options that it had after the last switch.
func (r *run) start(p Program, schedule []Switch) (options []option, err error) {
	*r = run{due: schedule, options: r.options[:0], over: make(chan struct{}), story: r.story}
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

// add makes a thread. It waits until it is chosen.
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

// fail notes what went wrong. From then on points do nothing, and each thread exits when it is its
// turn.
func (r *run) fail(err error) {
	if r.failure == nil {
		r.failure = err
	}
}

// point counts a step, and lets another thread go on if the schedule says so.
func (r *run) point() {
	if r.failure != nil {
		return
	}
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

// take returns the thread of the switch that is due.
func (r *run) take() *thread {
	to := r.due[0].To
	if r.due = r.due[1:]; r.runnable&(1<<to) == 0 {
		r.fail(fmt.Errorf("%w: thread %d cannot go on at step %d", errDiffers, to, r.step))
		return r.anyLeft()
	}
	return r.threads[to]
}

// give has another thread go on, and returns when it is this one's turn again.
func (r *run) give(to *thread) {
	me := r.current
	r.story.leaves(r, "is preempted")
	r.current = to
	to.wake <- struct{}{}
	r.sleep(me)
}

// sleep waits until it is a thread's turn.
func (r *run) sleep(t *thread) {
	<-t.wake
	if r.failure != nil {
		runtime.Goexit()
	}
	r.story.enters(r)
}

// wait has another thread go on until a mutex may be free.
func (r *run) wait(m *Mutex) {
	if r.failure != nil {
		runtime.Goexit()
	}
	r.current.waits = m
	r.pause()
}

// pause has another thread go on until the current one can.
func (r *run) pause() {
	me := r.current
	r.runnable &^= 1 << me.id
	r.story.leaves(r, "waits")
	r.next()
	r.sleep(me)
}

// await has another thread go on until something may be true.
func (r *run) await(ready func() bool) {
	if r.failure != nil {
		runtime.Goexit()
	}
	r.current.ready = ready
	r.awaiting++
	r.pause()
}

// askAwaiting has all go on, each when it is its turn, for whom what they wait for is true.
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

// unlocked has all who wait for a mutex try again, each when it is its turn.
func (r *run) unlocked(m *Mutex) {
	for _, t := range r.threads {
		if t.waits == m {
			t.waits = nil
			r.runnable |= 1 << t.id
		}
	}
}

// end chooses who goes on after a thread that has ended.
func (r *run) end(t *thread) {
	t.ended = true
	r.runnable &^= 1 << t.id
	r.story.leaves(r, "ends")
	if r.living--; r.living == 0 {
		close(r.over)
		return
	}
	r.next()
}

// next chooses who goes on where the current thread cannot: the first one that can, unless the
// schedule has another one.
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
