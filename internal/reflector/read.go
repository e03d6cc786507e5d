// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	goruntime "runtime"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// follow hands the changes of s to take until take returns true; then it returns nil and s is still open. Otherwise
// the error tells why it ended: errStopped, errClosed, errSilent, a *resyncError, a *VeryShortWatchError, or what the
// server said. Events that make no sense are reported and left out. A nil quiet lets a stream be silent for ever, as does one that says so; its error is errSilent or errIdle.
func (r *round) follow(ctx context.Context, s *stream, quiet *silence, take func(context.Context, watchChange) bool) error {
	for {
		events, freed := r.readable(s)
		select {
		case <-ctx.Done():
			return errStopped
		case <-freed:
			quiet.restart(s) // a pause of ours is no silence of the server
		case <-r.resync.C():
			if err := r.resync.fire(ctx); err != nil {
				return err
			}
		case <-r.outage.C():
			r.outage.ring(ctx)
		case <-quiet.C():
			if freed != nil {
				quiet.restart(s)
			} else if err := quiet.check(ctx, s); err != nil {
				return err
			}
		case first, open := <-events:
			now := r.Clock.Now()
			r.Report.event(now)
			s.beginBatch(now)
			done, err := r.drain(ctx, s, first, open, take)
			if done || err != nil {
				return err
			}
		}
	}
}

// closing is the error of a stream that the server closed.
func (r *round) closing(s *stream) error {
	if s.understood == 0 && r.Clock.Since(s.since) < veryShortWatch {
		return &clientgo.VeryShortWatchError{Name: r.Name}
	}
	return errClosed
}

// drain handles an event and all that the channel holds behind it, as far as the sink has room, up to BatchLimit, then hands
// the changes over. done and err are those of receive.
func (r *round) drain(ctx context.Context, s *stream, first watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	limit, _ := r.room(s) // which may be less than when the event was waited for
	for n, next := 1, first; ; n++ {
		done, err = r.receive(ctx, s, next, open, take)
		if done || err != nil || n >= min(limit, event.BatchLimit) {
			break
		}
		var ready bool
		if next, open, ready = poll(s.events, s.busy); !ready {
			break
		}
	}
	r.handOver(ctx)
	return done, err
}

// room returns how many changes of s there is room for. A stage takes any number.
func (r *round) room(s *stream) (limit int, freed <-chan struct{}) {
	if s.staged {
		return event.BatchLimit, nil
	}
	return r.Sink.Room()
}

// readable returns the channel to read from. If the sink has no room, that is nil, and freed is closed when it is worth
// looking again; the stream's silence then says nothing about the server.
func (r *round) readable(s *stream) (events <-chan watch.Event, freed <-chan struct{}) {
	if _, freed = r.room(s); freed != nil {
		return nil, freed
	}
	return s.events, nil
}

// poll reads an event if there is one. Of a busy stream it looks twice before it takes the channel for empty, and lets other
// goroutines run in between: whoever sends on a channel without slots needs that to send again. A lone event does not wait
// for that: it would be 2 us of the 16 that it takes to the handlers.
func poll(events <-chan watch.Event, busy bool) (got watch.Event, open, ready bool) {
	select {
	case got, open = <-events:
		return got, open, true
	default:
	}
	if !busy {
		return watch.Event{}, true, false
	}
	goruntime.Gosched()
	select {
	case got, open = <-events:
		return got, open, true
	default:
		return watch.Event{}, true, false
	}
}

// receive hands the change that an event means to take, and returns what take does. The error tells that the stream has
// ended. Events that make no sense are reported and left out.
func (r *round) receive(ctx context.Context, s *stream, got watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	if !open {
		return false, r.closing(s)
	}
	if got.Type == watch.Error {
		return false, errorOf(got.Object)
	}
	s.received++
	c, err := r.expects.vet(got)
	if err != nil {
		r.Report.dropped(1, err)
		utilruntime.HandleErrorWithContext(ctx, err, "Watch event dropped", "reflector", r.Name, "type", r.TypeDescription, "event", got.Type)
		return false, nil
	}
	s.understood++
	return take(ctx, c), nil
}

// handOver gives the sink what was collected and advances the position. What the sink refuses is reported and costs that
// change only.
func (r *round) handOver(ctx context.Context) {
	b := &r.collected
	if len(b.records) > 0 {
		for _, refused := range r.Sink.Put(b.records) {
			r.reportRefused(ctx, refused.Err, refused.Type, refused.Object)
		}
		b.records = b.records[:0]
	}
	if b.moves {
		r.position.advance(b.version)
		b.moves = false
	}
}

// reportRefused reports a change that the sink could not take.
func (r *round) reportRefused(ctx context.Context, err error, kind, obj any) {
	accessor, _ := meta.Accessor(obj) // without metadata the log names no object
	utilruntime.HandleErrorWithContext(ctx, event.Discreet(err), "Unable to write a watch event to the store", "reflector", r.Name,
		"type", r.TypeDescription, "event", kind, "object", klog.KObj(accessor))
}
