// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestWatchErrors(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the handler is called for a failing LIST, each time", run: errorsOfList},
		{name: "the handler gets a reflector to ask and the context of Run", run: errorsIdentity},
		{name: "the handler is called when the watch cannot start", run: errorsOfWatchStart, only: byList},
		{name: "the handler is called when the watch starts too old", run: errorsOfExpiredStart, only: byList},
		{name: "the handler is not called for 429 at the start of the watch", run: errorsTooMany, only: byList},
		{name: "the handler is not called for a refused connection", run: errorsRefused, only: byList},
		{name: "the handler is not called for a watch that expires", run: errorsExpired},
		{name: "the handler is not called for a watch that breaks", run: errorsBroken},
		{name: "the handler is not called for error events", run: errorsEvents},
		{name: "the handler is not called when a stream falls back to LIST", run: errorsFallback, only: byStream},
		{name: "the handler is called for a list that cannot be stored", run: errorsOfReplace, only: byList},
		{name: "without a handler errors are reported", run: errorsDefault},
		{name: "the last handler counts", run: errorsLastHandler},
		{name: "an expired LIST is repeated at once without a version", run: errorsListExpired, only: byList},
		{name: "an expired stream starts over without a version", run: errorsStreamExpired, only: byStream},
		{name: "a stream that is refused without a version", run: errorsStreamNewestRefused, only: byStream},
		{name: "an event of an unknown type", run: errorsUnknownEvent},
		{name: "objects of another type are reported and left out", run: errorsForeign},
		{name: "canceling ends a backoff", run: errorsCancelBackoff},
		{name: "canceling does not wait for a LIST", run: errorsCancelList, only: byList},
		{name: "canceling does not wait for a watch to start", run: errorsCancelWatchStart},
	})
}

// complaints collects the calls of a watch error handler.
type complaints struct {
	mu   sync.Mutex
	errs []error
}

func (c *complaints) handle(_ *cache.Reflector, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

func (c *complaints) take() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.errs
	c.errs = nil
	return out
}

// watched makes an informer whose watch errors are collected, with one handler.
func (s *stage) watched(t *testing.T) (cache.SharedIndexInformer, *complaints, *recorder) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	c, rec := &complaints{}, &recorder{}
	require.NoError(t, informer.SetWatchErrorHandler(c.handle))
	add(t, informer, rec)
	return informer, c, rec
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rights"))

func errorsOfList(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	s.start(informer)
	errs := c.take()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsForbidden(errs[0]), "wrapped, not flattened: %v", errs[0])
	assert.ErrorContains(t, errs[0], "failed to list *v1.Pod")
	assert.False(t, informer.HasSynced())
	pass(time.Minute)
	assert.Greater(t, len(c.take()), 2, "at every try")
	s.source.failLists(nil)
	s.source.failWatches(nil)
	s.source.put(pod("a", ""))
	pass(time.Minute)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	assert.True(t, informer.HasSynced())
}

type contextKey struct{}

func errorsIdentity(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ObjectDescription: "my pods"})
	var versions []string
	var values []any
	require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, _ error) {
		assert.Equal(t, "my pods", r.TypeDescription())
		assert.NotEmpty(t, r.Name())
		versions = append(versions, r.LastSyncResourceVersion())
		values = append(values, ctx.Value(contextKey{}))
	}))
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	s.startWith(context.WithValue(context.Background(), contextKey{}, "mine"), informer)
	assert.Equal(t, []string{""}, versions)
	assert.Equal(t, []any{"mine"}, values)
	s.source.failLists(nil)
	s.source.failWatches(nil)
	pass(time.Minute)
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	versions = nil
	s.source.expire()
	pass(time.Minute)
	require.NotEmpty(t, versions)
	assert.Equal(t, "10", versions[0])
}

func errorsOfWatchStart(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.failWatches(forbidden)
	s.start(informer)
	errs := c.take()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsForbidden(errs[0]))
	assert.True(t, informer.HasSynced(), "the list came through")
	pass(10 * time.Second)
	assert.Greater(t, len(verbs(s.source.takeRequests())), 2, "lists and watches again")
}

func errorsOfExpiredStart(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.failWatches(apierrors.NewResourceExpired("too old"))
	s.start(informer)
	errs := c.take()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsResourceExpired(errs[0]))
	s.source.failWatches(nil)
	pass(10 * time.Second)
	assert.Equal(t, []string{"list@0", "watch@10", "list@10", "watch@10"}, verbs(s.source.takeRequests()))
}

func errorsTooMany(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.failWatches(apierrors.NewTooManyRequests("busy", 1))
	s.start(informer)
	pass(time.Minute)
	asked := verbs(s.source.takeRequests())
	assert.Greater(t, len(asked), 3)
	assert.Equal(t, "list@0", asked[0])
	assert.NotContains(t, asked[1:], "list@10", "no relist")
	assert.Empty(t, c.take())
	s.source.failWatches(nil)
	s.source.put(pod("a", ""))
	pass(time.Minute)
	assert.Equal(t, []string{"add a@11"}, rec.take())
}

