// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source is a minimal in-memory API server of one resource for benchmarks: it answers a
// list, a watch-list and a watch at the lowest cost. The log and the goroutine per stream of
// cachetest would be measured, too.
//
// A source serves a generation of a population. Its list is built by New, so that neither side is
// charged for it.
//
// Every watch is a Stream, which Next returns after the initial events, if any. Methods of Source and
// Stream may be called concurrently.
package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
)

// Options configures a source. The zero value serves lists, and watches through unbuffered channels
// as client-go's HTTP client does.
type Options struct {
	// WatchList makes the source support streaming lists, so that a reflector requests no others.
	WatchList bool
	// ChannelCapacity is the number of slots of every ResultChan.
	ChannelCapacity int
}

// Generation is one state of the server.
type Generation struct {
	pods            []*corev1.Pod
	list            func() []corev1.Pod // made once, by the first call
	resourceVersion string
}

// NewGeneration returns a generation with the pods of a population. The pods are shared, except for
// the structs in typed lists, which are copies.
func NewGeneration(population *workload.Population, resourceVersion string) *Generation {
	return &Generation{
		pods:            population.Pods,
		list:            sync.OnceValue(func() []corev1.Pod { return population.List(resourceVersion).Items }),
		resourceVersion: resourceVersion,
	}
}

// Len returns the number of pods.
func (g *Generation) Len() int { return len(g.pods) }

// Source is a ListerWatcherWithContext.
type Source struct {
	*clientgo.ListWatch
	options    Options
	generation *Generation
	streams    chan *Stream
}

// maxStreams is the maximum number of streams that Next has not returned yet. More would mean that
// a reflector reconnects in a loop.
const maxStreams = 64

// New makes a source that serves the generation. Without WatchList, it also builds the list that all
// requests share.
func New(generation *Generation, options Options) *Source {
	s := &Source{options: options, generation: generation, streams: make(chan *Stream, maxStreams)}
	s.ListWatch = &clientgo.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
	if !options.WatchList {
		generation.list()
	}
	return s
}

// IsWatchListSemanticsUnSupported reports whether a reflector must list instead of streaming. Its
// name is defined by client-go.
func (s *Source) IsWatchListSemanticsUnSupported() bool { return !s.options.WatchList }

// list answers with the generation's list.
func (s *Source) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	items := s.generation.list()
	list := &corev1.PodList{Items: items[:len(items):len(items)]}
	list.ResourceVersion = s.generation.resourceVersion
	return list, nil
}

// watch opens a stream. If the options request initial events, the stream begins with the
// generation and the bookmark that ends it.
func (s *Source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	stream := newStream(s.options.ChannelCapacity)
	if options.SendInitialEvents == nil || !*options.SendInitialEvents {
		return stream, s.announce(stream)
	}
	go func() {
		if stream.sendInitial(ctx, s.generation) == nil && s.announce(stream) != nil {
			stream.Stop()
		}
	}()
	return stream, nil
}

func (s *Source) announce(stream *Stream) error {
	select {
	case s.streams <- stream:
		return nil
	default:
		return fmt.Errorf("source: %d watches are open and nobody feeds them", maxStreams)
	}
}

// Next blocks until a stream is ready for events, and returns the streams in the order in which they
// became ready.
func (s *Source) Next(ctx context.Context) (*Stream, error) {
	select {
	case stream := <-s.streams:
		return stream, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("source: waiting for a watch: %w", context.Cause(ctx))
	}
}

// Stream is one watch. Its ResultChan is never closed: only the receiver ends the stream.
type Stream struct {
	*watch.ProxyWatcher
	events chan watch.Event
}

func newStream(capacity int) *Stream {
	events := make(chan watch.Event, capacity)
	return &Stream{watch.NewProxyWatcher(events), events}
}

// SendAll sends all events in order, each by a plain channel operation. A select over the events
// that may end the stream would cost a fifth of the time that kinformer's informer needs for an
// event.
func (s *Stream) SendAll(ctx context.Context, events []watch.Event) error {
	return s.during(ctx, func() {
		for _, event := range events {
			s.events <- event
		}
	})
}

// during runs send, which sends to the channel. If the receiver stops or ctx ends, during returns the
// reason, and send remains blocked: the benchmark ends with the error.
func (s *Stream) during(ctx context.Context, send func()) error {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send()
	}()
	select {
	case <-sent:
		return nil
	case <-s.StopChan():
		return errors.New("source: the watch was stopped by its receiver")
	case <-ctx.Done():
		return fmt.Errorf("source: sending: %w", context.Cause(ctx))
	}
}

// sendInitial sends a generation, and the bookmark that ends the initial events.
func (s *Stream) sendInitial(ctx context.Context, generation *Generation) error {
	return s.during(ctx, func() {
		for _, pod := range generation.pods {
			s.events <- watch.Event{Type: watch.Added, Object: pod}
		}
		end := &corev1.Pod{}
		end.ResourceVersion = generation.resourceVersion
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		s.events <- watch.Event{Type: watch.Bookmark, Object: end}
	})
}
