// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// lesson is what a frame that was decoded by both has taught about the others.
type lesson struct {
	decoder sure
	kind    schema.GroupVersionKind // on the wire
	cleared bool                    // the client clears it
}

// follow follows a watch whose body is claimed.
func follow(t *trust, client *watch.StreamWatcher, body *held, e Encoding) *following {
	f := &following{
		trust: t, client: client, body: body, coding: e,
		frames: newFrames(counting{body.real, &t.options.Ledger.watchBytes}, e),
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
	sample := f.trust.sampler.next()
	if f.lesson == nil || sample {
		return f.passOn(frame, nil)
	}
	ours, err := f.lesson.event(f.trust.checked(f.lesson.decoder), f.frames.Payload(frame))
	if err != nil {
		return f.passOn(frame, err)
	}
	f.decoded++
	f.trust.options.Ledger.decoded.Add(1)
	return f.emit(ours)
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
	if why == nil && isChange(theirs) {
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
	if f.givenUp > manyGivenUp && f.givenUp > f.decoded {
		f.trust.turnOff("most objects cannot be decoded directly")
		f.release()
		return false
	}
	return true
}

// whole reports whether the client, too, takes the frame for exactly one.
func (f *following) whole(frame []byte) bool { return f.coding == Protobuf || json.Valid(frame) }

// isChange reports whether an event is about an object of the type that is watched.
func isChange(e watch.Event) bool {
	switch e.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		return true
	default:
		return false
	}
}

// compare decodes a frame that the client has decoded, and learns from the first one. It returns a
// *Doubt if the results differ, or why we cannot decode the frame.
func (f *following) compare(data []byte, theirs watch.Event) error {
	l, err := f.lesson, error(nil)
	if l == nil {
		if l, err = f.learn(data, theirs.Object); err != nil {
			return err
		}
	}
	ours, err := l.event(l.decoder.checking(), data) // who writes to parts is no fault of the decoder's
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

// learn returns what the object that the client has made of a frame teaches.
func (f *following) learn(data []byte, theirs runtime.Object) (*lesson, error) {
	t := reflect.TypeOf(theirs)
	if expected := f.trust.example; expected != nil && t != expected {
		return nil, fmt.Errorf("an object is a %v", t)
	}
	decoder, known := f.trust.decoder(t, f.coding)
	if !known {
		return nil, fmt.Errorf("there is no decoder for the type in %s", f.coding)
	}
	ours, err := decoder.Event(data)
	if err != nil {
		return nil, err
	}
	l := &lesson{decoder: decoder, kind: kindOf(ours.Object)}
	l.cleared = kindOf(theirs).Empty()
	return l, nil
}

var errOtherKind = errors.New("an object of another kind")

var errOtherEvent = errors.New("another type of event")

// event decodes a frame as the client does, by its decoder or one that checks as well.
func (l *lesson) event(by sure, data []byte) (watch.Event, error) {
	got, err := by.Event(data)
	switch {
	case err != nil:
		return watch.Event{}, err
	case !isChange(got):
		return watch.Event{}, errOtherEvent
	case kindOf(got.Object) != l.kind:
		return watch.Event{}, errOtherKind
	case l.cleared:
		got.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return got, nil
}

func kindOf(obj runtime.Object) schema.GroupVersionKind {
	return obj.GetObjectKind().GroupVersionKind()
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
