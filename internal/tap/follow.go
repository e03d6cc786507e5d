// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
)

const (
	// eventsAhead is how many events are decoded before they are asked for: so many are one batch
	// of a busy watch, and no more objects than client-go's buffers hold of long frames.
	eventsAhead = 16
	// manyGivenUp frames of a watch, more than were decoded, show that the type is none for our
	// decoder: each of them costs twice.
	manyGivenUp = 64
)

// following is a watch whose frames we decode. What we are not sure of, and what goes both ways, is
// handed to the client, whose answer takes its place; so are errors and the end of the stream.
//
//	body ──▶ frames ──▶ ours ───────────────────────────────▶ events
//	                └─▶ held ──▶ client, a StreamWatcher ──────▲
//
// A frame of ours takes these steps, of which rows are there in an informer that shares parts:
//
//	Frames.Next      the bytes of one frame
//	own.Open         its type of event, the kind, and where the bytes of the object are
//	cached           what is cached becomes more or less
//	rows.find        the former version of the object, and the sums of its parts
//	Plan.Update      the object: changed parts are decoded, the others are those of the former version
//	rows.add         the object and its sums, for the next version
type following struct {
	trust  *trust
	client *watch.StreamWatcher
	body   *held
	coding Encoding
	frames *decode.Frames
	events chan watch.Event

	stopping sync.Once
	stopped  chan struct{}

	// The goroutine of run has these.

	lesson  *lesson // nil: no frame was decoded by both
	decoded int
	givenUp int
}

// follow follows a watch whose body is claimed.
func follow(t *trust, client *watch.StreamWatcher, body *held, e Encoding) *following {
	f := &following{
		trust: t, client: client, body: body, coding: e,
		frames: decode.NewFrames(counting{body.real, &t.options.Ledger.watchBytes}, e, maxFrame),
		events: make(chan watch.Event, eventsAhead), stopped: make(chan struct{}),
	}
	go f.run()
	return f
}

// ResultChan returns the events. It is closed when the watch has ended.
func (f *following) ResultChan() <-chan watch.Event { return f.events }

// Stop ends the watch, and closes the body.
func (f *following) Stop() {
	f.stopping.Do(func() { close(f.stopped) })
	f.client.Stop()
}

func (f *following) run() {
	defer close(f.events)
	for {
		frame, err := f.frames.Next()
		if err != nil {
			f.release()
			return
		}
		if !f.handle(frame) {
			return
		}
	}
}

// handle makes an event of a frame. It returns false when the watch has ended for us.
func (f *following) handle(frame []byte) bool {
	if f.lesson != nil && f.isOther(f.frames.Payload(frame)) {
		return true
	}
	sample := f.trust.sampler.next()
	if f.lesson == nil || sample {
		return f.passOn(frame, nil)
	}
	count, ours, err := f.decode(f.frames.Payload(frame))
	if err != nil {
		return f.passOn(frame, err)
	}
	f.decoded++
	count.Add(1)
	return f.emit(ours)
}

// isOther reports whether a frame is about an object that is known not to be of the part.
func (f *following) isOther(data []byte) bool {
	if f.trust.options.Part == nil {
		return false
	}
	frame, err := decode.Open(data, f.coding)
	return err == nil && frame.Type != watch.Bookmark && f.trust.options.isOther(frame.Object, f.coding)
}

// decode makes an event of a frame, with the object that was made of its bytes before, or from its
// former version, if that is still there. It returns what counts such objects.
func (f *following) decode(data []byte) (count *atomic.Int64, ours watch.Event, err error) {
	known, ledger := f.trust.rows, f.trust.options.Ledger
	count = &ledger.decoded
	frame, err := f.open(f.lesson.decoder, data)
	if err != nil {
		return count, ours, err
	}
	f.count(frame)
	var found former
	if frame.Type != watch.Bookmark {
		found = known.find(f.lesson.form(f.coding), frame.Object)
	}
	// Behind find: if a check begins in between, the row that is added below is not found any more.
	check := f.trust.checks.Load()
	if found.same && !check && frame.Type != watch.Deleted {
		return &ledger.reused, watch.Event{Type: frame.Type, Object: found.Object.(runtime.Object)}, nil
	}
	ours, sums, err := f.lesson.event(frame, found.Former, check)
	switch {
	case frame.Type == watch.Deleted:
		known.remove(found)
	case err == nil:
		known.add(found, ours.Object, sums)
	}
	return count, ours, err
}

// count counts what is cached.
func (f *following) count(frame Frame) {
	switch cached := &f.trust.cached; frame.Type {
	case watch.Added:
		cached.came(len(frame.Object))
	case watch.Deleted:
		cached.gone()
	case watch.Bookmark:
		cached.listed()
	}
}

