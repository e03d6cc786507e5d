// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestRelist(t *testing.T) {
	onStage(t, []informerCase{
		{name: "deletes come before adds and updates", run: relistOrder},
		{name: "adds and updates come in the order of the list", run: relistListOrder, only: byList},
		{name: "the store is complete before the first notification", run: relistAtomic},
		{name: "an object that came and went is deleted", run: relistShortLived},
		{name: "another object of the same name is an update", run: relistRecreated},
		{name: "a list with duplicate keys", run: relistDuplicates, only: byList},
		{name: "the first events of a watch without a version do not move it", run: relistSynthetic},
		{name: "versions follow watch, bookmarks and lists", run: relistVersions},
		{name: "events of a watch come in order", run: relistEventOrder},
		{name: "a stream without its bookmark is opened again", run: relistStreamWithoutEnd, only: byStream},
		{name: "streams that never bring their bookmark", run: relistStreamNeverEnds, only: byStream},
	})
}

// relisted starts an informer on the pods and returns once its handler has been notified of them.
func (s *stage) relisted(t *testing.T, names ...string) (cache.SharedIndexInformer, *recorder) {
	for _, name := range names {
		s.source.put(pod(name, ""))
	}
	informer := s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	rec := listen(t, informer)
	s.start(informer)
	require.Len(t, rec.take(), len(names))
	return informer, rec
}

// relist makes the reflector list again.
func (s *stage) relist() {
	s.source.expire()
	pass(time.Minute)
}

func relistOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a", "b", "c", "d")
	s.source.miss([]*corev1.Pod{pod("b", ""), pod("e", "")}, "a", "d")
	s.relist()
	lines := rec.take()
	require.Len(t, lines, 5)
	assert.ElementsMatch(t, []string{"delete gone(a@11)", "delete gone(d@14)"}, lines[:2])
	assert.ElementsMatch(t, []string{"update b@12 b@15", "update c@13 c@13", "add e@16"}, lines[2:])
}

func relistListOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "c", "e")
	s.source.miss([]*corev1.Pod{pod("d", ""), pod("a", ""), pod("c", ""), pod("f", "")})
	s.relist()
	assert.Equal(t, []string{"add a@14", "update c@11 c@15", "add d@13", "update e@12 e@12", "add f@16"}, rec.take())
}

func relistAtomic(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a", "b")
	var seen []string
	rec.hook = func(string) {
		if seen == nil {
			seen = append(sorted(informer.GetStore().List()), informer.GetStore().LastStoreSyncResourceVersion())
			seen = append(seen, members(t, informer.GetIndexer(), "app", "x")...)
		}
	}
	s.source.miss([]*corev1.Pod{pod("b", ""), labelled("c", "", "app", "x")}, "a")
	s.relist()
	assert.Equal(t, []string{"b@13", "c@14", "15", "c@14"}, seen)
}

func relistShortLived(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	s.source.put(pod("a", ""))
	s.source.miss(nil, "a")
	s.relist()
	assert.Equal(t, []string{"add a@11", "delete gone(a@11)"}, rec.take())
	assert.Empty(t, informer.GetStore().List())
}

func relistRecreated(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a")
	again := pod("a", "")
	again.UID = "two"
	s.source.miss([]*corev1.Pod{again})
	s.relist()
	assert.Equal(t, []string{"update a@11 a@12"}, rec.take())
	obj, _, err := informer.GetStore().GetByKey("ns/a")
	require.NoError(t, err)
	assert.Equal(t, types.UID("two"), obj.(*corev1.Pod).UID)
}

// twice is a source whose lists contain the pod "a" twice.
type twice struct{ *source }

func (s twice) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.source.ListWithContext(ctx, opts)
	if err != nil {
		return nil, err
	}
	pods := list.(*corev1.PodList)
	pods.Items = append([]corev1.Pod{*pod("a", "1")}, pods.Items...)
	return pods, nil
}

