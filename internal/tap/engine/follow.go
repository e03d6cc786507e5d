// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// eventsAhead is the capacity of the channel of events. It is one batch of a busy watch, and no
	// more objects than client-go's buffers hold in long frames.
	eventsAhead = 16
	// manyGivenUp is the number of given-up frames of a watch, if more than those decoded, after
	// which the client decodes all objects of the type. Each given-up frame costs twice.
	manyGivenUp = 64
	// decodingTime is the time that a client which has read a frame, and reads on, has to send its
	// event. A client that reads ahead reads on at once, and decodes within microseconds.
	decodingTime = 2 * time.Second
	// otherEvery is how often an event of another shard is sent, of those that are received. A caller that
	// receives none takes the server for silent. Its limits are tens of seconds.
	otherEvery = time.Second
)

// following is a watch whose frames this package decodes. Frames that the decoder gives up, and
// frames that both decode, are passed to the client, one at a time, and its event is used. So is the
// end of the stream. The client sends one event for each frame, in order, and may read ahead: nothing
// else about it is used. After an error event the client gets the stream, since only it knows whether
// the stream goes on.
//
//	body ──▶ frames ──▶ decode ─────────────────────────────▶ events
//	                └─▶ watchBody ──▶ client, a StreamWatcher ─▲
//
// The steps of a frame that is decoded here (the rows exist if the informer shares parts):
//
//	Frames.Next      the bytes of one frame
//	decoder.open     the type of the event, the kind, and the bytes of the object
//	cached           the count of cached bytes
//	rows.find        the former version of the object, and the hashes of its parts
//	Plan.Update      the object: changed parts are decoded, others are copied from the former version
//	rows.add         the object and its hashes, for the next version
type following struct {
	tap.Pruned
	trust  *trust
	client *watch.StreamWatcher
	body   *watchBody
	coding Encoding
	drops  bool // the client removes managed fields
	frames *decode.Frames
	events chan watch.Event

	stopping sync.Once
	stopped  chan struct{}

	// Used by run only.

	streamType *streamType // nil until both have decoded a frame
	decoded    int
	givenUp    int
	otherSent  time.Time // when an event of another shard was last sent, or the watch began
}

// follow decodes a watch whose body was claimed.
func follow(t *trust, client *watch.StreamWatcher, body *watchBody, e Encoding, drops bool) *following {
	f := &following{
		trust: t, client: client, body: body, coding: e, drops: drops,
		frames: decode.NewFrames(counting{body.real, &t.options.Ledger.WatchBytes}, e, maxFrame),
		events: make(chan watch.Event, eventsAhead), stopped: make(chan struct{}), otherSent: time.Now(),
	}
	go f.run()
	return f
}

// ResultChan returns the channel of events. It is closed when the watch ends.
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
			f.release(unreadable)
			return
		}
		if !f.handle(frame) {
			return
		}
	}
}

