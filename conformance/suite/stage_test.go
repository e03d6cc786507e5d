// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// stage is what an informer case works with: one implementation, a source, and whatever it runs.
type stage struct {
	impl   implementation
	source *source
	runs   []*running
}

// running is a Run call on its way.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// shared makes a pod informer over the source.
func (s *stage) shared(opts cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return s.impl.informers.shared(s.source, &corev1.Pod{}, opts)
}

// start calls RunWithContext in a goroutine and waits until nothing moves any more.
func (s *stage) start(runner interface{ RunWithContext(context.Context) }) *running {
	return s.startWith(context.Background(), runner)
}

func (s *stage) startWith(ctx context.Context, runner interface{ RunWithContext(context.Context) }) *running {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{cancel: cancel, done: make(chan struct{})}
	s.runs = append(s.runs, r)
	go func() {
		defer close(r.done)
		runner.RunWithContext(ctx)
	}()
	synctest.Wait()
	return r
}

// stop cancels the run and waits for it to return.
func (r *running) stop() {
	r.cancel(nil)
	<-r.done
}

// returned says whether Run has returned.
func (r *running) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// close stops everything that the case started.
func (s *stage) close() {
	for _, r := range s.runs {
		r.stop()
	}
}

// settle waits until nothing moves; time stands still meanwhile.
func settle() { synctest.Wait() }

// pass lets fake time go by and settles.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// elapsed is the fake time that f takes.
func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// recorder is a handler that writes down its notifications, each as one short line:
//
//	add a@11 initial    add a@11    update a@11 a@12    delete a@13    delete gone(a@12)
//
// hook, when set, runs inside the callback after the line was written.
type recorder struct {
	mu struct {
		sync.Mutex
		lines []string
		when  []time.Time
		raw   []any
	}
	hook func(line string)
}

func (r *recorder) note(obj any, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.mu.lines = append(r.mu.lines, line)
	r.mu.when = append(r.mu.when, time.Now())
	r.mu.raw = append(r.mu.raw, obj)
	r.mu.Unlock()
	if r.hook != nil {
		r.hook(line)
	}
}

// OnAdd implements ResourceEventHandler.
func (r *recorder) OnAdd(obj any, initial bool) {
	if initial {
		r.note(obj, "add %s initial", label(obj))
		return
	}
	r.note(obj, "add %s", label(obj))
}

// OnUpdate implements ResourceEventHandler.
func (r *recorder) OnUpdate(old, obj any) { r.note(obj, "update %s %s", label(old), label(obj)) }

// OnDelete implements ResourceEventHandler.
func (r *recorder) OnDelete(obj any) { r.note(obj, "delete %s", label(obj)) }

// take returns the lines since the last take, never nil.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]string{}, r.mu.lines...)
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// takeRaw returns the objects of the notifications since the last take.
func (r *recorder) takeRaw() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.mu.raw
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// times returns when each notification since the last take came, counted from start.
func (r *recorder) times(start time.Time) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []time.Duration{}
	for _, t := range r.mu.when {
		out = append(out, t.Sub(start))
	}
	r.mu.lines, r.mu.when, r.mu.raw = nil, nil, nil
	return out
}

// add registers the handler with the informer's default resync period.
func add(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	t.Helper()
	handle, err := informer.AddEventHandler(handler)
	require.NoError(t, err)
	return handle
}

// addEvery registers the handler with a resync period of its own.
func addEvery(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler, period time.Duration) cache.ResourceEventHandlerRegistration {
	t.Helper()
	handle, err := informer.AddEventHandlerWithResyncPeriod(handler, period)
	require.NoError(t, err)
	return handle
}

// gate blocks whoever passes until it is opened. It belongs to the bubble that made it.
type gate chan struct{}

func newGate() gate { return make(chan struct{}) }

func (g gate) pass() { <-g }
func (g gate) open() { close(g) }