func relistDuplicates(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	informer := s.impl.informers.shared(twice{s.source}, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	handle := add(t, informer, rec)
	s.start(informer)
	assert.Equal(t, differs(t, s.impl, "of objects with the same key the last one counts, and handlers hear of it once",
		[]string{"add a@1 initial", "add a@11 initial", "add b@12 initial"},
		[]string{"add a@11 initial", "add b@12 initial"}), rec.take())
	assert.Equal(t, []string{"a@11", "b@12"}, sorted(informer.GetStore().List()))
	assert.True(t, handle.HasSynced())
}

func relistSynthetic(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
	s.source.mu.rv = 0
	s.start(informer)
	assert.Equal(t, "0", informer.LastSyncResourceVersion())
	s.source.send(watch.Event{Type: watch.Added, Object: pod("b", "8")})
	settle()
	s.source.send(watch.Event{Type: watch.Added, Object: pod("a", "3")})
	settle()
	if s.source.mode == byList {
		assert.Equal(t, "0", informer.LastSyncResourceVersion(), "they are in no order")
	}
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "9")})
	settle()
	assert.Equal(t, "9", informer.LastSyncResourceVersion())
	assert.Equal(t, []string{"add b@8", "add a@3", "update a@3 a@9"}, rec.take())
}

func relistVersions(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	both := func() [2]string {
		return [2]string{informer.LastSyncResourceVersion(), informer.GetStore().LastStoreSyncResourceVersion()}
	}
	assert.Equal(t, [2]string{"11", "11"}, both())
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, [2]string{"12", "12"}, both())
	s.source.send(bookmark("30", false))
	settle()
	assert.Equal(t, [2]string{"30", "30"}, both())
	s.source.remove("b")
	settle()
	assert.Equal(t, "13", informer.LastSyncResourceVersion())
	s.source.miss(nil, "a")
	s.relist()
	assert.Equal(t, [2]string{"14", "14"}, both())
}

func relistEventOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t)
	var want []string
	for i := range 300 {
		name := strconv.Itoa(i % 7)
		rv := s.source.put(pod(name, ""))
		if i < 7 {
			want = append(want, "add "+name+"@"+rv)
			continue
		}
		before, err := strconv.Atoi(rv)
		require.NoError(t, err)
		want = append(want, "update "+name+"@"+strconv.Itoa(before-7)+" "+name+"@"+rv)
	}
	settle()
	assert.Equal(t, want, rec.take(), "every event, each with its predecessor")
}

// streaming starts an informer on a source whose first streams break.
func (s *stage) streaming(t *testing.T, cuts int) (cache.SharedIndexInformer, *recorder) {
	s.source.put(pod("a", ""))
	informer := s.impl.informers.shared(&cutStreams{source: s.source, left: cuts}, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
	s.start(informer)
	pass(time.Minute)
	return informer, rec
}

func relistStreamWithoutEnd(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 2)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take(), "what a broken stream brought is forgotten")
	assert.True(t, informer.HasSynced())
	assert.Equal(t, []string{"stream@"}, verbs(s.source.takeRequests()), "no LIST was needed")
}

func relistStreamNeverEnds(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 7)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	assert.True(t, informer.HasSynced())
	assert.Equal(t, differs(t, s.impl, "after three streams that broke in a row LIST is used; client-go tries streams for ever",
		"stream@", "list@0"), verbs(s.source.takeRequests())[0])
}

// cutStreams is a source whose first left streams end after one object, without a bookmark.
type cutStreams struct {
	*source
	left int
}

func (s *cutStreams) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if s.left == 0 || opts.SendInitialEvents == nil {
		return s.source.WatchWithContext(ctx, opts)
	}
	s.left--
	w := newStream()
	w.send(watch.Event{Type: watch.Added, Object: pod("ghost", "5")})
	w.Stop()
	return w, nil
}

