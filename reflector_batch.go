// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"runtime"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// drainLimit bounds what is read before it is handed over: the first event of a batch waits for the others. At 256 the cost
// of handing over, a lock and perhaps a wake-up, is a few nanoseconds an event; larger batches gain nothing more.
const drainLimit = 256

// drain handles an event and all that the channel holds behind it, as far as the sink has room, up to drainLimit, then hands
// the changes over. done and err are those of receive.
func (m *machine) drain(ctx context.Context, s *stream, event watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	limit, _ := m.room() // which may be less than when the event was waited for
	for n := 1; ; n++ {
		done, err = m.receive(ctx, s, event, open, take)
		if done || err != nil || n >= min(limit, drainLimit) {
			break
		}
		var ready bool
		if event, open, ready = poll(s.events, s.busy); !ready {
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
func poll(events <-chan watch.Event, busy bool) (event watch.Event, open, ready bool) {
	select {
	case event, open = <-events:
		return event, open, true
	default:
	}
	if !busy {
		return watch.Event{}, true, false
	}
	runtime.Gosched()
	select {
	case event, open = <-events:
		return event, open, true
	default:
		return watch.Event{}, true, false
	}
}

// receive hands the change that the event means to take, and returns what take does. The error tells that the stream has
// ended. Events that make no sense are reported and left out.
func (m *machine) receive(ctx context.Context, s *stream, event watch.Event, open bool, take func(context.Context, watchChange) bool) (done bool, err error) {
	if !open {
		return false, m.closing(s)
	}
	if event.Type == watch.Error {
		return false, errorOf(event.Object)
	}
	s.received++
	c, err := m.r.expects.vet(event)
	if err != nil {
		m.r.report.dropped(1, err)
		utilruntime.HandleErrorWithContext(ctx, err, "Watch event dropped", "reflector", m.r.name, "type", m.r.typeDescription, "event", event.Type)
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
func (r *reflector) reportRefused(ctx context.Context, err error, event, obj any) {
	accessor, _ := meta.Accessor(obj) // without metadata the log names no object
	utilruntime.HandleErrorWithContext(ctx, discreet(err), "Unable to write a watch event to the store", "reflector", r.name,
		"type", r.typeDescription, "event", event, "object", klog.KObj(accessor))
}
