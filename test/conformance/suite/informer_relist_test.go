// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
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

func relistDuplicates(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	s.source.hooks.Store(&hooks{list: func(list *corev1.PodList) { list.Items = append([]corev1.Pod{*pod("a", "1")}, list.Items...) }})
	informer := s.shared(cache.SharedIndexInformerOptions{})
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
	stream := testkit.NewScriptedWatch(1)
	server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("0")), OnWatch: testkit.Watches(stream)}
	if s.source.mode == byStream {
		server.NoStream = false
		stream.Events <- testkit.EndMark("0")
	}
	informer := s.impl.informers.shared(server, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
	s.start(informer)
	assert.Equal(t, "0", informer.LastSyncResourceVersion())
	stream.Events <- testkit.Added("b", "8")
	settle()
	stream.Events <- testkit.Added("a", "3")
	settle()
	if s.source.mode == byList {
		assert.Equal(t, "0", informer.LastSyncResourceVersion(), "they are in no order")
	}
	stream.Events <- testkit.Modified("a", "9")
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
	s.source.Inject(testkit.Bookmark("30"))
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

// streaming starts an informer on a source whose first streams end after one object, without a bookmark.
func (s *stage) streaming(t *testing.T, cuts int) (cache.SharedIndexInformer, *recorder) {
	broken := cachetest.StreamScript{First: []watch.Event{testkit.Added("ghost", "5")}, Cut: true, CutAfter: 1}
	s.source.Script(byStream, slices.Repeat([]cachetest.Fault{{Stream: broken}}, cuts)...)
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := listen(t, informer)
	s.source.put(pod("a", ""))
	s.start(informer)
	pass(time.Minute)
	return informer, rec
}

func relistStreamWithoutEnd(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 2)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take(), "what a broken stream brought is forgotten")
	assert.True(t, informer.HasSynced())
	assert.Equal(t, slices.Repeat([]string{"watch-list@"}, 3), s.source.asked(), "no LIST was needed")
}

func relistStreamNeverEnds(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 7)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	assert.True(t, informer.HasSynced())
	streams := slices.Repeat([]string{"watch-list@"}, 8)
	assert.Equal(t, differs(t, s.impl, "after three streams that broke in a row LIST is used; client-go tries streams for ever",
		streams, append(streams[:3:3], "list@0", "watch@11")), s.source.asked())
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
		{name: "an expired version is given up at once", run: errorsVersionExpired},
		{name: "a LIST that expires again and again", run: errorsListExpired, only: byList},
		{name: "a stream that is refused without a version", run: errorsStreamNewestRefused, only: byStream},
		{name: "an event of an unknown type", run: errorsUnknownEvent},
		{name: "objects of another type are reported and left out", run: errorsForeign},
		{name: "canceling ends a backoff", run: errorsCancelBackoff},
		{name: "canceling does not wait for a LIST", run: errorsCancelList, only: byList},
		{name: "canceling does not wait for a watch to start", run: errorsCancelWatchStart},
	})
}

// watched returns an informer with recorded watch errors and one handler.
func (s *stage) watched(t *testing.T) (cache.SharedIndexInformer, *testkit.Handled, *recorder) {
	informer, c := s.shared(cache.SharedIndexInformerOptions{}), &testkit.Handled{}
	require.NoError(t, informer.SetWatchErrorHandlerWithContext(c.Handle))
	return informer, c, listen(t, informer)
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rights"))

func errorsOfList(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.fail(forbidden)
	s.start(informer)
	errs := c.Errors()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsForbidden(errs[0]), "wrapped, not flattened: %v", errs[0])
	assert.ErrorContains(t, errs[0], "failed to list *v1.Pod")
	assert.False(t, informer.HasSynced())
	pass(time.Minute)
	assert.Greater(t, len(c.Errors()), 3, "at every try")
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
	s.relist()
	require.NotEmpty(t, versions)
	assert.Equal(t, "10", versions[0])
}

func errorsOfWatchStart(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.fail(forbidden, cachetest.VerbWatch)
	s.start(informer)
	errs := c.Errors()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsForbidden(errs[0]))
	assert.True(t, informer.HasSynced(), "the list came through")
	pass(10 * time.Second)
	assert.Greater(t, len(s.source.asked()), 2, "lists and watches again")
}

