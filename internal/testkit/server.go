// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Server is a ListerWatcher that calls two functions with the number of the call, from 1. It
// records the requests as text: "list rv=0 limit=500" or "watch rv=7" or "stream rv=".
//
// It is for tests of the protocol itself: each answer is scripted by its number, even one that no
// server would give, and the test determines when an event is read. Other tests use cachetest,
// which answers as an API server does.
type Server struct {
	OnList   func(n int, ctx context.Context, o metav1.ListOptions) (runtime.Object, error)
	OnWatch  func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	NoStream bool // result of IsWatchListSemanticsUnSupported

	requests noted[string]

	Mu struct {
		sync.Mutex
		Lists   int
		Watches int
	}
}

func (s *Server) IsWatchListSemanticsUnSupported() bool { return s.NoStream }

func (s *Server) List(o metav1.ListOptions) (runtime.Object, error) {
	panic("the reflector must call ListWithContext")
}

func (s *Server) Watch(o metav1.ListOptions) (watch.Interface, error) {
	panic("the reflector must call WatchWithContext")
}

func (s *Server) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	text := fmt.Sprintf("list rv=%s limit=%d", o.ResourceVersion, o.Limit)
	if o.Continue != "" {
		text += " continue=" + o.Continue
	}
	return s.OnList(s.note(text, &s.Mu.Lists), ctx, o)
}

func (s *Server) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	kind := "watch"
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		kind = "stream"
	}
	return s.OnWatch(s.note(kind+" rv="+o.ResourceVersion, &s.Mu.Watches), ctx, o)
}

func (s *Server) note(text string, counter *int) int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.requests.add(text)
	*counter++
	return *counter
}

// Requests returns the requests so far.
func (s *Server) Requests() []string { return s.requests.list() }

// ListWatchOf returns a ListWatch of the methods of a client, like the informers of factories.
func ListWatchOf[L runtime.Object](c interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}) *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return c.List(ctx, o) },
		WatchFuncWithContext: c.Watch,
	}
}

// ListOf returns a list function that returns the errors in turn and then list.
func ListOf(list runtime.Object, errs ...error) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		if n <= len(errs) {
			return nil, errs[n-1]
		}
		return list, nil
	}
}

// Watches returns a watch function that returns the answers in turn (scripts, watchers or errors),
// and then watchers without events.
func Watches(answers ...any) func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
		if n > len(answers) {
			return watch.NewFake(), nil
		}
		switch answer := answers[n-1].(type) {
		case error:
			return nil, answer
		case Script:
			return answer.Open(), nil
		default:
			return answer.(watch.Interface), nil
		}
	}
}

// Script is a sequence of events of a watcher. The watcher is created at the request, so that it
// belongs to the bubble.
type Script []watch.Event

// Sent returns the script of the events. The watcher remains open unless Closed is the last one.
func Sent(events ...watch.Event) Script { return events }

func (s Script) Open() watch.Interface {
	w := NewScriptedWatch(len(s))
	for _, e := range s {
		if e.Type == Closed.Type {
			close(w.Events)
			return w
		}
		w.Events <- e
	}
	return w
}

// Closed stands for the end of a watch in Sent.
var Closed = watch.Event{Type: "closed"}

// ScriptedWatch is a watcher that, unlike watch.FakeWatcher, delivers its events even after Stop,
// and counts the calls of Stop.
type ScriptedWatch struct {
	Events  chan watch.Event
	Stopped chan struct{} // one element for each call of Stop, up to 8
}

func NewScriptedWatch(size int) *ScriptedWatch {
	return &ScriptedWatch{Events: make(chan watch.Event, size), Stopped: make(chan struct{}, 8)}
}

func (w *ScriptedWatch) Stop() { w.Stopped <- struct{}{} }

func (w *ScriptedWatch) ResultChan() <-chan watch.Event { return w.Events }

func PodAt(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID("uid-" + name)}}
}

