// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// fakeServer is a ListerWatcher of two functions that are told the number of the call, from 1. It keeps what was asked, as
// text: "list rv=0 limit=500" or "watch rv=7" or "stream rv=".
type fakeServer struct {
	list     func(n int, ctx context.Context, o metav1.ListOptions) (runtime.Object, error)
	watch    func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	noStream bool // what the fakeServer says about watch-lists

	mu struct {
		sync.Mutex
		asked   []string
		lists   int
		watches int
	}
}

func (s *fakeServer) IsWatchListSemanticsUnSupported() bool { return s.noStream }

func (s *fakeServer) List(o metav1.ListOptions) (runtime.Object, error) {
	panic("the reflector must call ListWithContext")
}

func (s *fakeServer) Watch(o metav1.ListOptions) (watch.Interface, error) {
	panic("the reflector must call WatchWithContext")
}

func (s *fakeServer) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	text := fmt.Sprintf("list rv=%s limit=%d", o.ResourceVersion, o.Limit)
	if o.Continue != "" {
		text += " continue=" + o.Continue
	}
	return s.list(s.note(text, &s.mu.lists), ctx, o)
}

func (s *fakeServer) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	kind := "watch"
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		kind = "stream"
	}
	return s.watch(s.note(kind+" rv="+o.ResourceVersion, &s.mu.watches), ctx, o)
}

func (s *fakeServer) note(text string, counter *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.asked = append(s.mu.asked, text)
	*counter++
	return *counter
}

// asked returns what was asked so far.
func (s *fakeServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.asked)
}

// listOf makes a list function that always answers list.
func listOf(list runtime.Object) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil }
}

// watches makes a watch function that hands out the given answers in turn, scripts, watchers or errors, and then watchers
// that stay silent for ever.
func watches(answers ...any) func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
		if n > len(answers) {
			return watch.NewFake(), nil
		}
		switch answer := answers[n-1].(type) {
		case error:
			return nil, answer
		case script:
			return answer.open(), nil
		default:
			return answer.(watch.Interface), nil
		}
	}
}

// script is what a watcher delivers. The watcher is made when it is asked for, so that it belongs to the bubble.
type script []watch.Event

// sent is the script of the events; the watcher stays open unless closed is the last one.
func sent(events ...watch.Event) script { return events }

func (s script) open() watch.Interface {
	w := newScriptedWatch(len(s))
	for _, e := range s {
		if e.Type == closed.Type {
			close(w.events)
			return w
		}
		w.events <- e
	}
	return w
}

// closed stands for the end of a watch in sent.
var closed = watch.Event{Type: "closed"}

// scriptedWatch is a watcher that, unlike watch.FakeWatcher, delivers what it holds after Stop was called too, and counts
// the calls of Stop.
type scriptedWatch struct {
	events  chan watch.Event
	stopped chan struct{} // one element for each call of Stop, up to 8
}

func newScriptedWatch(size int) *scriptedWatch {
	return &scriptedWatch{events: make(chan watch.Event, size), stopped: make(chan struct{}, 8)}
}

func (w *scriptedWatch) Stop()                          { w.stopped <- struct{}{} }
func (w *scriptedWatch) ResultChan() <-chan watch.Event { return w.events }

func podAt(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID("uid-" + name)}}
}

func podList(version string, pods ...*v1.Pod) *v1.PodList {
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

func podIn(namespace, name, version string) *v1.Pod {
	pod := podAt(name, version)
	pod.Namespace = namespace
	return pod
}

func added(name, version string) watch.Event {
	return watch.Event{Type: watch.Added, Object: podAt(name, version)}
}

func modified(name, version string) watch.Event {
	return watch.Event{Type: watch.Modified, Object: podAt(name, version)}
}

func deleted(name, version string) watch.Event {
	return watch.Event{Type: watch.Deleted, Object: podAt(name, version)}
}

func bookmark(version string) watch.Event {
	return watch.Event{Type: watch.Bookmark, Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}}
}

// endMark is the bookmark at the end of a watch-list.
func endMark(version string) watch.Event {
	event := bookmark(version)
	event.Object.(*v1.Pod).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return event
}

func failedWith(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

var (
	errExpired         = apierrors.NewResourceExpired("too old")
	errTooManyRequests = apierrors.NewTooManyRequests("later", 1)
	errInternal        = apierrors.NewInternalError(fmt.Errorf("no leader"))
	errRefused         = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	errForbidden       = apierrors.NewForbidden(v1.Resource("pods"), "", fmt.Errorf("no"))
)

func untyped(apiVersion, kind, name, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	obj.SetResourceVersion(version)
	return obj
}

// storeLog is a store that keeps what was done to it, as text: "replace 5: a@1 b@2", "add a@3", "resync".
type storeLog struct {
	fail func(entry string) error // decides about each call; nil: all succeed

	mu struct {
		sync.Mutex
		entries []string
	}
}

func (j *storeLog) note(entry string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.entries = append(j.mu.entries, entry)
	if j.fail != nil {
		return j.fail(entry)
	}
	return nil
}

func nameAt(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return accessor.GetName() + "@" + accessor.GetResourceVersion()
}

func (j *storeLog) Add(obj any) error    { return j.note("add " + nameAt(obj)) }
func (j *storeLog) Update(obj any) error { return j.note("update " + nameAt(obj)) }
func (j *storeLog) Delete(obj any) error { return j.note("delete " + nameAt(obj)) }
func (j *storeLog) Resync() error        { return j.note("resync") }
func (j *storeLog) Replace(list []any, version string) error {
	text := "replace " + version + ":"
	for _, obj := range list {
		text += " " + nameAt(obj)
	}
	return j.note(text)
}

func (j *storeLog) entries() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.mu.entries)
}

// fullStoreLog also takes bookmarks and versions.
type fullStoreLog struct{ storeLog }

func (j *fullStoreLog) Bookmark(version string) error        { return j.note("bookmark " + version) }
func (j *fullStoreLog) UpdateResourceVersion(version string) { _ = j.note("version " + version) }

// handled keeps the errors that the watch-error handler was called with.
type handled struct {
	mu   sync.Mutex
	errs []error
}

func (h *handled) handle(_ context.Context, _ *Reflector, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *handled) errors() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.errs)
}

// second is a backoff without growth and jitter: each delay takes a second.
func second() *wait.Backoff {
	return &wait.Backoff{Duration: time.Second, Factor: 1, Steps: 1 << 20}
}

// inBackground calls run until the test ends or stop is called, which waits for the end.
func inBackground(t *testing.T, run func(context.Context)) (stop func()) {
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

// reports collects what is reported by HandleError for the time of a test.
func reports(t *testing.T) func() []string {
	var mu sync.Mutex
	var texts []string
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, msg string, keysAndValues ...any) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, strings.TrimSuffix(fmt.Sprintln(append([]any{msg, err}, keysAndValues...)...), "\n"))
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(texts)
	}
}

// firstCalls compares the beginning of got with want.
func firstCalls(t *testing.T, want, got []string) {
	t.Helper()
	assert.Equal(t, want, got[:min(len(got), len(want))], "all: %v", got)
}

// logged collects what a logger is given.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) write(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, prefix+args)
}

func (l *logged) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// count returns how many lines have part in them.
func (l *logged) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// loud is a context with a logger that keeps its lines.
func loud(t *testing.T) (context.Context, *logged) {
	lines := &logged{}
	return klog.NewContext(t.Context(), funcr.New(lines.write, funcr.Options{})), lines
}

// patience bounds waits for what takes real time, in tests that are not in a bubble: far longer than any takes, on a machine that
// is busy with something else, too.
const patience = time.Minute
