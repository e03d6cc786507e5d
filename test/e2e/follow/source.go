// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/test/e2e/transport"
)

// Mode is how an informer gets the initial state.
type Mode string

// The two modes.
const (
	ListMode      Mode = "list"
	WatchListMode Mode = "watch-list"
)

// Source is the ListerWatcher of a resource, restricted to a mode. It counts the requests and the events
// of its watches, and returns objects as its client decoded them. The exported functions must be set
// before the first request.
type Source struct {
	*cache.ListWatch
	Mode Mode
	// Hold blocks requests while it is locked.
	Hold sync.RWMutex
	// WatchSeconds, if not nil, returns the timeout of a watch in seconds.
	WatchSeconds func() int64
	// PageSize, if not 0, replaces the limit of lists that have one.
	PageSize int64
	// Position and Skipped, if not nil, record the states that lists leave out: Position is called
	// before a list or watch-list and returns the informer's resourceVersion. Skipped is called
	// afterwards with that version and the list's.
	Position func() string
	Skipped  func(from, to string)

	Lists, Streams, Watches atomic.Int64 // requests
	Unfinished              atomic.Int64 // watch-lists that the server closed before the end of the initial state
	Events                  atomic.Int64 // watch events of objects
	Expired                 atomic.Int64 // requests that ended with 410
	ExpiredPages            atomic.Int64 // requests among them that continued a list
	ExpiredEvents           atomic.Int64 // expirations sent as a watch event
	Throttled               atomic.Int64 // requests that ended with 429
	Failed                  atomic.Int64 // requests that ended with an error, including these
}

// Drain waits until no list and no opening of a watch is in flight: a canceled request ends only once
// its client notices.
func (s *Source) Drain() {
	s.Hold.Lock()
	defer s.Hold.Unlock()
}

// IsWatchListSemanticsUnSupported reports whether the reflector must list.
func (s *Source) IsWatchListSemanticsUnSupported() bool { return s.Mode == ListMode }

// ListWithContext implements ListerWatcherWithContext.
func (s *Source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.Hold.RLock()
	defer s.Hold.RUnlock()
	s.Lists.Add(1)
	skipped := s.skipping(o.Continue != "" || o.ResourceVersionMatch == metav1.ResourceVersionMatchExact) // continued and exact lists are an audit's
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
	observed := &observer{source: s, whole: !streams, skipped: s.skipping(!streams)}
	w, err := s.ListWatch.WatchWithContext(transport.Show(ctx, observed), o)
	if err != nil {
		s.note(err)
	}
	return w, err
}

// skipping returns the function to call with the resourceVersion of the complete list.
func (s *Source) skipping(never bool) func(to string) {
	if never || s.Position == nil || s.Skipped == nil {
		return func(string) {}
	}
	from := s.Position()
	return func(to string) { s.Skipped(from, to) }
}

// observer counts the events of a watch of a Source.
type observer struct {
	source  *Source
	whole   bool // the initial state is complete, or was not requested
	skipped func(to string)
}

// Frame implements transport.Observer.
func (o *observer) Frame(media string, frame []byte) {
	event, raw, err := unwrap(media, frame)
	switch {
	case err != nil:
		o.source.note(err)
	case event == watch.Error:
		var status metav1.Status
		if err := unmarshal(media, raw, &status); err != nil {
			o.source.note(err)
			return
		}
		err := apierrors.FromObject(&status)
		o.source.note(err)
		if isExpired(err) {
			o.source.ExpiredEvents.Add(1)
		}
	case event == watch.Bookmark:
		var mark metav1.PartialObjectMetadata // all objects begin with their metadata
		if err := unmarshal(media, raw, &mark); err == nil && mark.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			o.whole = true
			o.skipped(mark.ResourceVersion)
		}
	default:
		o.source.Events.Add(1)
	}
}

// Ended implements transport.Observer.
func (o *observer) Ended(err error) {
	if !o.whole {
		o.source.Unfinished.Add(1)
	}
	if !errors.Is(err, io.EOF) {
		o.source.note(err)
	}
}

// unwrap returns the type and the encoded object of a watch event.
func unwrap(media string, frame []byte) (watch.EventType, []byte, error) {
	var event metav1.WatchEvent
	if media == runtime.ContentTypeProtobuf {
		err := event.Unmarshal(frame)
		return watch.EventType(event.Type), event.Object.Raw, err
	}
	err := json.Unmarshal(frame, &event)
	return watch.EventType(event.Type), event.Object.Raw, err
}

// unmarshal decodes an object.
func unmarshal(media string, raw []byte, into interface{ Unmarshal([]byte) error }) error {
	if media != runtime.ContentTypeProtobuf {
		return json.Unmarshal(raw, into)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(raw, []byte("k8s\x00"))); err != nil {
		return err
	}
	return into.Unmarshal(envelope.Raw)
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