func TestWatchErrors(t *testing.T) {
	onStage(t, []informerCase{
		{name: "the handler is called for a failing LIST, each time", run: errorsOfList},
		{name: "the handler gets a reflector to ask and the context of Run", run: errorsIdentity},
		{name: "the handler is called when the watch cannot start", run: errorsOfWatchStart, only: byList},
		{name: "the handler is called when the watch starts too old", run: errorsOfExpiredStart, only: byList},
		{name: "the handler is not called for 429 and a refused connection at the start of the watch", run: errorsBusy, only: byList},
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

// complaints records the calls of a watch error handler.
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

// watched returns an informer with recorded watch errors and one handler.
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
	s.source.fail(forbidden)
	s.start(informer)
	errs := c.take()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsForbidden(errs[0]), "wrapped, not flattened: %v", errs[0])
	assert.ErrorContains(t, errs[0], "failed to list *v1.Pod")
	assert.False(t, informer.HasSynced())
	pass(time.Minute)
	assert.Greater(t, len(c.take()), 2, "at every try")
	s.source.fail(nil)
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
	s.source.fail(forbidden)
	s.startWith(context.WithValue(context.Background(), contextKey{}, "mine"), informer)
	assert.Equal(t, []string{""}, versions)
	assert.Equal(t, []any{"mine"}, values)
	s.source.fail(nil)
	pass(time.Minute)
	s.source.fail(forbidden)
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

func errorsBusy(t *testing.T, s *stage) {
	for _, busy := range []error{apierrors.NewTooManyRequests("busy", 1), syscall.ECONNREFUSED} {
		s.source = newSource(s.source.mode)
		informer, c, rec := s.watched(t)
		s.source.failWatches(busy)
		r := s.start(informer)
		pass(time.Minute)
		asked := verbs(s.source.takeRequests())
		assert.Greater(t, len(asked), 3)
		assert.Equal(t, "list@0", asked[0])
		assert.NotContains(t, asked[1:], "list@10", "no relist")
		assert.Empty(t, c.take())
		s.source.failWatches(nil)
		s.source.put(pod("a", ""))
		pass(5 * time.Minute)
		assert.Equal(t, []string{"add a@11"}, rec.take())
		r.stop()
	}
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
	s.source.fail(forbidden)
	s.start(informer)
	assert.True(t, reported.mentions("no rights"), reported.errors())
}

func errorsLastHandler(t *testing.T, s *stage) {
	informer, first, _ := s.watched(t)
	last := &complaints{}
	require.NoError(t, informer.SetWatchErrorHandler(last.handle))
	s.source.fail(forbidden)
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

func TestResync(t *testing.T) {
	onStage(t, []informerCase{
		{name: "goes to the handlers that are due only", run: resyncDue},
		{name: "tells the same object twice and asks no server", run: resyncSameObject},
		{name: "does not resurrect", run: resyncDeleted},
		{name: "handlers keep periods of their own", run: resyncPeriods},
		{name: "a period is at least one second", run: resyncFloor},
		{name: "a shorter period before the start shortens the check", run: resyncShorterBefore},
		{name: "a shorter period after the start is raised to the check", run: resyncShorterAfter},
		{name: "no period on the informer, none for its handlers", run: resyncNever},
		{name: "a handler's options", run: resyncOptions},
		{name: "unchanged updates of the watch go to due handlers only", run: resyncUnchanged},
		{name: "unchanged updates go to every handler before the first check", run: resyncBeforeFirstCheck},
		{name: "unchanged objects of a relist go to due handlers only", run: resyncRelist},
		{name: "unchanged objects of a relist go to every handler without resyncs", run: resyncRelistWithout},
		{name: "watch updates without a version", run: resyncNoVersion},
		{name: "relisted objects without a version", run: resyncRelistNoVersion},
		{name: "a transform that blanks the version", run: resyncBlanked},
	})
}

// resyncing starts an informer with a check period of a minute on one pod, with one handler that is
// resynced every minute and one that never is. It returns after the first check.
func (s *stage) resyncing(t *testing.T, transform cache.TransformFunc) (informer cache.SharedIndexInformer, due, never *recorder) {
	informer = s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	due, never = &recorder{}, &recorder{}
	add(t, informer, due)
	addEvery(t, informer, never, 0)
	require.NoError(t, informer.SetTransform(transform))
	s.source.put(pod("a", ""))
	s.start(informer)
	pass(time.Minute + time.Second)
	due.take()
	never.take()
	return informer, due, never
}

func resyncDue(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	pass(2 * time.Minute)
	assert.Equal(t, []string{"update a@11 a@11", "update a@11 a@11"}, due.take())
	assert.Empty(t, never.take())
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"update a@11 a@12"}, due.take())
	assert.Equal(t, []string{"update a@11 a@12"}, never.take(), "changes go to all")
}

func resyncSameObject(t *testing.T, s *stage) {
	informer, due, _ := s.resyncing(t, nil)
	s.source.takeRequests()
	pass(time.Minute)
	raw := due.takeRaw()
	require.Len(t, raw, 1)
	stored, _, err := informer.GetStore().GetByKey("ns/a")
	require.NoError(t, err)
	assert.Same(t, stored, raw[0])
	assert.Empty(t, s.source.takeRequests())
	assert.Equal(t, "11", informer.GetStore().LastStoreSyncResourceVersion())
}

func resyncDeleted(t *testing.T, s *stage) {
	informer, due, _ := s.resyncing(t, nil)
	pass(58 * time.Second)
	s.source.remove("a")
	pass(2 * time.Minute)
	assert.Equal(t, []string{"delete a@12"}, due.take())
	assert.Empty(t, informer.GetStore().List())
}

// resyncTimes starts the informer on one pod and returns the times of the handler's resyncs within the
// duration.
func (s *stage) resyncTimes(informer cache.SharedIndexInformer, rec *recorder, within time.Duration) []time.Duration {
	s.source.put(pod("a", ""))
	start := time.Now()
	s.start(informer)
	rec.take()
	pass(within)
	return rec.times(start)
}

func every(period, within time.Duration) []time.Duration {
	out := []time.Duration{}
	for at := period; at <= within; at += period {
		out = append(out, at)
	}
	return out
}

func resyncPeriods(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
	one, two := &recorder{}, &recorder{}
	addEvery(t, informer, one, 10*time.Second)
	addEvery(t, informer, two, 25*time.Second)
	start := time.Now()
	assert.Equal(t, every(10*time.Second, 61*time.Second), s.resyncTimes(informer, one, 61*time.Second))
	assert.Equal(t, []time.Duration{30 * time.Second, 60 * time.Second}, two.times(start)[1:], "rounded up to the check")
}

func resyncFloor(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	rec := &recorder{}
	addEvery(t, informer, rec, time.Millisecond)
	assert.Equal(t, every(time.Second, 5500*time.Millisecond), s.resyncTimes(informer, rec, 5500*time.Millisecond))
}

func resyncShorterBefore(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	slow, fast := &recorder{}, &recorder{}
	add(t, informer, slow)
	addEvery(t, informer, fast, 10*time.Second)
	start := time.Now()
	assert.Equal(t, every(10*time.Second, 65*time.Second), s.resyncTimes(informer, fast, 65*time.Second))
	assert.Equal(t, []time.Duration{time.Minute}, slow.times(start)[1:])
}

func resyncShorterAfter(t *testing.T, s *stage) {
	informer, _, _ := s.resyncing(t, nil)
	late := &recorder{}
	addEvery(t, informer, late, 10*time.Second)
	settle()
	late.take()
	pass(5 * time.Minute)
	assert.Len(t, late.take(), 4, "a minute, due a second after the check")
}

func resyncNever(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	before, after := &recorder{}, &recorder{}
	addEvery(t, informer, before, 10*time.Second)
	assert.Empty(t, s.resyncTimes(informer, before, time.Hour))
	addEvery(t, informer, after, 10*time.Second)
	settle()
	after.take()
	pass(time.Hour)
	assert.Empty(t, after.take())
}

func resyncOptions(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
	inherits, own, none := &recorder{}, &recorder{}, &recorder{}
	period, zero := 20*time.Second, time.Duration(0)
	for rec, opts := range map[*recorder]cache.HandlerOptions{
		inherits: {}, own: {ResyncPeriod: &period}, none: {ResyncPeriod: &zero},
	} {
		_, err := informer.AddEventHandlerWithOptions(rec, opts)
		require.NoError(t, err)
	}
	assert.Len(t, s.resyncTimes(informer, inherits, 41*time.Second), 4)
	assert.Len(t, own.take(), 1+2)
	assert.Len(t, none.take(), 1)
}

func resyncUnchanged(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.send(watch.Event{Type: watch.Modified, Object: labelled("a", "11", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@11 a@11"}, due.take())
	assert.Empty(t, never.take())
}

func resyncBeforeFirstCheck(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	never := &recorder{}
	addEvery(t, informer, never, 0)
	s.source.put(pod("a", ""))
	s.start(informer)
	never.take()
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "11")})
	settle()
	assert.Equal(t, []string{"update a@11 a@11"}, never.take())
}

func resyncRelist(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.miss([]*corev1.Pod{pod("b", "")})
	s.source.expire()
	pass(10 * time.Second)
	assert.ElementsMatch(t, []string{"update a@11 a@11", "add b@12"}, due.take())
	assert.Equal(t, []string{"add b@12"}, never.take())
}

func resyncRelistWithout(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a")
	s.relist()
	assert.Equal(t, []string{"update a@11 a@11"}, rec.take(), "no check ever says that it is not due")
}

func resyncNoVersion(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "")})
	settle()
	never.take()
	due.take()
	s.source.send(watch.Event{Type: watch.Modified, Object: labelled("a", "", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Equal(t, differs(t, s.impl, "watch updates without a version cannot be told apart and reach every handler",
		[]string{}, []string{"update a@ a@"}), never.take())
}

func resyncRelistNoVersion(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.keep(pod("a", ""))
	s.source.expire()
	pass(10 * time.Second)
	assert.Equal(t, []string{"update a@11 a@"}, due.take())
	assert.Equal(t, []string{"update a@11 a@"}, never.take())
	s.source.expire()
	pass(10 * time.Second)
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Empty(t, never.take())
}

// blank removes the resource version, as memory-saving transforms do.
func blank(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	p.ResourceVersion = ""
	return p, nil
}

func resyncBlanked(t *testing.T, s *stage) {
	informer, due, never := s.resyncing(t, blank)
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	const reason = "what a resync is, is decided on the version as received"
	assert.Equal(t, differs(t, s.impl, reason, []string{}, []string{"update a@ a@"}), never.take())
	assert.Equal(t, differs(t, s.impl, "the store's version is the one received, whatever a transform does", "", "12"),
		informer.GetStore().LastStoreSyncResourceVersion())
	pass(time.Minute)
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Empty(t, never.take())
}

func TestTransform(t *testing.T) {
	onStage(t, []informerCase{
		{name: "of adds, updates and deletes", run: transformKinds},
		{name: "how often", run: transformCount},
		{name: "not of tombstones and resyncs", run: transformNotAgain},
		{name: "into another object", run: transformReplacement},
		{name: "before indexing", run: transformIndexed},
		{name: "does not touch the reflector's version", run: transformVersion},
		{name: "an error drops the event and is reported", run: transformEventError},
		{name: "an error of a deletion", run: transformDeletionError},
		{name: "an error in the initial state", run: transformStateError},
		{name: "into something without metadata", run: transformJunk},
		{name: "into something without metadata in the initial state", run: transformJunkState},
	})
}

// transformer counts its calls by argument.
type transformer struct {
	mu    sync.Mutex
	calls map[string]int
	do    cache.TransformFunc
}

func (f *transformer) transform(obj any) (any, error) {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[label(obj)]++
	f.mu.Unlock()
	if f.do == nil {
		return obj, nil
	}
	return f.do(obj)
}

func (f *transformer) take() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// transforming starts an informer with the transform and one handler.
func (s *stage) transforming(t *testing.T, transform cache.TransformFunc, opts cache.SharedIndexInformerOptions) (cache.SharedIndexInformer, *recorder) {
	informer := s.shared(opts)
	require.NoError(t, informer.SetTransform(transform))
	rec := listen(t, informer)
	s.start(informer)
	return informer, rec
}

func transformKinds(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, rec := s.transforming(t, annotate, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	s.source.put(pod("a", ""))
	s.source.remove("b")
	settle()
	raw := append(rec.takeRaw(), informer.GetStore().List()...)
	assert.Len(t, raw, 4+1)
	for _, obj := range raw {
		assert.Equal(t, "yes", obj.(*corev1.Pod).Annotations["seen"], label(obj))
	}
}

func transformCount(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	f := &transformer{}
	s.transforming(t, f.transform, cache.SharedIndexInformerOptions{})
	want := 1
	if s.source.mode == byStream {
		want = differs(t, s.impl, "the initial state is transformed once, in client-go twice when it is streamed", 2, 1)
	}
	assert.Equal(t, map[string]int{"a@11": want}, f.take())
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	assert.Equal(t, map[string]int{"a@12": 1, "a@13": 1}, f.take())
}

func transformNotAgain(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	f := &transformer{}
	_, rec := s.transforming(t, f.transform, cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	f.take()
	rec.take()
	pass(2*time.Minute + time.Second)
	assert.Len(t, rec.take(), 4)
	assert.Empty(t, f.take())
	s.source.miss(nil, "a", "b")
	s.source.expire()
	pass(10 * time.Second)
	assert.Len(t, rec.take(), 2)
	assert.Empty(t, f.take())
}

func transformReplacement(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, rec := s.transforming(t, func(obj any) (any, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return obj, nil
		}
		return &corev1.ConfigMap{ObjectMeta: p.ObjectMeta}, nil
	}, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	settle()
	for _, obj := range append(rec.takeRaw(), informer.GetStore().List()...) {
		assert.IsType(t, &corev1.ConfigMap{}, obj)
	}
}

func transformIndexed(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, _ := s.transforming(t, func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			p.Labels = map[string]string{"app": "x"}
		}
		return obj, nil
	}, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "app", "x"))
}

func transformVersion(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, _ := s.transforming(t, blank, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, "12", informer.LastSyncResourceVersion())
	s.source.remove("a")
	settle()
	assert.Equal(t, "13", informer.LastSyncResourceVersion())
	s.source.takeRequests()
	s.source.cut()
	pass(time.Minute)
	assert.Equal(t, []string{"watch@13"}, verbs(s.source.takeRequests()), "the watch goes on where it was")
}

func transformEventError(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	settle()
	assert.Equal(t, []string{"add good@12"}, rec.take())
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	assert.Equal(t, "12", informer.LastSyncResourceVersion())
	assert.Equal(t, []string{"ns/good"}, informer.GetStore().ListKeys())
}

func transformDeletionError(t *testing.T, s *stage) {
	informer, _ := s.transforming(t, func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok && p.ResourceVersion == "12" {
			return nil, errRefused
		}
		return obj, nil
	}, cache.SharedIndexInformerOptions{})
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	kept := differs(t, s.impl, "an object leaves the store although its deletion cannot be transformed", []string{"ns/a"}, []string{})
	assert.Equal(t, kept, informer.GetStore().ListKeys())
}

