// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	goruntime "runtime"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
)

// watchReader reads watches. It handles an event of the server in these steps:
//
//  1. follow waits for the event, and serves the reflector's timers meanwhile. It reads only while
//     the sink has room.
//  2. drain takes this event and those that the channel has behind it.
//  3. receive checks each event (admit.go), and apply collects it.
//  4. handOver passes the collected changes to the sink, and advances the position.
//
// It belongs to the machine's goroutine. The version of the position may be read by any goroutine.
type watchReader struct {
	options   Options
	timers    timers
	expects   expectation
	collected collected // the changes between apply and handOver
	// opensLate is set if the last watch with a conclusive opening opened only with its first
	// event: some aggregated servers send no headers before.
	opensLate bool
	anew      anew
}

// stream is an open watch.
type stream struct {
	watch  watch.Interface
	events <-chan watch.Event
	pruned bool               // see tap.Options.Trim
	cancel context.CancelFunc // ends the request's context
	since  time.Time          // when it was requested, or when watching took it over
	opened time.Time          // when it was opened; zero if watching took it over
	due    time.Time          // when the server has to have ended it; see outlives
	lasts  time.Duration      // from the opening to due

	lastRead time.Time // when the last batch began
	busy     bool      // whether this batch follows the last one closely

	received   int // the number of events since then, of any kind
	understood int // the number of these that were applied, or that belong to other shards
	others     int // the number of these that belong to other shards

	// ordered is set if the versions of the events increase. The synthetic Added events at the
	// beginning of a watch without a version are not ordered.
	ordered bool
}

// stop ends the watch. It must be called exactly once for each stream.
func (s *stream) stop() {
	defer s.cancel()
	s.watch.Stop()
}

// busyGap is the longest time between two batches of a stream whose sender probably sends again
// soon.
const busyGap = 200 * time.Microsecond

// beginBatch records that an event has arrived.
func (s *stream) beginBatch(now time.Time) {
	s.busy = now.Sub(s.lastRead) < busyGap
	s.lastRead = now
}

// handOver resets the stream's counts when it passes from streaming to watching.
func (s *stream) handOver(now time.Time) {
	s.since, s.opened, s.received, s.understood, s.others, s.ordered = now, time.Time{}, 0, 0, 0, true
}

// takeFunc stages a change of a watch-list, and reports whether it is the last one.
type takeFunc func(context.Context, watchChange) (done bool)

// follow reads s until stage returns true; it then returns nil, and s is still open. Otherwise the
// error says why the stream ended: errStopped, errClosed, errSilent, errIdle, a *resyncError, a
// *VeryShortWatchError, or an error of the server. If stage is nil the changes are passed to the
// sink. Invalid events are reported and left out.
func (r *watchReader) follow(ctx context.Context, s *stream, quiet *silence, stage takeFunc) error {
	defer r.timers.outage.asks()
	heldUp := false
	for {
		events := s.events
		_, freed := r.room(stage)
		if freed != nil {
			events = nil // silence while the stream is not read says nothing about the server
		}
		if full := freed != nil; full != heldUp {
			heldUp = full
			r.options.Journal.write(func(p *journalState) { p.follow(!full) })
			r.timers.hang.look(ctx) // after a pause: its alarm may have rung while nothing was awaited
		}
		select {
		case <-ctx.Done():
			return errStopped
		case <-freed:
			quiet.restart(s.received) // the pause was the sink's, not the server's
		case <-r.timers.resync.alarm.rings:
			if err := r.timers.resync.fire(ctx); err != nil {
				return err
			}
		case <-r.timers.outage.alarm.rings:
			r.timers.outage.ring(ctx)
		case <-r.timers.hang.alarm.rings:
			r.timers.hang.look(ctx)
		case <-quiet.rings:
			if freed != nil {
				quiet.restart(s.received)
			} else if err := quiet.check(ctx, s.received); err != nil {
				return err
			}
		case first, open := <-events:
			now := r.options.Clock.Now()
			if open && first.Type != watch.Error { // the client itself sends an Error for a broken connection
				r.options.Journal.write(func(p *journalState) { p.HeardAt, p.Silent = now, false })
			}
			if s.received == 0 && stage == nil {
				r.learnOpening(s, now)
			}
			s.beginBatch(now)
			done, err := r.drain(ctx, s, first, open, stage)
			r.timers.hang.goesOn(ctx)
			if done || err != nil {
				return err
			}
		}
	}
}

// learnOpening determines from the first event of a watch, or from its end, whether the watch was
// open before that event.
func (r *watchReader) learnOpening(s *stream, now time.Time) {
	switch {
	case s.opened.IsZero():
	case now.Sub(s.opened) >= time.Second:
		r.opensLate = false
	case s.opened.Sub(s.since) >= hangLimit:
		r.opensLate = true
	}
}

// room returns how many changes may be read now. If the sink has no room, freed is closed when room
// should be called again. A stage takes any number.
func (r *watchReader) room(stage takeFunc) (limit int, freed <-chan struct{}) {
	if stage != nil {
		return event.BatchLimit, nil
	}
	return r.options.Sink.Room()
}