func errorsOfExpiredStart(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.source.fail(testkit.ErrExpired, cachetest.VerbWatch)
	s.start(informer)
	errs := c.Errors()
	require.Len(t, errs, 1)
	assert.True(t, apierrors.IsResourceExpired(errs[0]))
	s.source.fail(nil)
	pass(10 * time.Second)
	assert.Equal(t, []string{"list@0", "watch@10", "list@10", "watch@10"}, s.source.asked())
}

func errorsBusy(t *testing.T, s *stage) {
	for _, busy := range []error{testkit.ErrTooManyRequests, testkit.ErrRefused} {
		s.source = newSource(s.source.mode)
		informer, c, rec := s.watched(t)
		s.source.fail(busy, cachetest.VerbWatch)
		r := s.start(informer)
		pass(time.Minute)
		asked := s.source.asked()
		assert.Greater(t, len(asked), 3)
		assert.Equal(t, "list@0", asked[0])
		assert.NotContains(t, asked[1:], "list@10", "no relist")
		assert.Empty(t, c.Errors())
		s.source.fail(nil)
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
	s.source.asked()
	s.relist()
	assert.Empty(t, c.Errors())
	assert.Empty(t, s.reported())
	want := []string{"list@11", "watch@11"}
	if s.source.mode == byStream {
		want = []string{"watch-list@11"}
	}
	assert.Equal(t, want, s.source.asked(), "the last version is tried first")
}

func errorsBroken(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.start(informer)
	s.source.put(pod("a", ""))
	settle()
	s.source.asked()
	s.source.Cut()
	s.source.put(pod("b", ""))
	pass(time.Minute)
	assert.Equal(t, []string{"watch@11"}, s.source.asked(), "the watch goes on where it was")
	assert.Equal(t, []string{"add a@11", "add b@12"}, rec.take())

	s.source.Cut()
	settle()
	s.source.Cut()
	pass(time.Minute)
	asked := s.source.asked()
	require.Greater(t, len(asked), 1)
	assert.Equal(t, "watch@12", asked[0])
	assert.Equal(t, differs(t, s.impl, "a watch that ends at once is opened again, client-go asks for the whole state", true, false),
		slices.Contains(asked, string(s.source.mode)+"@12"))
	assert.Empty(t, c.Errors())
}

func errorsEvents(t *testing.T, s *stage) {
	for name, err := range map[string]error{"429": testkit.ErrTooManyRequests, "internal": testkit.ErrInternal, "other": forbidden} {
		s.source = newSource(s.source.mode)
		informer, c, rec := s.watched(t)
		r := s.start(informer)
		s.source.put(pod("a", ""))
		settle()
		s.source.asked()
		s.source.Inject(cachetest.ErrorEvent(err))
		settle()
		s.source.put(pod("b", ""))
		pass(time.Minute)
		assert.Empty(t, c.Errors(), name)
		lines, asked := rec.take(), s.source.asked()
		if name == "429" {
			assert.Equal(t, []string{"watch@11"}, asked, "no relist")
			assert.Equal(t, []string{"add a@11", "add b@12"}, lines)
		} else {
			assert.Contains(t, []string{"list@11", "watch-list@11"}, asked[0], name)
			assert.ElementsMatch(t, []string{"add a@11", "update a@11 a@11", "add b@12"}, lines, name)
		}
		r.stop()
	}
}

func errorsFallback(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.put(pod("a", ""))
	s.source.fail(apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "", nil), byStream)
	s.start(informer)
	assert.Equal(t, []string{"watch-list@", "list@0", "watch@11"}, s.source.asked())
	assert.Empty(t, c.Errors())
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	s.relist()
	assert.Equal(t, []string{"watch-list@11", "list@11", "watch@11"}, s.source.asked(), "the next round tries again")
}

func errorsOfReplace(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	require.NoError(t, informer.SetTransform(refuse))
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	s.start(informer)
	errs := c.Errors()
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
	assert.True(t, s.mentions("no rights"), s.reported())
}

func errorsLastHandler(t *testing.T, s *stage) {
	informer, first, _ := s.watched(t)
	var last []error
	require.NoError(t, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { last = append(last, err) }))
	s.source.fail(forbidden)
	s.start(informer)
	assert.Empty(t, first.Errors())
	assert.Len(t, last, 1)
}