// handle sends the event of a frame. It returns false if run must return.
func (f *following) handle(frame []byte) bool {
	other := f.streamType != nil && f.isOther(f.frames.Payload(frame))
	if other && !f.sendsOther() {
		return true
	}
	sample := f.trust.sampler.next()
	if f.streamType == nil || sample || other {
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

// sendsOther reports whether an event of another shard is sent now, as a sample: the caller leaves it out.
func (f *following) sendsOther() bool {
	now := time.Now()
	if now.Sub(f.otherSent) < otherEvery {
		return false
	}
	f.otherSent = now
	return true
}

// isOther reports whether a frame is about an object of another shard, and nothing else.
func (f *following) isOther(data []byte) bool {
	if f.trust.options.Part == nil {
		return false
	}
	frame, err := decode.Open(data, f.coding)
	return err == nil && frame.Type != watch.Bookmark && f.trust.options.isOther(frame.Object, f.coding) && !f.mayBeMore(frame.Object)
}

// mayBeMore reports whether the object of a frame may be followed by another frame, in the same line.
// Without decoding it is not known where the object ends, but another frame has the name of an object.
func (f *following) mayBeMore(object []byte) bool {
	return f.coding == JSON && bytes.Contains(object, []byte(`"object"`))
}

// decode returns the event of a frame. Its object is the former one if the bytes are the same, or
// decoded, possibly from the former version. count is the counter of such objects.
func (f *following) decode(data []byte) (count *atomic.Int64, ours watch.Event, err error) {
	known, ledger := f.trust.rows, f.trust.options.Ledger
	count = &ledger.Decoded
	by := f.streamType.decoder
	frame, err := f.open(by, data)
	if err != nil {
		return count, ours, err
	}
	f.count(by, frame)
	var found former
	if frame.Type != watch.Bookmark {
		found = known.find(f.streamType.form(f.coding), frame.Object)
	}
	// After find: if a check begins in between, the row added below is never found.
	check := f.trust.checks.Load()
	if found.same && !check && frame.Type != watch.Deleted {
		return &ledger.Reused, watch.Event{Type: frame.Type, Object: found.Object.(runtime.Object)}, nil
	}
	ours, sums, err := f.streamType.event(frame, found.Former, check)
	switch {
	case frame.Type == watch.Deleted:
		known.remove(found)
	case err == nil:
		known.add(found, ours.Object, sums)
	}
	return count, ours, err
}

// count updates the count of cached objects.
func (f *following) count(by *decoder, frame decode.Frame) {
	switch cached := &f.trust.cached; frame.Type {
	case watch.Added:
		cached.received(by.decoded(frame.Object))
	case watch.Deleted:
		cached.deleted()
	case watch.Bookmark:
		cached.listed()
	}
}

// open parses a frame and checks its event type and kind.
func (f *following) open(by *decoder, data []byte) (decode.Frame, error) {
	frame, err := by.open(data)
	switch {
	case err != nil:
		return frame, err
	case !isChange(frame.Type):
		return frame, errOtherEvent
	case f.streamType != nil && (f.coding == Protobuf || !frame.Kind.Empty()) && frame.Kind != f.streamType.kind:
		return frame, errOtherKind
	}
	return frame, nil
}

// passOn passes a frame to the client, and sends its event. If why is nil, the frame is also
// decoded here to compare the results.
func (f *following) passOn(frame []byte, why error) bool {
	if !f.whole(frame) {
		f.frames.Unread(frame)
		f.release(unreadable)
		return false
	}
	if e, instead := f.insteadOf(f.frames.Payload(frame), why); instead {
		return f.emit(e)
	}
	theirs, answered := f.ask(frame)
	if !answered {
		return false
	}
	theirs = f.keep(f.named(f.frames.Payload(frame), theirs))
	if why == nil && isChange(theirs.Type) {
		why = f.compare(f.frames.Payload(frame), theirs)
	}
	var doubt *tap.Doubt
	switch {
	case errors.As(why, &doubt):
		f.emit(watch.Event{Type: watch.Error, Object: doubt})
		return false
	case why != nil:
		f.trust.options.Ledger.GaveUp(why)
		f.givenUp++
	}
	if !f.emit(theirs) {
		return false
	}
	f.body.takeBack()
	switch {
	case theirs.Type == watch.Error:
		f.release(wentOn)
	case errors.Is(why, errNoKind):
		f.trust.options.Ledger.TurnedOff(why.Error(), reasonOf(why.Error()))
		f.release("")
	case f.givenUp > manyGivenUp && f.givenUp > f.decoded:
		f.trust.turnOffForGood(manyGivenBack)
		f.release("")
	default:
		return true
	}
	return false
}

// whole reports whether the client will read the frame as exactly one frame.
func (f *following) whole(frame []byte) bool { return f.coding == Protobuf || json.Valid(frame) }

// isChange reports whether events of the type are about an object of the watched type.
func isChange(e watch.EventType) bool {
	switch e {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		return true
	default:
		return false
	}
}

// compare decodes a frame that the client has decoded, and learns the type of the stream from the
// first one. It returns a *Doubt if the results differ, or an error if the frame cannot be decoded
// here.
func (f *following) compare(data []byte, theirs watch.Event) error {
	l := f.streamType
	by, err := f.decoderOf(theirs.Object)
	if err != nil {
		return err
	}
	frame, err := f.open(by, data)
	if err != nil {
		return err
	}
	if frame.Type == watch.Bookmark || !f.trust.options.isOther(frame.Object, f.coding) {
		f.count(by, frame)
	}
	if l == nil {
		if l, err = learn(by, frame, theirs.Object); err != nil {
			return err
		}
	}
	ours, _, err := l.event(frame, decode.Former{}, true) // checked: a modified part is not a fault of the decoder
	if err != nil {
		return err
	}
	where := f.trust.difference(ours.Object, theirs.Object)
	if ours.Type != theirs.Type {
		where = "its type of event"
	}
	if where != "" {
		f.trust.options.Ledger.Differences.Add(1)
		return f.trust.doubt("an event of a watch, " + where)
	}
	f.trust.options.Ledger.Verified.Add(1)
	if f.streamType == nil {
		f.streamType = l
		f.trust.learned(l, f.coding, f.drops)
		f.trust.options.Ledger.TurnedOn(string(f.coding))
	}
	return nil
}

// insteadOf returns the event of a frame that the client is not to see, because it cannot decode its object: what stands
// for the object, or the object without the fields that are not kept. why is that of passOn.
func (f *following) insteadOf(data []byte, why error) (e watch.Event, instead bool) {
	keeps := f.trust.options.kept != nil && why == nil
	if !keeps && !f.trust.options.SkipUndecodable {
		return e, false
	}
	e, is := f.undecodable(data)
	if !is {
		return e, false
	}
	if keeps {
		if kept, ok := f.decodeKept(data); ok {
			return kept, true
		}
	}
	return e, f.trust.maySkip(e.Object.(*event.Undecodable))
}

// decodeKept decodes a frame that the client cannot decode, and reports whether it could. If the frame is the first one of
// the watch, the stream type is that of the watch before; of an informer's first watch there is none.
func (f *following) decodeKept(data []byte) (e watch.Event, ok bool) {
	before := f.streamType
	defer func() { f.streamType = before }()
	if f.streamType == nil {
		f.streamType = f.trust.streamType(f.coding, f.drops)
	}
	if f.streamType == nil {
		return e, false
	}
	count, e, err := f.decode(data)
	if err == nil {
		count.Add(1)
	}
	return e, err == nil
}

// undecodable returns the event of a frame whose object cannot be decoded, and reports whether the frame has
// such an object, of the expected kind.
func (f *following) undecodable(data []byte) (e watch.Event, is bool) {
	frame, err := decode.Open(data, f.coding)
	if err != nil && f.coding == JSON {
		var other struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		err = json.Unmarshal(data, &other)
		frame.Type, frame.Object = other.Type, other.Object
	}
	if err != nil || frame.Type == watch.Bookmark || !isChange(frame.Type) || !f.isExpected(frame) {
		return e, false
	}
	of := f.trust.example
	if f.streamType != nil {
		of = f.streamType.objects
	}
	bad := undecodable(of, frame.Object, f.coding)
	return watch.Event{Type: frame.Type, Object: bad}, bad != nil
}

// isExpected reports whether a frame has an object of the kind of the watch: of that of earlier frames, or
// else any but a Status.
func (f *following) isExpected(frame decode.Frame) bool {
	kind := frame.Kind
	if f.coding == JSON {
		var about metav1.TypeMeta
		_ = kjson.Unmarshal(frame.Object, &about)
		kind = about.GroupVersionKind()
	}
	if f.streamType != nil {
		return kind == f.streamType.kind
	}
	return f.trust.example != nil && kind.Kind != "" && kind.Kind != "Status"
}

// named returns the event that the client has made of a frame, or an event with the name of the frame's
// object if the client could not decode it.
func (f *following) named(data []byte, theirs watch.Event) watch.Event {
	if theirs.Type != watch.Error {
		return theirs
	}
	if bad, is := f.undecodable(data); is {
		err := fmt.Errorf("unable to decode an event from the watch stream: %s of %v", bad.Type, bad.Object)
		theirs.Object = apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, string(event.CauseWatchDecoding)).AsObject(err)
	}
	return theirs
}

// decoderOf returns the decoder of the stream. If its type is not known yet, it is that of theirs, an
// object that the client made.
func (f *following) decoderOf(theirs runtime.Object) (*decoder, error) {
	if f.streamType != nil {
		return f.streamType.decoder, nil
	}
	t := reflect.TypeOf(theirs)
	if expected := f.trust.example; expected != nil && t != expected {
		return nil, fmt.Errorf("an object is a %v", t)
	}
	if by := f.trust.decoder(t, f.coding, f.drops); by != nil {
		return by, nil
	}
	return nil, fmt.Errorf(noDecoder+" %s", f.coding)
}

// ask passes a frame to the client and waits for its event. The frame must be taken back. It
// returns false if run must return, also because the client, or a transport between, has read all of
// the frame, wants more, and sends no event.
func (f *following) ask(frame []byte) (theirs watch.Event, answered bool) {
	f.body.hand(frame)
	starved, late := f.body.starved, (<-chan time.Time)(nil)
	for {
		select {
		case theirs, answered = <-f.client.ResultChan():
			return theirs, answered
		case <-f.stopped:
			return theirs, false
		case <-starved:
			starved, late = nil, time.After(decodingTime)
		case <-late:
			f.trust.options.Ledger.TurnedOff(wantsMore, reasonOf(wantsMore))
			f.release("")
			return theirs, false
		}
	}
}

// keep returns an event of the client's with the fields that the informer keeps.
func (f *following) keep(e watch.Event) watch.Event {
	switch e.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		f.trust.options.kept.Prune(e.Object)
	}
	return e
}

// emit sends an event. It returns false if the watch was stopped.
func (f *following) emit(e watch.Event) bool {
	select {
	case f.events <- e:
		return true
	case <-f.stopped:
		return false
	}
}

// release gives the body, including the bytes read from it, back to the client, and forwards the
// events of the client until the watch ends. If there is one that is no error, why is the reason why
// the client decodes, or "" if the reason is known.
func (f *following) release(why string) {
	f.body.release(f.frames.Rest())
	for {
		select {
		case e, open := <-f.client.ResultChan():
			if !open {
				return
			}
			if why != "" && e.Type != watch.Error {
				f.trust.options.Ledger.TurnedOff(why, reasonOf(why))
				why = ""
			}
			if !f.emit(f.keep(e)) {
				return
			}
		case <-f.stopped:
			return
		}
	}
}
