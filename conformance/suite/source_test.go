// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// sourceMode says how a source offers its initial state.
type sourceMode string

const (
	// byList makes the reflector use LIST and WATCH.
	byList sourceMode = "list"
	// byStream makes it use a watch-list stream.
	byStream sourceMode = "stream"
)

// source is a scripted API server for pods: a current state, the history since the start, and a log
// of the requests. It is not cachetest's, which is held to what a server does: here objects have no
// UID and perhaps no version, writes are kept from open streams (miss) or get no version (keep),
// and events say what no server says. Every method is safe for concurrent use. The hooks onList and
// onWatch are asked before a request is answered; an error of theirs is the answer. They are called
// without the lock.
type source struct {
	mode sourceMode
	mu   struct {
		sync.Mutex
		rv       int
		pods     map[string]*corev1.Pod
		history  []watch.Event
		streams  []*stream
		requests []request
		onList   func(context.Context, metav1.ListOptions) error
		onWatch  func(context.Context, metav1.ListOptions) error
	}
}

// request is one call of the reflector: verb is "list", "watch" or "stream" (a watch that asks for
// the initial events).
type request struct {
	verb string
	opts metav1.ListOptions
}

func newSource(mode sourceMode) *source {
	s := &source{mode: mode}
	s.mu.rv = 10
	s.mu.pods = map[string]*corev1.Pod{}
	return s
}

// IsWatchListSemanticsUnSupported keeps reflectors from streaming when the source is to be listed.
func (s *source) IsWatchListSemanticsUnSupported() bool { return s.mode == byList }

// List is only there for the interface; reflectors prefer the form with a context.
func (s *source) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

// Watch is only there for the interface.
func (s *source) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

// ListWithContext answers the state, ordered by name.
func (s *source) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	if err := s.ask(ctx, "list", opts); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.mu.rv)}}
	for _, name := range slices.Sorted(maps.Keys(s.mu.pods)) {
		list.Items = append(list.Items, *s.mu.pods[name].DeepCopy())
	}
	return list, nil
}

// WatchWithContext opens a stream: the initial events and their bookmark if asked for, else what
// happened since the resource version.
func (s *source) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	verb := "watch"
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb = "stream"
	}
	if err := s.ask(ctx, verb, opts); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := newStream()
	if verb == "stream" {
		s.sendStateLocked(w)
	} else {
		s.sendHistoryLocked(w, opts.ResourceVersion)
	}
	s.mu.streams = append(s.mu.streams, w)
	return w, nil
}

func (s *source) ask(ctx context.Context, verb string, opts metav1.ListOptions) error {
	s.mu.Lock()
	s.mu.requests = append(s.mu.requests, request{verb, opts})
	hook := s.mu.onWatch
	if verb == "list" {
		hook = s.mu.onList
	}
	s.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(ctx, opts)
}

func (s *source) sendStateLocked(w *stream) {
	for _, name := range slices.Sorted(maps.Keys(s.mu.pods)) {
		w.send(watch.Event{Type: watch.Added, Object: s.mu.pods[name].DeepCopy()})
	}
	w.send(bookmark(strconv.Itoa(s.mu.rv), true))
}

func (s *source) sendHistoryLocked(w *stream, since string) {
	from, err := strconv.Atoi(since)
	if err != nil {
		return
	}
	for _, e := range s.mu.history {
		if rv, err := strconv.Atoi(e.Object.(*corev1.Pod).ResourceVersion); err == nil && rv > from {
			w.send(watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()})
		}
	}
}

// onList and onWatch set the hooks; nil removes them.
func (s *source) onList(hook func(context.Context, metav1.ListOptions) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onList = hook
}

func (s *source) onWatch(hook func(context.Context, metav1.ListOptions) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onWatch = hook
}

// failLists makes every LIST answer the error, nil lets them through again.
func (s *source) failLists(err error) {
	s.onList(func(context.Context, metav1.ListOptions) error { return err })
}

// failWatches does the same for watches and streams.
func (s *source) failWatches(err error) {
	s.onWatch(func(context.Context, metav1.ListOptions) error { return err })
}

// put writes the pod at the next resource version and sends the event. It returns the resource
// version.
func (s *source) put(p *corev1.Pod) string {
	return s.change(p, true)
}

// miss writes the pods and removes the names without any event: what an informer misses while
// disconnected.
func (s *source) miss(pods []*corev1.Pod, removed ...string) {
	for _, p := range pods {
		s.change(p, false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range removed {
		delete(s.mu.pods, name)
		s.mu.rv++
	}
}

// keep writes the pod without moving any resource version and without an event.
func (s *source) keep(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.pods[p.Name] = p.DeepCopy()
}

func (s *source) change(p *corev1.Pod, tell bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rv++
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(s.mu.rv)
	kind := watch.Added
	if _, there := s.mu.pods[p.Name]; there {
		kind = watch.Modified
	}
	s.mu.pods[p.Name] = p
	if tell {
		s.tellLocked(watch.Event{Type: kind, Object: p})
	}
	return p.ResourceVersion
}

// remove deletes the pod, sending its last state at the resource version of the deletion.
func (s *source) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rv++
	last := s.mu.pods[name].DeepCopy()
	delete(s.mu.pods, name)
	last.ResourceVersion = strconv.Itoa(s.mu.rv)
	s.tellLocked(watch.Event{Type: watch.Deleted, Object: last})
}

func (s *source) tellLocked(e watch.Event) {
	s.mu.history = append(s.mu.history, e)
	for _, w := range s.mu.streams {
		w.send(watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()})
	}
}

// send puts any event on the open streams without changing the state.
func (s *source) send(e watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.send(e)
	}
}

// cut closes the open streams, as a broken connection does.
func (s *source) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.Stop()
	}
	s.mu.streams = nil
}

// expire tells the open streams that their resource version is too old, which makes the reflector
// list again.
func (s *source) expire() {
	s.send(failure(apierrors.NewResourceExpired("too old")))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.streams = nil
}

// open counts the streams that nobody stopped.
func (s *source) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.mu.streams {
		if !w.stopped() {
			n++
		}
	}
	return n
}

// takeRequests returns the requests since the last call.
func (s *source) takeRequests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.mu.requests
	s.mu.requests = nil
	return out
}

// verbs writes requests as "list@rv".
func verbs(requests []request) []string {
	out := make([]string, 0, len(requests))
	for _, r := range requests {
		out = append(out, r.verb+"@"+r.opts.ResourceVersion)
	}
	return out
}

// stream is a watch with room for more events than any case sends.
type stream struct {
	events chan watch.Event
	mu     struct {
		sync.Mutex
		stopped bool
	}
}

func newStream() *stream { return &stream{events: make(chan watch.Event, 4096)} }

func (w *stream) ResultChan() <-chan watch.Event { return w.events }

func (w *stream) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.stopped {
		w.mu.stopped = true
		close(w.events)
	}
}

func (w *stream) stopped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.stopped
}

// send drops the event when the stream was stopped.
func (w *stream) send(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.stopped {
		w.events <- e
	}
}

// bookmark is a bookmark event; initialEnd marks the end of the initial events.
func bookmark(rv string, initialEnd bool) watch.Event {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv}}
	if initialEnd {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// failure is the error event that the API error travels in.
func failure(err *apierrors.StatusError) watch.Event {
	status := err.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}