func errorsVersionExpired(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.source.put(pod("a", ""))
	s.start(informer)
	s.source.asked()
	rec.take()
	s.source.hooks.Store(&hooks{request: func(_ context.Context, verb cachetest.Verb, version string) error {
		if verb == s.source.mode && version != "" {
			return testkit.ErrExpired
		}
		return nil
	}})
	s.source.miss([]*corev1.Pod{pod("b", "")})
	s.relist()
	want := []string{"list@11", "list@", "watch@12"}
	if s.source.mode == byStream {
		want = []string{"watch-list@11", "watch-list@"}
	}
	assert.Equal(t, want, s.source.asked())
	assert.Empty(t, c.Errors())
	assert.ElementsMatch(t, []string{"update a@11 a@11", "add b@12"}, rec.take())
}

func errorsListExpired(t *testing.T, s *stage) {
	informer, c, _ := s.watched(t)
	s.start(informer)
	s.source.asked()
	s.source.fail(testkit.ErrExpired, cachetest.VerbList)
	s.relist()
	assert.Equal(t, []string{"list@10", "list@", "list@", "list@"}, s.source.asked()[:4], "without a version until a list succeeds")
	errs := c.Errors()
	require.NotEmpty(t, errs)
	assert.True(t, apierrors.IsResourceExpired(errs[0]))
}

func errorsForeign(t *testing.T, s *stage) {
	informer, c, rec := s.watched(t)
	s.start(informer)
	s.source.Inject(watch.Event{Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", ResourceVersion: "90"}}})
	settle()
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"add a@11"}, rec.take())
	assert.Empty(t, c.Errors())
	assert.NotEmpty(t, s.reported())
	assert.Equal(t, "11", informer.LastSyncResourceVersion())
}

func errorsCancelBackoff(t *testing.T, s *stage) {
	informer, _, _ := s.watched(t)
	s.source.fail(testkit.ErrTooManyRequests, cachetest.VerbWatch, byStream)
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
	g := make(chan struct{})
	canceled := make(chan struct{})
	s.source.hooks.Store(&hooks{request: func(ctx context.Context, _ cachetest.Verb, _ string) error {
		<-ctx.Done()
		close(canceled)
		<-g
		return nil
	}})
	r := s.start(informer)
	r.stop()
	<-canceled
	assert.Empty(t, informer.GetStore().List())
	assert.False(t, informer.HasSynced())
	close(g)
}

func errorsCancelWatchStart(t *testing.T, s *stage) {
	informer, _, _ := s.watched(t)
	g := make(chan struct{})
	held := cachetest.Fault{Until: g, IgnoreContext: true}
	s.source.Script(cachetest.VerbWatch, held)
	s.source.Script(byStream, held)
	r := s.start(informer)
	r.cancel()
	settle()
	assert.Equal(t, differs(t, s.impl, "Run does not wait for a WATCH that ignores its context", false, true), closed(r.done))
	close(g)
	<-r.done
	settle()
	assert.Zero(t, s.source.Watching(), "a watch that comes too late is stopped")
}

func errorsStreamNewestRefused(t *testing.T, s *stage) {
	for _, refusal := range []error{testkit.ErrExpired, cachetest.TooLargeResourceVersion(11, 10)} {
		s.source = newSource(byStream)
		s.source.FailNext(byStream, slices.Repeat([]error{refusal}, 5)...)
		r := s.start(s.shared(cache.SharedIndexInformerOptions{}))
		assert.Equal(t, differs(t, s.impl, "a stream that is refused without a version is followed by a LIST; client-go asks again at once, for ever",
			slices.Repeat([]string{"watch-list@"}, 6), []string{"watch-list@", "list@", "watch@10"}), s.source.asked())
		r.stop()
	}
}

func errorsUnknownEvent(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	s.start(informer)
	s.source.Inject(watch.Event{Type: "UNHEARD-OF", Object: pod("a", "20")})
	settle()
	assert.NotEmpty(t, s.reported())
	assert.Empty(t, informer.GetStore().List())
	assert.Equal(t, differs(t, s.impl, "an event of an unknown type does not move the version", "20", "10"), informer.LastSyncResourceVersion())
}