func errorsRefused(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.failWatches(syscall.ECONNREFUSED)
	s.start(informer)
	pass(time.Minute)
	asked := verbs(s.source.takeRequests())
	assert.Greater(t, len(asked), 3)
	assert.NotContains(t, asked[1:], "list@10")
	assert.Empty(t, c.take())
}

func errorsExpired(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.put(pod("a", ""))
	s.start(informer)
	s.source.takeRequests()
	s.source.expire()
	pass(time.Minute)
	assert.Empty(t, c.take())
	assert.Empty(t, reported.errors())
	want := []string{"list@11", "watch@11"}
	if s.source.mode == byStream {
		want = []string{"stream@11"}
	}
	assert.Equal(t, want, verbs(s.source.takeRequests()), "the last version is tried first")
}

func errorsBroken(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.start(informer)
	s.source.put(pod("a", ""))
	settle()
	s.source.takeRequests()
	s.source.cut()
	s.source.put(pod("b", ""))
	pass(time.Minute)
	assert.Equal(t, []string{"watch@11"}, verbs(s.source.takeRequests()), "the watch goes on where it was")
	assert.Equal(t, []string{"add a@11", "add b@12"}, rec.take())

	s.source.cut()
	settle()
	s.source.cut()
	pass(time.Minute)
	asked := verbs(s.source.takeRequests())
	require.Greater(t, len(asked), 1)
	assert.Equal(t, "watch@12", asked[0])
	whole := "list@12"
	if s.source.mode == byStream {
		whole = "stream@12"
	}
	assert.Equal(t, differs(t, s.impl, "a watch that ends at once is opened again, client-go asks for the whole state", true, false),
		slices.Contains(asked, whole))
	assert.Empty(t, c.take())
}

func errorsEvents(t *testing.T, s *stage) {
	for name, event := range map[string]watch.Event{
		"429":      failure(apierrors.NewTooManyRequests("busy", 1)),
		"internal": failure(apierrors.NewInternalError(errors.New("oops"))),
		"other":    failure(apierrors.NewForbidden(schema.GroupResource{}, "", nil)),
	} {
		s.source = newSource(s.source.mode)
		informer, c, rec := s.watched(t)
		r := s.start(informer)
		s.source.put(pod("a", ""))
		settle()
		s.source.takeRequests()
		s.source.send(event)
		settle()
		s.source.put(pod("b", ""))
		pass(time.Minute)
		assert.Empty(t, c.take(), name)
		lines, asked := rec.take(), verbs(s.source.takeRequests())
		if name == "429" {
			assert.Equal(t, []string{"watch@11"}, asked, "no relist")
			assert.Equal(t, []string{"add a@11", "add b@12"}, lines)
		} else {
			assert.Contains(t, []string{"list@11", "stream@11"}, asked[0], name)
			assert.ElementsMatch(t, []string{"add a@11", "update a@11 a@11", "add b@12"}, lines, name)
		}
		r.stop()
	}
}

func errorsFallback(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.put(pod("a", ""))
	s.source.onWatch(func(_ context.Context, opts metav1.ListOptions) error {
		if opts.SendInitialEvents != nil {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "", nil)
		}
		return nil
	})
	s.start(informer)
	assert.Equal(t, []string{"stream@", "list@0", "watch@11"}, verbs(s.source.takeRequests()))
	assert.Empty(t, c.take())
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	s.source.expire()
	pass(time.Minute)
	assert.Equal(t, []string{"stream@11", "list@11", "watch@11"}, verbs(s.source.takeRequests()), "the next round tries again")
}

func errorsOfReplace(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	require.NoError(t, informer.SetTransform(refuse))
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	s.start(informer)
	errs := c.take()
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], errRefused.Error())
	assert.False(t, informer.HasSynced())
	assert.Empty(t, informer.GetStore().List(), "all or nothing")
	assert.Empty(t, rec.take())
}

func errorsDefault(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	s.start(informer)
	assert.True(t, reported.mentions("no rights"), reported.errors())
}

func errorsLastHandler(t *testing.T, s *stage) {
	informer, first, _ := s.watched(t)
	last := &complaints{}
	require.NoError(t, informer.SetWatchErrorHandler(last.handle))
	s.source.failLists(forbidden)
	s.source.failWatches(forbidden)
	s.start(informer)
	assert.Empty(t, first.take())
	assert.Len(t, last.take(), 1)
}