// drain handles an event and the ones that the channel has behind it, as far as the sink has room
// and up to BatchLimit, then hands the changes over. done and err are those of receive.
func (r *watchReader) drain(ctx context.Context, s *stream, first watch.Event, open bool, stage takeFunc) (done bool, err error) {
	limit, _ := r.room(stage) // may have shrunk since the wait for the event
	before := s.received
	for n, next := 1, first; ; n++ {
		done, err = r.receive(ctx, s, next, open, stage)
		if done || err != nil || n >= min(limit, event.BatchLimit) {
			break
		}
		var ready bool
		if next, open, ready = poll(s.events, s.busy); !ready {
			break
		}
	}
	r.handOver(ctx, s.received-before)
	return done, err
}

// poll reads an event if the channel has one. For a busy stream it yields the processor and looks a
// second time before it reports an empty channel: the sender on an unbuffered channel needs that to
// send again. A single event is not delayed by this: it would add 2 us to the 16 us that an event
// takes to the handlers.
func poll(events <-chan watch.Event, busy bool) (got watch.Event, open, ready bool) {
	for ; ; busy = false {
		select {
		case got, open = <-events:
			return got, open, true
		default:
		}
		if !busy {
			return watch.Event{}, true, false
		}
		goruntime.Gosched()
	}
}

// receive collects or stages the change of an event. done is the result of stage. An error ends the
// stream. Invalid events are reported and left out.
func (r *watchReader) receive(ctx context.Context, s *stream, got watch.Event, open bool, stage takeFunc) (done bool, err error) {
	if !open {
		return false, r.closing(s)
	}
	if got.Type == watch.Error {
		return false, errorOf(got.Object)
	}
	s.received++
	c, err := r.expects.vet(got, s.pruned)
	switch {
	case errors.Is(err, shard.ErrOther):
		s.understood++
		s.others++
		return false, nil
	case err != nil:
		var left foreignItems
		left.note(err)
		r.leaveOut(ctx, "Watch event dropped", left, "event", got.Type)
		return false, nil
	}
	s.understood++
	if stage != nil {
		return stage(ctx, c), nil
	}
	version := c.meta.GetResourceVersion() // read first, because the sink's transform may clear it
	found, lists := r.anew.sees(c.kind, version, s.lastRead)
	r.apply(s, c, version)
	if found {
		r.options.Journal.write(func(p *journalState) { p.Anew = true })
	}
	if lists {
		r.options.warn(ctx, "The server begins each watch with all present objects, listing again")
		return false, errAnew
	}
	return false, nil
}

// leaveOut reports list items of a page, or a watch event, that are not among the expected objects.
func (r *watchReader) leaveOut(ctx context.Context, message string, left foreignItems, about ...any) {
	if left.n == 0 {
		return
	}
	why := left.first.Error()
	r.options.Journal.write(func(p *journalState) {
		p.Left, p.LeftNow, p.LeftWhy = p.Left+left.n, p.LeftNow+left.n, why
		addCounts(&p.Drops, left.kinds)
	})
	event.Report(ctx, left.first, message, append(r.options.about(), about...)...)
}

// closing returns the error for a stream that the server closed.
func (r *watchReader) closing(s *stream) error {
	if s.understood == 0 && r.options.Clock.Since(s.since) < veryShortWatch {
		return &clientgo.VeryShortWatchError{Name: r.options.Name}
	}
	return errClosed
}

// apply collects a change of the watch, and the position that follows from it.
func (r *watchReader) apply(s *stream, c watchChange, version string) {
	r.collected.add(c, version)
	if c.kind == watch.Bookmark {
		r.options.Journal.write(func(p *journalState) {
			if !p.Bookmarked {
				p.Bookmarked = true
				r.timers.hang.alarm.arm(p.lasts) // not armed before
			}
		})
	}
	if c.kind != watch.Added {
		s.ordered = true // the synthetic events, if any, have ended
	}
	if s.ordered && version != "" { // a watch from "" would not report what was deleted in between
		r.collected.version, r.collected.moves = version, true
	}
}

// handOver passes the changes collected from the given number of events to the sink, then advances
// the position. A change that the sink refuses is reported and dropped; the others are kept.
func (r *watchReader) handOver(ctx context.Context, events int) {
	b := &r.collected
	var refused []event.Refused
	if len(b.records) > 0 {
		refused = r.options.Sink.Put(b.records)
		b.records = b.records[:0]
	}
	r.options.Journal.write(func(p *journalState) {
		if p.Events += int64(events); b.moves {
			p.moveTo(b.version)
		}
		if len(refused) > 0 {
			count(&p.Drops, dropRefused, int64(len(refused)))
		}
	})
	b.moves = false
	for _, one := range refused {
		object, _ := meta.Accessor(one.Object) // without metadata the log names no object
		event.Report(ctx, event.Redacted(one.Err), "Unable to write a watch event to the store",
			append(r.options.about(), "event", one.Type, "object", klog.KObj(object))...)
	}
}

// collected holds the changes of a watch that were read and are not in the sink yet. It is empty
// while the reflector waits.
type collected struct {
	records []event.Record
	version string // the position once the records are in the sink
	moves   bool   // whether version is set
}

// add appends a change.
func (b *collected) add(c watchChange, version string) {
	rec := event.Record{Version: version, Object: c.obj}
	switch c.kind {
	case watch.Added:
		rec.Type = clientgo.Added
	case watch.Modified:
		rec.Type = clientgo.Updated
	case watch.Deleted:
		rec.Type = clientgo.Deleted
	default:
		rec.Type, rec.Object = clientgo.Bookmark, nil
	}
	b.records = append(b.records, rec)
}

// drop discards the collected changes at the end of a round.
func (b *collected) drop() {
	clear(b.records)
	*b = collected{records: b.records[:0]}
}