func TestResync(t *testing.T) {
	onStage(t, []informerCase{
		{name: "goes to the handlers that are due only", run: resyncDue},
		{name: "tells the same object twice and asks no server", run: resyncSameObject},
		{name: "does not resurrect", run: resyncDeleted},
		{name: "handlers keep periods of their own", run: resyncPeriods},
		{name: "a shorter period after the start is raised to the check", run: resyncShorterAfter},
		{name: "a period after the start of an informer without one", run: resyncNever},
		{name: "unchanged updates of the watch", run: resyncUnchanged},
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
	s.source.asked()
	pass(time.Minute)
	raw := due.takeRaw()
	require.Len(t, raw, 1)
	stored, _, err := informer.GetStore().GetByKey("ns/a")
	require.NoError(t, err)
	assert.Same(t, stored, raw[0])
	assert.Empty(t, s.source.asked())
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

// resyncTimes runs an informer with the period on one pod, and returns the times of the resyncs of its
// handlers, which have these periods, nil for the informer's.
func (s *stage) resyncTimes(t *testing.T, period, within time.Duration, handlers []*time.Duration, options bool) [][]time.Duration {
	s.source = newSource(s.source.mode)
	s.source.put(pod("a", ""))
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: period})
	recs := each(handlers, func(own *time.Duration) *recorder {
		rec := &recorder{}
		var err error
		switch {
		case options:
			_, err = informer.AddEventHandlerWithOptions(rec, cache.HandlerOptions{ResyncPeriod: own})
		case own == nil:
			_, err = informer.AddEventHandler(rec)
		default:
			_, err = informer.AddEventHandlerWithResyncPeriod(rec, *own)
		}
		require.NoError(t, err)
		return rec
	})
	start := time.Now()
	defer s.start(informer).stop()
	pass(within)
	return each(recs, func(rec *recorder) []time.Duration { return rec.times(start)[1:] })
}

// every returns the multiples of the period within the duration.
func every(period, within time.Duration) []time.Duration {
	out := []time.Duration{}
	for at := period; at <= within; at += period {
		out = append(out, at)
	}
	return out
}

func resyncPeriods(t *testing.T, s *stage) {
	const second, minute = time.Second, time.Minute
	never := []time.Duration{}
	for name, test := range map[string]struct {
		period, within time.Duration
		handlers       []*time.Duration
		want           [][]time.Duration
	}{
		"rounded up to the check": {
			10 * second, 61 * second, []*time.Duration{nil, ptr.To(20 * second), ptr.To(25 * second), new(time.Duration)},
			[][]time.Duration{every(10*second, minute), every(20*second, minute), every(30*second, minute), never},
		},
		"at least a second": {
			minute, 5500 * time.Millisecond, []*time.Duration{ptr.To(time.Millisecond)}, [][]time.Duration{every(second, 5*second)},
		},
		"a shorter period shortens the check": {
			minute, 65 * second, []*time.Duration{nil, ptr.To(10 * second)}, [][]time.Duration{{minute}, every(10*second, minute)},
		},
		"none without one of the informer": {0, time.Hour, []*time.Duration{nil, ptr.To(10 * second)}, [][]time.Duration{never, never}},
	} {
		for _, options := range []bool{false, true} {
			assert.Equal(t, test.want, s.resyncTimes(t, test.period, test.within, test.handlers, options), "%s, by options %t", name, options)
		}
	}
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
	informer, _ := s.relisted(t, "a")
	rec := &recorder{}
	addEvery(t, informer, rec, 10*time.Second)
	pass(time.Hour)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
}

func resyncUnchanged(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.Inject(watch.Event{Type: watch.Modified, Object: labelled("a", "11", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@11 a@11"}, due.take())
	assert.Equal(t, differs(t, s.impl, "an event of the watch is never a resync", []string{}, []string{"update a@11 a@11"}), never.take())
}

func resyncBeforeFirstCheck(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	never := &recorder{}
	addEvery(t, informer, never, 0)
	s.source.put(pod("a", ""))
	s.start(informer)
	never.take()
	s.source.Inject(watch.Event{Type: watch.Modified, Object: pod("a", "11")})
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
	s.source.Inject(watch.Event{Type: watch.Modified, Object: pod("a", "")})
	settle()
	never.take()
	due.take()
	s.source.Inject(watch.Event{Type: watch.Modified, Object: labelled("a", "", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Equal(t, differs(t, s.impl, "watch updates without a version cannot be told apart and reach every handler",
		[]string{}, []string{"update a@ a@"}), never.take())
}

func resyncRelistNoVersion(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.hooks.Store(&hooks{list: func(list *corev1.PodList) { list.Items[0].ResourceVersion = "" }})
	if s.source.mode == byStream {
		s.source.miss(nil, "a")
		state := cachetest.StreamScript{
			First: []watch.Event{{Type: watch.Added, Object: pod("a", "")}, testkit.EndMark("12")}, OmitInitialEventsEnd: true,
		}
		s.source.Script(byStream, cachetest.Fault{Stream: state}, cachetest.Fault{Stream: state})
	}
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
var blank = ofPods(func(p *corev1.Pod) any {
	p.ResourceVersion = ""
	return p
})

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
		{name: "an error in the initial state", run: transformStateError, only: byStream},
		{name: "into something without metadata", run: transformJunk},
		{name: "into something without metadata in the initial state", run: transformJunkState},
	})
}

// noting returns a transform that changes nothing, and the record of its arguments.
func noting() (*testkit.Journal, cache.TransformFunc) {
	var calls testkit.Journal
	return &calls, func(obj any) (any, error) {
		calls.Note("%s", label(obj))
		return obj, nil
	}
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
	calls, transform := noting()
	s.transforming(t, transform, cache.SharedIndexInformerOptions{})
	want := 1
	if s.source.mode == byStream {
		want = differs(t, s.impl, "the initial state is transformed once, in client-go twice when it is streamed", 2, 1)
	}
	assert.Equal(t, slices.Repeat([]string{"a@11"}, want), calls.Take())
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	assert.Equal(t, []string{"a@12", "a@13"}, calls.Take())
}

func transformNotAgain(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	calls, transform := noting()
	_, rec := s.transforming(t, transform, cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	calls.Take()
	rec.take()
	pass(2*time.Minute + time.Second)
	assert.Len(t, rec.take(), 4)
	assert.Empty(t, calls.Take())
	s.source.miss(nil, "a", "b")
	s.source.expire()
	pass(10 * time.Second)
	assert.Len(t, rec.take(), 2)
	assert.Empty(t, calls.Take())
}

func transformReplacement(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	toConfigMap := ofPods(func(p *corev1.Pod) any { return &corev1.ConfigMap{ObjectMeta: p.ObjectMeta} })
	informer, rec := s.transforming(t, toConfigMap, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	settle()
	raw := append(rec.takeRaw(), informer.GetStore().List()...)
	require.Len(t, raw, 2+2)
	for _, obj := range raw {
		assert.IsType(t, &corev1.ConfigMap{}, obj)
	}
}

func transformIndexed(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, _ := s.transforming(t, ofPods(func(p *corev1.Pod) any {
		p.Labels = map[string]string{"app": "x"}
		return p
	}), cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
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
	s.source.asked()
	s.source.Cut()
	pass(time.Minute)
	assert.Equal(t, []string{"watch@13"}, s.source.asked(), "the watch goes on where it was")
}

func transformEventError(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	settle()
	assert.Equal(t, []string{"add good@12"}, rec.take())
	assert.True(t, s.mentions(errRefused.Error()), s.reported())
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
	assert.True(t, s.mentions(errRefused.Error()), s.reported())
	kept := differs(t, s.impl, "an object leaves the store although its deletion cannot be transformed", []string{"ns/a"}, []string{})
	assert.Equal(t, kept, informer.GetStore().ListKeys())
}

// transformStateError covers streams; errorsOfReplace checks that a LIST fails as a whole.
func transformStateError(t *testing.T, s *stage) {
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	fails := differs(t, s.impl, "one object that cannot be transformed fails a streamed state as it fails a list; client-go leaves it out", false, true)
	assert.True(t, s.mentions(errRefused.Error()), s.reported())
	assert.Equal(t, !fails, informer.HasSynced())
	if fails {
		assert.Empty(t, rec.take())
		return
	}
	assert.Equal(t, []string{"add good@12 initial"}, rec.take())
}

// junk replaces pods named "bad" by strings.
var junk = ofPods(func(p *corev1.Pod) any {
	if p.Name == "bad" {
		return "junk"
	}
	return p
})

func transformJunk(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, junk, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	settle()
	const reason = "the key is computed before the transform, so its result needs no metadata; client-go loses it silently"
	assert.Equal(t, differs(t, s.impl, reason, []string{"add good@12"}, []string{"add junk", "add good@12"}), rec.take())
	assert.Equal(t, differs(t, s.impl, reason, []string{"ns/good"}, []string{"ns/bad", "ns/good"}), sorted(informer.GetStore().ListKeys()))
	assert.Empty(t, s.reported())
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
