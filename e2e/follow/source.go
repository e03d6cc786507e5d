// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// Mode is how an informer gets the initial state.
type Mode string

// The two modes.
const (
	ListMode      Mode = "list"
	WatchListMode Mode = "watch-list"
)

// Source is the ListerWatcher of a resource, held to a mode. It counts what was asked of it. The exported functions are set
// before its use.
type Source struct {
	*cache.ListWatch
	Mode Mode
	// Hold stops requests: while somebody holds it, none goes out.
	Hold sync.RWMutex
	// WatchSeconds, if not nil, says for how long the server shall serve each watch.
	WatchSeconds func() int64
	// PageSize, if not 0, is the size of pages where the informer asks for pages.
	PageSize int64
	// Position and Skipped, if not nil, follow what lists leave out: before a list, or a stream of the initial state,
	// Position is asked where the informer is, and after it Skipped is told that place and the resourceVersion of the list.
	Position func() string
	Skipped  func(from, to string)

	Lists, Streams, Watches atomic.Int64 // requests
	Unfinished              atomic.Int64 // streams that the server closed before the end of the initial state
	Events                  atomic.Int64 // watch events of objects
	Expired                 atomic.Int64 // requests that ended with 410
	ExpiredPages            atomic.Int64 // those of them that continued a list
	Throttled               atomic.Int64 // requests that ended with 429
	Failed                  atomic.Int64 // requests that ended with an error, these included
}

// IsWatchListSemanticsUnSupported tells the reflector which mode to use.
func (s *Source) IsWatchListSemanticsUnSupported() bool { return s.Mode == ListMode }

// ListWithContext implements ListerWatcherWithContext.
func (s *Source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.Hold.RLock()
	defer s.Hold.RUnlock()
	s.Lists.Add(1)
	skipped := s.skipping(o.Continue != "")
	if s.PageSize > 0 && o.Limit > 0 {
		o.Limit = s.PageSize
	}
	list, err := s.ListWatch.ListWithContext(ctx, o)
	if err != nil {
		s.note(err)
		if o.Continue != "" && isExpired(err) {
			s.ExpiredPages.Add(1)
		}
		return nil, err
	}
	if m, err := meta.ListAccessor(list); err == nil {
		skipped(m.GetResourceVersion())
	}
	return list, nil
}

// WatchWithContext implements ListerWatcherWithContext.
func (s *Source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.Hold.RLock()
	defer s.Hold.RUnlock()
	streams := o.SendInitialEvents != nil && *o.SendInitialEvents
	if streams {
		s.Streams.Add(1)
	} else {
		s.Watches.Add(1)
	}
	if s.WatchSeconds != nil {
		seconds := s.WatchSeconds()
		o.TimeoutSeconds = &seconds
	}
	skipped := s.skipping(!streams)
	w, err := s.ListWatch.WatchWithContext(ctx, o)
	if err != nil {
		s.note(err)
		return nil, err
	}
	observed := &observedWatch{Interface: w, events: make(chan watch.Event), done: make(chan struct{})}
	whole := !streams
	go observed.forward(func(event watch.Event) {
		s.look(event, skipped)
		whole = whole || endsInitialState(event)
	}, func() {
		if !whole {
			s.Unfinished.Add(1)
		}
	})
	return observed, nil
}

// observedWatch shows each event to somebody on its way. Unlike that of watch.Filter its goroutine ends with Stop, whether
// or not anybody still reads.
type observedWatch struct {
	watch.Interface
	events chan watch.Event
	done   chan struct{} // closed by Stop
	once   sync.Once
}

func (w *observedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *observedWatch) Stop() {
	w.once.Do(func() { close(w.done) })
	w.Interface.Stop()
}

// forward passes the events on until the watch ends. If it was the server that ended it, closed is called before the reader
// can know.
func (w *observedWatch) forward(look func(watch.Event), closed func()) {
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		look(event)
		select {
		case w.events <- event:
		case <-w.done:
			return
		}
	}
	select {
	case <-w.done:
	default:
		closed()
	}
}

// endsInitialState reports whether the event is the bookmark at the end of the initial state.
func endsInitialState(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	m, err := meta.Accessor(event.Object)
	return err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// skipping returns what to call with the resourceVersion of the list when it is complete.
func (s *Source) skipping(never bool) func(to string) {
	if never || s.Position == nil || s.Skipped == nil {
		return func(string) {}
	}
	from := s.Position()
	return func(to string) { s.Skipped(from, to) }
}

func (s *Source) look(event watch.Event, skipped func(to string)) {
	switch event.Type {
	case watch.Error:
		s.note(apierrors.FromObject(event.Object))
	case watch.Bookmark:
		if m, err := meta.Accessor(event.Object); err == nil && endsInitialState(event) {
			skipped(m.GetResourceVersion())
		}
	default:
		s.Events.Add(1)
	}
}

func (s *Source) note(err error) {
	s.Failed.Add(1)
	switch {
	case isExpired(err):
		s.Expired.Add(1)
	case apierrors.IsTooManyRequests(err):
		s.Throttled.Add(1)
	}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
