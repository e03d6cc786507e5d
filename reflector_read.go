// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	goruntime "runtime"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// watchChange is a watch event that passed all checks: Added, Modified, Deleted or Bookmark, with an object that has
// metadata.
type watchChange struct {
	kind watch.EventType
	obj  runtime.Object
	meta metav1.Object
}

// endsInitialEvents tells that the change is the mark at the end of a watch-list.
func (c watchChange) endsInitialEvents() bool {
	return c.kind == watch.Bookmark && c.meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// follow hands the changes of s to take until take returns true; then it returns nil and s is still open. Otherwise
// the error tells why it ended: errStopped, errClosed, errSilent, a *resyncError, a *VeryShortWatchError, or what the
// server said. Events that make no sense are reported and left out. A nil quiet lets a stream be silent for ever, as does one that says so; its error is errSilent or errIdle.
func (m *machine) follow(ctx context.Context, s *stream, quiet *silence, take func(context.Context, watchChange) bool) error {
	for {
		events, freed := m.readable(s)
		select {
		case <-ctx.Done():
			return errStopped
		case <-freed:
			quiet.restart(s) // a pause of ours is no silence of the server
		case <-m.resync.C():
			if err := m.resync.fire(ctx); err != nil {
				return err
			}
		case <-m.outage.C():
			m.outage.ring(ctx)
		case <-quiet.C():
			if freed != nil {
				quiet.restart(s)
			} else if err := quiet.check(ctx, s); err != nil {
				return err
			}
		case first, open := <-events:
			now := m.r.clock.Now()
			m.r.report.event(now)
			s.beginBatch(now)
			done, err := m.drain(ctx, s, first, open, take)
			if done || err != nil {
				return err
			}
		}
	}
}

// closing is the error of a stream that the server closed.
func (m *machine) closing(s *stream) error {
	if s.understood == 0 && m.r.clock.Since(s.since) < veryShortWatch {
		return &VeryShortWatchError{Name: m.r.name}
	}
	return errClosed
}

// vet makes a change of an event, or says why it is none.
func (e expectation) vet(got watch.Event) (watchChange, error) {
	obj := got.Object
	if err := e.admit(obj); err != nil {
		return watchChange{}, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return watchChange{}, fmt.Errorf("object of type %T has no metadata: %w", obj, err)
	}
	switch got.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return watchChange{kind: got.Type, obj: obj, meta: accessor}, e.admitNamespace(accessor)
	case watch.Bookmark: // which is of no namespace
		return watchChange{kind: got.Type, obj: obj, meta: accessor}, nil
	default:
		return watchChange{}, fmt.Errorf("unknown type of event for %v", klog.KObj(accessor))
	}
}

// drainLimit bounds what is read before it is handed over: the first event of a batch waits for the others. At 256 the cost
// of handing over, a lock and perhaps a wake-up, is a few nanoseconds an event; larger batches gain nothing more.
const drainLimit = 256

// drain handles an event and all that the channel holds behind it, as far as the sink has room, up to drainLimit, then hands
// the changes over. done and err are those of receive.
func (m *machine) drain(ctx context.Context, s *stream, first watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	limit, _ := m.room() // which may be less than when the event was waited for
	for n, next := 1, first; ; n++ {
		done, err = m.receive(ctx, s, next, open, take)
		if done || err != nil || n >= min(limit, drainLimit) {
			break
		}
		var ready bool
		if next, open, ready = poll(s.events, s.busy); !ready {
			break
		}
	}
	m.handOver(ctx)
	return done, err
}

// room is what the sink has room for. What streaming collects does not go to the sink yet.
func (m *machine) room() (limit int, freed <-chan struct{}) {
	if m.phase != watching {
		return drainLimit, nil
	}
	return m.r.sink.room()
}

// readable returns the channel to read from. If the sink has no room, that is nil, and freed is closed when it is worth
// looking again; the stream's silence then says nothing about the server.
func (m *machine) readable(s *stream) (events <-chan watch.Event, freed <-chan struct{}) {
	if _, freed = m.room(); freed != nil {
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
func (m *machine) receive(ctx context.Context, s *stream, got watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	if !open {
		return false, m.closing(s)
	}
	if got.Type == watch.Error {
		return false, errorOf(got.Object)
	}
	s.received++
	c, err := m.r.expects.vet(got)
	if err != nil {
		m.r.report.dropped(1, err)
		utilruntime.HandleErrorWithContext(ctx, err, "Watch event dropped", "reflector", m.r.name, "type", m.r.typeDescription, "event", got.Type)
		return false, nil
	}
	s.understood++
	return take(ctx, c), nil
}

// collected are the changes of a watch that were read and are not in the sink yet. It is empty while the reflector waits.
type collected struct {
	records []record
	version string // the position once they are in the sink
	moves   bool   // whether version is set
}

// add takes a change in.
func (b *collected) add(c watchChange, version string) {
	rec := record{version: version, object: c.obj}
	switch c.kind {
	case watch.Added:
		rec.typ = Added
	case watch.Modified:
		rec.typ = Updated
	case watch.Deleted:
		rec.typ = Deleted
	default:
		rec.typ, rec.object = Bookmark, nil
	}
	b.records = append(b.records, rec)
}

// drop forgets what was collected: the round is over.
func (b *collected) drop() {
	clear(b.records)
	*b = collected{records: b.records[:0]}
}

func (b *collected) moveTo(version string) { b.version, b.moves = version, true }

// handOver gives the sink what was collected and advances the position. What the sink refuses is reported and costs that
// change only.
func (m *machine) handOver(ctx context.Context) {
	b := &m.collected
	if len(b.records) > 0 {
		for _, refused := range m.r.sink.put(b.records) {
			m.r.reportRefused(ctx, refused.err, refused.typ, refused.object)
		}
		b.records = b.records[:0]
	}
	if b.moves {
		m.r.position.advance(b.version)
		b.moves = false
	}
}

// reportRefused reports a change that the sink could not take.
func (r *reflector) reportRefused(ctx context.Context, err error, kind, obj any) {
	accessor, _ := meta.Accessor(obj) // without metadata the log names no object
	utilruntime.HandleErrorWithContext(ctx, discreet(err), "Unable to write a watch event to the store", "reflector", r.name,
		"type", r.typeDescription, "event", kind, "object", klog.KObj(accessor))
}
