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

// reader reads watches. An event of the server passes it in these steps:
//
//  1. follow waits for the event, and meanwhile for all else that a reflector has to serve. It
//     reads only while the sink has room.
//  2. drain takes this event and those that are there behind it.
//  3. receive has each one checked (admit.go), and apply collects it.
//  4. handOver gives the sink what was collected, and moves the position on.
//
// The machine's goroutine uses it, but any may ask for the position's version.
type reader struct {
	options   Options
	timers    timers
	expects   expectation
	collected collected // what apply has taken and handOver will give
	// opensLate says that the last watch that told came to be open with its first event: some
	// aggregated servers send no headers before.
	opensLate bool
}

// stream is an open watch.
type stream struct {
	watch  watch.Interface
	events <-chan watch.Event
	cancel context.CancelFunc // ends the request's context
	since  time.Time          // when it was asked for, or taken over by watching
	opened time.Time          // when it was; zero: it was taken over

	lastRead time.Time // when the last batch began
	busy     bool      // this batch follows the last one closely

	received   int // events since then, of any kind
	understood int // those of them that were applied, or are of other shards
	others     int // those that are of other shards

	// ordered says that the versions of the events grow: not so for the synthetic Added events at
	// the beginning of a watch that was started without a version.
	ordered bool
}

// stop ends the watch. It is called exactly once for each stream.
func (s *stream) stop() {
	defer s.cancel()
	s.watch.Stop()
}

// busyGap is between batches of a stream whose sender may well be about to send again.
const busyGap = 200 * time.Microsecond

// beginBatch notes that an event has come.
func (s *stream) beginBatch(now time.Time) {
	s.busy = now.Sub(s.lastRead) < busyGap
	s.lastRead = now
}

// handOver starts the stream's count anew when it passes from streaming to watching.
func (s *stream) handOver(now time.Time) {
	s.since, s.opened, s.received, s.understood, s.others, s.ordered = now, time.Time{}, 0, 0, 0, true
}

// takeFunc takes a change of a stream that is not watched yet but staged, and reports whether it is
// the last one.
type takeFunc func(context.Context, watchChange) (done bool)

// follow reads s until stage returns true; then it returns nil and s is still open. Otherwise the
// error says why it ended: errStopped, errClosed, errSilent, errIdle, a *resyncError, a
// *VeryShortWatchError, or what the server said. With a nil stage the changes go to the sink.
// Events that make no sense are reported and left out.
func (r *reader) follow(ctx context.Context, s *stream, quiet *silence, stage takeFunc) error {
	defer r.timers.outage.asks()
	heldUp := false
	for {
		events := s.events
		_, freed := r.room(stage)
		if freed != nil {
			events = nil // the stream's silence says nothing about the server
		}
		if full := freed != nil; full != heldUp {
			heldUp = full
			r.options.Journal.write(func(p *pages) { p.hold(full) })
		}
		select {
		case <-ctx.Done():
			return errStopped
		case <-freed:
			quiet.restart(s.received) // a pause of ours is no silence of the server
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
			if open && first.Type != watch.Error { // which may be the client's own word for a broken connection
				r.options.Journal.write(func(p *pages) { p.HeardAt, p.Silent = now, false })
			}
			if s.received == 0 && stage == nil {
				r.learnOpening(s, now)
			}
			s.beginBatch(now)
			done, err := r.drain(ctx, s, first, open, stage)
			if done || err != nil {
				return err
			}
		}
	}
}

// learnOpening learns from the first event of a watch, or its end, whether the watch was open
// before.
func (r *reader) learnOpening(s *stream, now time.Time) {
	switch {
	case s.opened.IsZero():
	case now.Sub(s.opened) >= time.Second:
		r.opensLate = false
	case s.opened.Sub(s.since) >= hangLimit:
		r.opensLate = true
	}
}

// room returns how many changes may be read now. If the sink has no room, freed is closed when it
// is worth looking again. A stage takes any number.
func (r *reader) room(stage takeFunc) (limit int, freed <-chan struct{}) {
	if stage != nil {
		return event.BatchLimit, nil
	}
	return r.options.Sink.Room()
}