// transformStateError covers streams; the tests of the watch error handler check that a LIST fails as a
// whole.
func transformStateError(t *testing.T, s *stage) {
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	fails := s.source.mode == byList ||
		!differs(t, s.impl, "one object that cannot be transformed fails a streamed state as it fails a list; client-go leaves it out", true, false)
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	assert.Equal(t, !fails, informer.HasSynced())
	if fails {
		assert.Empty(t, rec.take())
		return
	}
	assert.Equal(t, []string{"add good@12 initial"}, rec.take())
}

// junk replaces pods named "bad" by strings.
func junk(obj any) (any, error) {
	if p, ok := obj.(*corev1.Pod); ok && p.Name == "bad" {
		return "junk", nil
	}
	return obj, nil
}

func transformJunk(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, junk, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	settle()
	const reason = "the key is computed before the transform, so its result needs no metadata; client-go loses it silently"
	assert.Equal(t, differs(t, s.impl, reason, []string{"add good@12"}, []string{"add junk", "add good@12"}), rec.take())
	assert.Equal(t, differs(t, s.impl, reason, []string{"ns/good"}, []string{"ns/bad", "ns/good"}), sorted(informer.GetStore().ListKeys()))
	assert.Empty(t, reported.errors())
}

func transformJunkState(t *testing.T, s *stage) {
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	informer, rec := s.transforming(t, junk, cache.SharedIndexInformerOptions{})
	const reason = "the key is computed before the transform, so its result needs no metadata; client-go drops the list silently"
	want := differs(t, s.impl, reason, []string{}, []string{"add junk initial", "add good@12 initial"})
	assert.ElementsMatch(t, want, rec.take())
	assert.Len(t, informer.GetStore().List(), len(want))
	assert.True(t, informer.HasSynced(), "either way")
}