func PodList(version string, pods ...*v1.Pod) *v1.PodList {
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

func PodIn(namespace, name, version string) *v1.Pod {
	pod := PodAt(name, version)
	pod.Namespace = namespace
	return pod
}

func Added(name, version string) watch.Event {
	return watch.Event{Type: watch.Added, Object: PodAt(name, version)}
}

func Modified(name, version string) watch.Event {
	return watch.Event{Type: watch.Modified, Object: PodAt(name, version)}
}

func Deleted(name, version string) watch.Event {
	return watch.Event{Type: watch.Deleted, Object: PodAt(name, version)}
}

func Bookmark(version string) watch.Event {
	return watch.Event{Type: watch.Bookmark, Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}}
}

// EndMark returns the bookmark at the end of a watch-list.
func EndMark(version string) watch.Event {
	event := Bookmark(version)
	event.Object.(*v1.Pod).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return event
}

func FailedWith(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

var (
	ErrExpired         = apierrors.NewResourceExpired("too old")
	ErrTooManyRequests = apierrors.NewTooManyRequests("later", 1)
	ErrInternal        = apierrors.NewInternalError(fmt.Errorf("no leader"))
	ErrRefused         = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	ErrForbidden       = apierrors.NewForbidden(v1.Resource("pods"), "", fmt.Errorf("no"))
)

// StoreLog is a store that records its calls as text: "replace 5: a@1 b@2", "add a@3", "resync".
type StoreLog struct {
	Fail func(entry string) error // returns the result of each call; may be nil

	entries noted[string]
}

func (j *StoreLog) Note(entry string) error {
	j.entries.add(entry)
	if j.Fail != nil {
		return j.Fail(entry)
	}
	return nil
}

func NameAt(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return accessor.GetName() + "@" + accessor.GetResourceVersion()
}

func (j *StoreLog) Add(obj any) error { return j.Note("add " + NameAt(obj)) }

func (j *StoreLog) Update(obj any) error { return j.Note("update " + NameAt(obj)) }

func (j *StoreLog) Delete(obj any) error { return j.Note("delete " + NameAt(obj)) }

func (j *StoreLog) Resync() error { return j.Note("resync") }

func (j *StoreLog) Replace(list []any, version string) error {
	text := "replace " + version + ":"
	for _, obj := range list {
		text += " " + NameAt(obj)
	}
	return j.Note(text)
}

func (j *StoreLog) Entries() []string { return j.entries.list() }

// Handled collects the errors passed to the watch-error handler.
type Handled struct{ errs noted[error] }

func (h *Handled) Handle(_ context.Context, _ *clientgo.Reflector, err error) { h.errs.add(err) }

func (h *Handled) Errors() []error { return h.errs.list() }

// Second returns a backoff with constant delays of a second.
func Second() *wait.Backoff {
	return &wait.Backoff{Duration: time.Second, Factor: 1, Steps: 1 << 20}
}

// InBackground calls run in a goroutine, with a context that ends with the test or with stop, which
// waits for the return of run.
func InBackground(t *testing.T, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Reports collects the errors passed to HandleError until the test ends.
func Reports(t *testing.T) func() []string {
	var texts noted[string]
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, msg string, keysAndValues ...any) {
		texts.add(strings.TrimSuffix(fmt.Sprintln(append([]any{msg, err}, keysAndValues...)...), "\n"))
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	return texts.list
}

// FirstCalls compares the beginning of got with want.
func FirstCalls(t *testing.T, want, got []string) {
	t.Helper()
	assert.Equal(t, want, got[:min(len(got), len(want))], "all: %v", got)
}

// Logged collects the lines of a logger.
type Logged struct{ lines noted[string] }

func (l *Logged) Write(prefix, args string) { l.lines.add(prefix + args) }

func (l *Logged) Take() []string { return l.lines.take() }

// Count returns the number of lines that contain part.
func (l *Logged) Count(part string) int { return len(About(part, l.lines.list())) }

// Loud returns a context whose logger writes up to this verbosity, and the logger's lines.
func Loud(t *testing.T, verbosity int) (context.Context, *Logged) {
	lines := &Logged{}
	return klog.NewContext(t.Context(), funcr.New(lines.Write, funcr.Options{Verbosity: verbosity})), lines
}

// Patience bounds waits in real time, in tests outside of a bubble: far longer than any takes, even
// on a busy machine.
const Patience = time.Minute
