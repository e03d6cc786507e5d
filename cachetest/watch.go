// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// IsWatchListSemanticsUnSupported reports whether clients of client-go should not request initial
// events. See WatchListUnsupported.
func (s *Source) IsWatchListSemanticsUnSupported() bool {
	return s.opts.WatchList == WatchListUnsupported
}

// Watch is WatchWithContext with a context that never ends.
func (s *Source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// WatchWithContext opens a stream as an API server does, which ends with ctx.
//
//   - resourceVersion "" or "0": an ADDED event for each object, in the order
//     of their keys, the bookmark that ends them if bookmarks are allowed and
//     watch-lists are served, then later writes;
//   - N: the writes after N; 410 if N was compacted. If N is in the future, the
//     stream is silent until the counter has passed it;
//   - SendInitialEvents true: an ADDED event for each object, the bookmark that
//     ends them if bookmarks are allowed, then later writes; 504 if N is in the
//     future. False: no initial events from "" and "0" either.
//
// With a selector (see ListWithContext) it delivers the changes of the selected objects: an object that
// enters the selection by an update is ADDED, and one that leaves it is DELETED.
//
// The stream has one goroutine, which has ended when Stop returns.
func (s *Source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	fault, scripted := s.begin(verbOfWatch(options), options)
	ctx, err := s.hold(ctx, fault)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, options, fault.Stream, scripted)
}

func (s *Source) open(ctx context.Context, options metav1.ListOptions, script StreamScript, scripted bool) (watch.Interface, error) {
	if err := s.lockToAnswer(ctx, scripted); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.opts.WatchList == WatchListIgnored {
		options.SendInitialEvents, options.ResourceVersionMatch = nil, ""
	}
	selected, err := s.selectionOf(options)
	if err != nil {
		return nil, err
	}
	if err := s.admitLocked(options); err != nil {
		return nil, err
	}
	begin, err := s.beginningLocked(s.defaulted(options), selected)
	if err != nil && s.opts.FailAtStart {
		return nil, err
	}
	if err != nil {
		begin = s.fromNowLocked()
		script = StreamScript{First: []watch.Event{ErrorEvent(err)}, Cut: true, CutAfter: 1}
	}
	if script.OmitInitialEventsEnd {
		begin.first = slices.DeleteFunc(begin.first, func(e watch.Event) bool { return e.Type == watch.Bookmark })
	}
	begin.first = append(slices.Clone(script.First), begin.first...)
	w := s.newStream(ctx, options)
	w.beginning, w.script, w.born, w.selected = begin, script, s.mu.log.next, selected
	s.mu.streams[w] = struct{}{}
	s.mu.changed.notify()
	go w.run()
	return w, nil
}

// admitLocked returns the errors of an API server that do not depend on the version.
func (s *Source) admitLocked(options metav1.ListOptions) error {
	served := s.opts.WatchList == WatchListServed
	if err := validate(options, true, served); err != nil {
		return err
	}
	if verbOfWatch(options) == VerbWatchList && s.mu.example == nil {
		return invalidOptions(field.ErrorList{field.Forbidden(field.NewPath("sendInitialEvents"),
			"the source knows no type for its bookmark: set Options.Example or Options.NewList")})
	}
	if _, err := parseRV(options.ResourceVersion); err != nil {
		return unversioned(err)
	}
	return nil
}

// defaulted returns options with the API server's defaults: a watch from "" or "0" requests its initial
// events.
func (s *Source) defaulted(options metav1.ListOptions) metav1.ListOptions {
	full := internalversion.ListOptions{
		Watch: true, ResourceVersion: options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch, SendInitialEvents: options.SendInitialEvents,
	}
	internalversion.SetListOptionsDefaults(&full, s.opts.WatchList == WatchListServed)
	options.SendInitialEvents = full.SendInitialEvents
	return options
}

// beginning is the start of a stream.
type beginning struct {
	// first are the events before those of the log: of the script, of the initial state, and the
	// bookmark that ends it.
	first []watch.Event
	// next is the position in the log to continue from. While the stream is open, it is at least the
	// log's first: compactions ensure that, and every stream begins so, including one with only an
	// error.
	next uint64
	// floor is the resourceVersion up to which changes are skipped.
	floor uint64
}

func (s *Source) beginningLocked(options metav1.ListOptions, selected selection) (beginning, error) {
	rv, err := parseRV(options.ResourceVersion)
	if err != nil {
		return beginning{}, err
	}
	send := options.SendInitialEvents
	switch {
	case send != nil && *send && rv > s.mu.rv:
		return beginning{}, s.tooLargeLocked(rv)
	case send != nil && *send && options.AllowWatchBookmarks && s.mu.example != nil:
		b := s.stateLocked(selected)
		b.first = append(b.first, watch.Event{Type: watch.Bookmark, Object: newBookmark(s.mu.example, s.mu.rv, true)})
		return b, nil
	case send != nil && *send, send == nil && rv == 0:
		return s.stateLocked(selected), nil
	case rv == 0:
		return s.fromNowLocked(), nil
	case !s.mu.log.replayable(rv):
		return beginning{}, expired(rv, s.mu.log.compacted)
	}
	return beginning{next: s.mu.log.after(rv), floor: rv}, nil
}

