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

// timers ring during any wait of a reflector. They belong to the machine's goroutine.
type timers struct {
	spawn  func(func()) // runs the goroutine of a request
	resync resyncTimer
	outage outage
	hang   hangTimer
}

func newTimers(o *Options) timers {
	return timers{spawn: o.spawn, resync: resyncTimer{options: o}, outage: outage{options: o, member: member{name: o.lostName, spread: o.spread, jitters: o.Spread > 0}}, hang: hangTimer{options: o}}
}

// await waits for a value on ch, and serves the timers meanwhile. It returns errStopped if ctx
// ended and a *resyncError if a resync failed. A value that ch receives later is left to its
// sender.
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

// reply is the result of a request: a value, an error or a panic.
type reply[T any] struct {
	value T
	err   error
	panic any
	stack []byte
}

// request calls send in a goroutine of its own and waits for it as await does, so that a send that
// ignores its context does not block the caller. send is not called after request has returned: the
// goroutine and request race to set claimed, and the loser does nothing. A late value is passed to
// discard, and a late panic is reported. A panic that arrives in time is repeated in the caller
// with its original value. Everything that arrives after the context ended is late.
func request[T any](ctx context.Context, t *timers, send func(context.Context) (T, error), discard func(T)) (T, error) {
	answers, gone := make(chan reply[T]), make(chan struct{})
	var claimed atomic.Bool // set by the goroutine before it calls send, or by request when it returns
	defer claimed.Store(true)
	defer close(gone)
	t.spawn(func() {
		if !claimed.CompareAndSwap(false, true) {
			return
		}
		got := reply[T]{err: errNoAnswer} // remains if send ends its goroutine
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

// arriveLate disposes of an answer that arrives after its request was given up. It does not panic,
// because no caller is left to recover.
func (a reply[T]) arriveLate(ctx context.Context, discard func(T)) {
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

// requestOf is request for a request of a kind, which the journal lists as pending meanwhile. After
// an error it stays pending, because Journal.failed must know whether it hung.
func requestOf[T any](ctx context.Context, t *timers, kind string, send func(context.Context) (T, error), discard func(T)) (T, error) {
	t.outage.asks()
	t.hang.asks(ctx, kind)
	value, err := request(ctx, t, send, discard)
	if err == nil {
		t.hang.asks(ctx, "")
	}
	return value, err
}