// drain handles an event and all that the channel holds behind it, as far as the sink has room, up
// to BatchLimit, then hands the changes over. done and err are those of receive.
func (r *reader) drain(ctx context.Context, s *stream, first watch.Event, open bool, stage takeFunc) (done bool, err error) {
	limit, _ := r.room(stage) // which may be less than when the event was waited for
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

// poll reads an event if there is one. Of a busy stream it looks twice before it takes the channel
// for empty, and lets other goroutines run in between: whoever sends on a channel without slots
// needs that to send again. A lone event does not wait for that: it would be 2 us of the 16 that it
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

// receive takes in the change that an event means; done is what stage returns. The error says that
// the stream has ended. Events that make no sense are reported and left out.
func (r *reader) receive(ctx context.Context, s *stream, got watch.Event, open bool, stage takeFunc) (done bool, err error) {
	if !open {
		return false, r.closing(s)
	}
	if got.Type == watch.Error {
		return false, errorOf(got.Object)
	}
	s.received++
	c, err := r.expects.vet(got)
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
	r.apply(s, c)
	return false, nil
}

// leaveOut reports list items of a page, or a watch event, that are none of the expected objects.
func (r *reader) leaveOut(ctx context.Context, message string, left foreignItems, about ...any) {
	if left.n == 0 {
		return
	}
	why := left.first.Error()
	r.options.Journal.write(func(p *pages) {
		p.Left, p.LeftNow, p.LeftWhy = p.Left+left.n, p.LeftNow+left.n, why
		for kind, n := range left.kinds {
			count(&p.Drops, kind, n)
		}
	})
	event.Report(ctx, left.first, message, append(r.options.about(), about...)...)
}

// closing is the error of a stream that the server closed.
func (r *reader) closing(s *stream) error {
	if s.understood == 0 && r.options.Clock.Since(s.since) < veryShortWatch {
		return &clientgo.VeryShortWatchError{Name: r.options.Name}
	}
	return errClosed
}

// apply collects a change of the watch, and says how far that brings the position.
func (r *reader) apply(s *stream, c watchChange) {
	version := c.meta.GetResourceVersion() // before the sink's transform may blank it
	r.collected.add(c, version)
	if c.kind == watch.Bookmark {
		r.options.Journal.write(func(p *pages) {
			if !p.Bookmarked {
				p.Bookmarked = true
				r.timers.hang.alarm.arm(bookmarkLimit)
			}
		})
	}
	if c.kind != watch.Added {
		s.ordered = true // the synthetic events, if any, are over
	}
	if s.ordered {
		r.collected.version, r.collected.moves = version, true
	}
}

// handOver gives the sink what was collected of so many events, then moves the position on. What
// the sink refuses is reported and costs that change only.
func (r *reader) handOver(ctx context.Context, events int) {
	b := &r.collected
	var refused []event.Refused
	if len(b.records) > 0 {
		refused = r.options.Sink.Put(b.records)
		b.records = b.records[:0]
	}
	r.options.Journal.write(func(p *pages) {
		if p.Events += int64(events); b.moves {
			p.Version = b.version
		}
		if len(refused) > 0 {
			count(&p.Drops, dropRefused, int64(len(refused)))
		}
	})
	b.moves = false
	for _, one := range refused {
		object, _ := meta.Accessor(one.Object) // without metadata the log names no object
		event.Report(ctx, event.Discreet(one.Err), "Unable to write a watch event to the store",
			append(r.options.about(), "event", one.Type, "object", klog.KObj(object))...)
	}
}

// collected are the changes of a watch that were read and are not in the sink yet. It is empty
// while the reflector waits.
type collected struct {
	records []event.Record
	version string // the position once they are in the sink
	moves   bool   // whether version is set
}

// add takes a change in.
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

// drop forgets what was collected: the round is over.
func (b *collected) drop() {
	clear(b.records)
	*b = collected{records: b.records[:0]}
}