// fromNowLocked returns the beginning of a stream without a past.
func (s *Source) fromNowLocked() beginning { return beginning{next: s.mu.log.next} }

// stateLocked returns the beginning with the current state.
func (s *Source) stateLocked(selected selection) beginning {
	b := s.fromNowLocked()
	for _, obj := range s.pageLocked(query{rv: s.mu.rv, selected: selected}).objects {
		b.first = append(b.first, watch.Event{Type: watch.Added, Object: obj})
	}
	return b
}

// stream is one watch: a cursor in the log and the goroutine that moves it.
type stream struct {
	src       *Source
	ctx       context.Context
	cancel    context.CancelFunc
	bookmarks bool
	timeout   <-chan time.Time
	result    chan watch.Event
	done      chan struct{}

	// The following fields belong to the goroutine of run, except next, which Source reads: it is
	// written under the source's lock.
	beginning
	script   StreamScript
	selected selection
	// born is the log's end when the stream was opened: of the entries before, only changes are
	// delivered.
	born uint64
	// sent is the number of delivered events.
	sent int
}

func (s *Source) newStream(ctx context.Context, options metav1.ListOptions) *stream {
	w := &stream{
		src:       s,
		bookmarks: options.AllowWatchBookmarks,
		result:    make(chan watch.Event, s.opts.Buffer),
		done:      make(chan struct{}),
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if seconds := options.TimeoutSeconds; seconds != nil && s.opts.HonorTimeout {
		w.timeout = time.After(time.Duration(*seconds) * time.Second)
	}
	return w
}

// ResultChan returns the events. It is closed when the stream has ended.
func (w *stream) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the stream, and returns when its goroutine has ended. It may be called several times, by
// any goroutine.
func (w *stream) Stop() {
	w.cancel()
	<-w.done
}

func (w *stream) run() {
	defer w.close()
	for !(w.script.Cut && w.sent >= w.script.CutAfter) && w.do(w.poll()) {
	}
}

func (w *stream) close() {
	w.cancel()
	w.src.mu.Lock()
	delete(w.src.mu.streams, w)
	w.src.mu.changed.notify()
	w.src.mu.Unlock()
	close(w.result)
	close(w.done)
}

// step is the next action of a stream: the first one set of ending, waiting, and delivering the event.
type step struct {
	over  bool
	wait  <-chan struct{}
	event watch.Event
}

// do performs a step. It returns false if the stream has ended.
func (w *stream) do(next step) bool {
	if next.over {
		return false
	}
	result := w.result
	if next.wait != nil {
		result = nil
	}
	select {
	case <-next.wait:
		return true
	case result <- w.src.copyEvent(next.event):
		w.sent++
		return true
	case <-w.ctx.Done():
	case <-w.timeout:
	}
	return false
}

// poll returns the next step. An event that it returns counts as taken.
func (w *stream) poll() step {
	s := w.src
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.ctx.Err() != nil:
		return step{over: true}
	case !w.seekLocked() || s.mu.stalls > 0:
		return step{wait: s.mu.changed.wait()}
	}
	return w.takeLocked()
}

// seekLocked moves the cursor over entries that this stream does not deliver, and reports whether there
// is one that it does.
func (w *stream) seekLocked() bool {
	if len(w.first) > 0 {
		return true
	}
	log := &w.src.mu.log
	for w.next < log.next && !w.delivers(log.at(w.next)) {
		w.next++
	}
	return w.next < log.next
}

func (w *stream) delivers(e *entry) bool {
	switch {
	case e.lost, e.kind == change && e.rv <= w.floor, e.kind != change && e.seq < w.born:
		return false
	case e.kind == bookmark:
		return w.bookmarks
	}
	return !e.isWrite() || w.selected.typeOf(e) != ""
}

// takeLocked takes the event that seekLocked has found.
func (w *stream) takeLocked() step {
	if len(w.first) > 0 {
		event := w.first[0]
		w.first = w.first[1:]
		return step{event: event}
	}
	e := w.src.mu.log.at(w.next)
	w.next++
	switch e.kind {
	case cut:
		return step{over: true}
	case bookmark:
		return step{event: watch.Event{Type: watch.Bookmark, Object: newBookmark(w.src.mu.example, e.rv, false)}}
	}
	if e.isWrite() && !w.selected.all() {
		return step{event: w.selected.eventOf(e)}
	}
	return step{event: e.event}
}

// copyEvent returns the event with a copy of its object, unless objects are shared. A nil object is
// kept.
func (s *Source) copyEvent(event watch.Event) watch.Event {
	v := reflect.ValueOf(event.Object)
	if s.opts.Share || !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return event
	}
	event.Object = event.Object.DeepCopyObject()
	return event
}