// open takes a frame apart that is about an object of the kind that is watched.
func (f *following) open(by sure, data []byte) (Frame, error) {
	frame, err := by.Open(data)
	switch {
	case err != nil:
		return frame, err
	case !isChange(frame.Type):
		return frame, errOtherEvent
	case f.lesson != nil && !frame.Kind.Empty() && frame.Kind != f.lesson.kind:
		return frame, errOtherKind
	}
	return frame, nil
}

// passOn hands a frame to the client, whose answer counts. Without a reason the frame goes both
// ways.
func (f *following) passOn(frame []byte, why error) bool {
	if !f.whole(frame) {
		f.frames.Unread(frame)
		f.release()
		return false
	}
	theirs, answered := f.ask(frame)
	if !answered {
		return false
	}
	if why == nil && isChange(theirs.Type) {
		why = f.compare(f.frames.Payload(frame), theirs)
	}
	var doubt *Doubt
	switch {
	case errors.As(why, &doubt):
		f.emit(watch.Event{Type: watch.Error, Object: doubt})
		return false
	case why != nil:
		f.trust.options.Ledger.gaveUp(why)
		f.givenUp++
	}
	if !f.emit(theirs) || theirs.Type == watch.Error && !f.goesOn() {
		return false
	}
	f.body.takeBack()
	switch {
	case errors.Is(why, errNoKind):
		f.trust.options.Ledger.turnedOff(why.Error())
	case f.givenUp > manyGivenUp && f.givenUp > f.decoded:
		f.trust.turnOff("most objects cannot be decoded directly")
	default:
		return true
	}
	f.release()
	return false
}

// whole reports whether the client, too, takes the frame for exactly one.
func (f *following) whole(frame []byte) bool { return f.coding == Protobuf || json.Valid(frame) }

// isChange reports whether events of a type are about an object of the type that is watched.
func isChange(e watch.EventType) bool {
	switch e {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		return true
	default:
		return false
	}
}

// compare decodes a frame that the client has decoded, and learns from the first one. It returns a
// *Doubt if the results differ, or why we cannot decode the frame.
func (f *following) compare(data []byte, theirs watch.Event) error {
	by, l := sure{}, f.lesson
	if l == nil {
		var err error
		if by, err = f.decoderOf(theirs.Object); err != nil {
			return err
		}
	} else {
		by = l.decoder
	}
	frame, err := f.open(by, data)
	if err != nil {
		return err
	}
	if frame.Type == watch.Bookmark || !f.trust.options.isOther(frame.Object, f.coding) {
		f.count(frame)
	}
	if l == nil {
		if l, err = learn(by, frame, theirs.Object); err != nil {
			return err
		}
	}
	ours, _, err := l.event(frame, decode.Former{}, true) // who writes to parts is no fault of the decoder's
	if err != nil {
		return err
	}
	where := f.trust.difference(ours.Object, theirs.Object)
	if ours.Type != theirs.Type {
		where = "its type of event"
	}
	if where != "" {
		f.trust.options.Ledger.differences.Add(1)
		return f.trust.doubt("an event of a watch, " + where)
	}
	f.trust.options.Ledger.verified.Add(1)
	if f.lesson == nil {
		f.lesson = l
		f.trust.options.Ledger.turnedOn(f.coding)
	}
	return nil
}

// decoderOf returns the decoder of objects such as the client has made.
func (f *following) decoderOf(theirs runtime.Object) (sure, error) {
	t := reflect.TypeOf(theirs)
	if expected := f.trust.example; expected != nil && t != expected {
		return sure{}, fmt.Errorf("an object is a %v", t)
	}
	decoder, known := f.trust.decoder(t, f.coding)
	if !known {
		return sure{}, fmt.Errorf("there is no decoder for the type in %s", f.coding)
	}
	return decoder, nil
}

// ask hands a frame to the client, to be taken back, and waits for its answer. It returns false
// when the watch has ended for us: also because the client, or what is between us and it, reads on
// without an answer.
func (f *following) ask(frame []byte) (theirs watch.Event, answered bool) {
	f.body.hand(frame)
	select {
	case theirs, answered = <-f.client.ResultChan():
	case <-f.stopped:
	case <-f.body.starved:
		f.release()
		return watch.Event{}, false
	}
	return theirs, answered
}

// goesOn reports whether the client reads on behind an error: one that the server has sent, and not
// one that the client ends with.
func (f *following) goesOn() bool {
	select {
	case <-f.client.ResultChan():
	case <-f.stopped:
	case <-f.body.starved:
		return true
	}
	return false
}

// emit returns false when nobody wants events any more.
func (f *following) emit(e watch.Event) bool {
	select {
	case f.events <- e:
		return true
	case <-f.stopped:
		return false
	}
}

// release gives the body back, with what was read of it, and brings what the client makes of that.
func (f *following) release() {
	f.body.release(f.frames.Rest())
	for {
		select {
		case e, open := <-f.client.ResultChan():
			if !open || !f.emit(e) {
				return
			}
		case <-f.stopped:
			return
		}
	}
}
