// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// timers are what rings during any wait of a reflector. They belong to the machine's goroutine.
type timers struct {
	spawn  func(func()) // for requests, during which they ring
	resync resyncTimer
	outage outage
	hang   hangTimer
}

func newTimers(o *Options) timers {
	return timers{spawn: o.spawn, resync: resyncTimer{options: o}, outage: outage{options: o, member: member{name: o.Name, spread: o.spread}}, hang: hangTimer{options: o}}
}

// await waits for a value on ch and serves the resync timer, and those of an outage and of what
// hangs, meanwhile. It returns errStopped when ctx ended and a *resyncError when a resync failed;
// what ch delivers later is then the business of its sender.
func await[T any](ctx context.Context, t *timers, ch <-chan T) (T, error) {
	var none T
	for {
		select {
		case <-ctx.Done():
			return none, errStopped
		case <-t.resync.alarm.rings:
			if err := t.resync.fire(ctx); err != nil {
				return none, err
			}
		case <-t.outage.alarm.rings:
			t.outage.ring(ctx)
		case <-t.hang.alarm.rings:
			t.hang.look(ctx)
		case value := <-ch:
			return value, nil
		}
	}
}

// answer is what a request came back with: a value, an error or a panic.
type answer[T any] struct {
	value T
	err   error
	panic any
	stack []byte
}

// request calls send in a goroutine of its own and waits for it as await does, so that a send that
// ignores its context holds up nobody. No call begins after request has returned: the goroutine
// claims its call, from when on it counts as begun, or there is none. An answer that nobody waits
// for any more is handed to discard if it is a value, and reported if it is a panic. A panic that
// is waited for goes on in the caller with its original value. Whatever else comes after the
// context ended is late, too.
func request[T any](ctx context.Context, t *timers, send func(context.Context) (T, error), discard func(T)) (T, error) {
	answers, gone := make(chan answer[T]), make(chan struct{})
	var claimed atomic.Bool // by the goroutine before it calls send, or by request when it returns: the first one has it
	defer claimed.Store(true)
	defer close(gone)
	t.spawn(func() {
		if !claimed.CompareAndSwap(false, true) {
			return
		}
		got := answer[T]{err: errNoAnswer} // stays if send ends its goroutine
		defer func() {
			if p := recover(); p != nil {
				got.panic, got.stack = p, debug.Stack()
			}
			select {
			case answers <- got:
			case <-gone:
				got.arriveLate(ctx, discard)
			}
		}()
		got.value, got.err = send(ctx)
	})

	var none T
	got, err := await(ctx, t, answers)
	if err != nil {
		return none, err
	}
	if got.panic != nil {
		klog.FromContext(ctx).Error(nil, "The ListerWatcher panicked", "reflector", t.resync.options.Name, "panic", got.panic, "stack", string(got.stack))
		panic(got.panic)
	}
	if ctx.Err() != nil {
		got.arriveLate(ctx, discard)
		return none, errStopped
	}
	return got.value, got.err
}

// arriveLate does what is left to do with an answer that nobody waits for. It does not panic: there
// is nobody to throw it at.
func (a answer[T]) arriveLate(ctx context.Context, discard func(T)) {
	report := func(p any, stack []byte) {
		event.Report(ctx, fmt.Errorf("panic: %v", p), "The ListerWatcher panicked after its request was given up",
			"stack", string(stack))
	}
	switch {
	case a.panic != nil:
		report(a.panic, a.stack)
	case a.err == nil:
		defer func() {
			if p := recover(); p != nil {
				report(p, debug.Stack())
			}
		}()
		discard(a.value)
	}
}

// requestOf is request for one of a kind, which is in hand meanwhile. After an error it stays so:
// Journal.failed has to know whether it hung.
func requestOf[T any](ctx context.Context, t *timers, kind string, send func(context.Context) (T, error), discard func(T)) (T, error) {
	t.outage.asks()
	t.hang.asks(ctx, kind)
	value, err := request(ctx, t, send, discard)
	if err == nil {
		t.hang.asks(ctx, "")
	}
	return value, err
}