func errorsListExpired(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.put(pod("a", ""))
	s.start(informer)
	s.source.takeRequests()
	rec.take()
	s.source.onList(func(_ context.Context, opts metav1.ListOptions) error {
		if opts.ResourceVersion != "" {
			return apierrors.NewResourceExpired("too old")
		}
		return nil
	})
	s.source.miss(nil, "a")
	s.source.expire()
	pass(time.Minute)
	assert.Equal(t, []string{"list@11", "list@", "watch@12"}, verbs(s.source.takeRequests()))
	assert.Empty(t, c.take())
	assert.Equal(t, []string{"delete gone(a@11)"}, rec.take())

	s.source.failLists(apierrors.NewResourceExpired("too old"))
	s.source.expire()
	pass(time.Minute)
	asked := verbs(s.source.takeRequests())
	assert.Equal(t, []string{"list@12", "list@", "list@", "list@"}, asked[:4], "without a version until a list succeeds")
	errs := c.take()
	require.NotEmpty(t, errs)
	assert.True(t, apierrors.IsResourceExpired(errs[0]))
}

func errorsStreamExpired(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.put(pod("a", ""))
	s.start(informer)
	s.source.takeRequests()
	rec.take()
	s.source.onWatch(func(_ context.Context, opts metav1.ListOptions) error {
		if opts.ResourceVersion != "" {
			return apierrors.NewResourceExpired("too old")
		}
		return nil
	})
	s.source.miss([]*corev1.Pod{pod("b", "")})
	s.source.expire()
	pass(time.Minute)
	assert.Equal(t, []string{"stream@11", "stream@"}, verbs(s.source.takeRequests()))
	assert.Empty(t, c.take())
	assert.ElementsMatch(t, []string{"update a@11 a@11", "add b@12"}, rec.take())
}

func errorsForeign(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.start(informer)
	s.source.send(watch.Event{Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", ResourceVersion: "90"}}})
	settle()
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.Empty(t, c.take())
	assert.NotEmpty(t, reported.errors())
	assert.Equal(t, "11", informer.LastSyncResourceVersion())
}

func errorsCancelBackoff(t *testing.T, s *stage) {
	informer, _, _ := s.watched(t)
	s.source.failWatches(apierrors.NewTooManyRequests("busy", 1))
	r := s.start(informer)
	pass(time.Second / 10)
	took := elapsed(r.stop)
	if s.source.mode == byStream && differs(t, s.impl, "canceling ends the backoff of a stream at once, client-go sleeps on", true, false) {
		assert.Greater(t, took, time.Duration(0))
		return
	}
	assert.Zero(t, took)
}

func errorsCancelList(t *testing.T, s *stage) {
	informer, _, _ := s.watched(t)
	g := newGate()
	canceled := make(chan struct{})
	s.source.onList(func(ctx context.Context, _ metav1.ListOptions) error {
		<-ctx.Done()
		close(canceled)
		g.pass()
		return nil
	})
	r := s.start(informer)
	r.stop()
	<-canceled
	assert.Empty(t, informer.GetStore().List())
	assert.False(t, informer.HasSynced())
	g.open()
}

func errorsCancelWatchStart(t *testing.T, s *stage) {
	informer, _, _ := s.watched(t)
	g := newGate()
	s.source.onWatch(func(context.Context, metav1.ListOptions) error {
		g.pass()
		return nil
	})
	r := s.start(informer)
	r.cancel(nil)
	settle()
	assert.Equal(t, differs(t, s.impl, "Run does not wait for a WATCH that ignores its context", false, true), r.returned())
	g.open()
	<-r.done
	settle()
	assert.Zero(t, s.source.open(), "a watch that comes too late is stopped")
}

func errorsStreamNewestRefused(t *testing.T, s *stage) {
	for _, refusal := range []error{
		apierrors.NewResourceExpired("too old"),
		&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 504, Reason: metav1.StatusReasonTimeout,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}}},
	} {
		refused := 0
		s.source.onWatch(func(_ context.Context, opts metav1.ListOptions) error {
			if opts.SendInitialEvents == nil || refused == 5 {
				return nil
			}
			refused++
			return refusal
		})
		informer := s.shared(cache.SharedIndexInformerOptions{})
		running := s.start(informer)
		want := []string{"stream@", "stream@", "stream@", "stream@", "stream@", "stream@"}
		assert.Equal(t, differs(t, s.impl, "a stream that is refused without a version is followed by a LIST; client-go asks again at once, for ever",
			want, []string{"stream@", "list@", "watch@10"}), verbs(s.source.takeRequests()))
		running.stop()
		s.source.onWatch(nil)
	}
}

func errorsUnknownEvent(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	s.start(informer)
	s.source.send(watch.Event{Type: "UNHEARD-OF", Object: pod("a", "20")})
	settle()
	assert.NotEmpty(t, reported.errors())
	assert.Empty(t, informer.GetStore().List())
	assert.Equal(t, differs(t, s.impl, "an event of an unknown type does not move the version", "20", "10"), informer.LastSyncResourceVersion())
}
