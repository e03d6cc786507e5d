// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

func remembers(o *tap.Options) { o.Make, o.Share, o.Remember = nil, true, true }

// largePods are pods that are worth remembering.
func largePods(n int, version string) []v1.Pod {
	list := pods(n, version)
	for i := range list {
		list[i].Annotations["large"] = strings.Repeat("x", 1100)
	}
	return list
}

// added are events that bring pods anew, and an end mark, which is as large.
func added(list []v1.Pod) (script []event) {
	for i := range list {
		script = append(script, event{watch.Added, &list[i]})
	}
	end := bookmark("40", true)
	end.Annotations["large"] = strings.Repeat("x", 1100)
	return append(script, event{watch.Bookmark, end})
}

// objectsOf are those of events, but for the end mark.
func objectsOf(got heard) (list []apiruntime.Object) {
	for _, e := range got.Events {
		if e.Type != watch.Bookmark {
			list = append(list, e.Object)
		}
	}
	return list
}

// same counts the objects that are the same ones.
func same(a, b []apiruntime.Object) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// bothWays are the objects of a first list of 20 that go both ways, bothWatched those of a watch.
// Of what comes next, the 24th object goes both ways, and the 40th.
const bothWays, bothWatched = 9, 8

// TestListAgain: the items of a list that comes again are those that are there, but for those that
// have changed, and the first, which always goes both ways. What comes is what client-go brings.
func TestListAgain(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		server := func() *server { return newServer(t, http2, []answer{list("5", first...), list("40", second...)}, nil) }
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		before := ask(t, source, firstList)
		assert.Equal(t, ask(t, plain, firstList), before)
		assert.Zero(t, source.ledger.State().Reused)
		after := ask(t, source, firstList)
		assert.Equal(t, ask(t, plain, firstList), after)
		n := same(before.Items, after.Items)
		assert.Equal(t, 20-bothWays-1, n)
		assert.NotSame(t, before.Items[15], after.Items[15])
		state := source.ledger.State()
		assert.GreaterOrEqual(t, state.Reused, int64(n))
		assert.Less(t, state.Reused, int64(n+bothWays), "what client-go has replaced may still be there")
		assert.EqualValues(t, 40-bothWays-3-state.Reused, state.Decoded)
		runtime.KeepAlive(before)
	})
}

// TestWatchListAgain is TestListAgain for watch-lists. The end mark is decoded each time.
func TestWatchListAgain(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		server := func() *server {
			return newServer(t, http2, nil, []answer{events(false, added(first)...), events(false, added(second)...)})
		}
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		before := follow(t, source, firstWatch, 0)
		assert.Equal(t, follow(t, plain, firstWatch, 0), before)
		after := follow(t, source, firstWatch, 0)
		assert.Equal(t, follow(t, plain, firstWatch, 0), after)
		assert.Equal(t, 20-bothWatched-2, same(objectsOf(before), objectsOf(after)), "the first of the second teaches")
		assert.EqualValues(t, 20-bothWatched-2, source.ledger.State().Reused)
	})
}

// TestListAfterWatch: in protobuf an object has the same bytes in lists and watches.
func TestListAfterWatch(t *testing.T) {
	k, items := kinds[0], largePods(20, "4")
	server := newServer(t, false, []answer{list("40", items...)}, []answer{events(false, added(items)...)})
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	watched := follow(t, source, firstWatch, 0)
	listed := ask(t, source, firstList)
	assert.Equal(t, 20-bothWatched-2, same(objectsOf(watched), listed.Items))
	again := follow(t, source, firstWatch, 0)
	assert.Equal(t, 20-1-4, same(listed.Items, objectsOf(again)), "the first teaches")
}

// changing is a watch of n pods that change their status, labels or containers in turns, and are
// deleted in the end.
func changing(n, changes int) (script []event) {
	var now []*v1.Pod
	for i := range n {
		now = append(now, &largePods(i+1, "1")[i])
		script = append(script, event{watch.Added, now[i]})
	}
	for c := range changes {
		next := now[c%n].DeepCopy()
		next.ResourceVersion = fmt.Sprint(c + 2)
		switch (c / n) % 4 {
		case 0:
			next.Status.Phase = v1.PodPhase(fmt.Sprint("phase", c))
		case 1:
			next.Labels["changed"] = fmt.Sprint(c)
		case 2:
			next.Spec.Containers = append(next.Spec.Containers, v1.Container{Name: fmt.Sprint("c", c)})
		default:
			next.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(`{"f:%d":{}}`, c))
		}
		now[c%n] = next
		script = append(script, event{watch.Modified, next})
	}
	for _, pod := range now {
		script = append(script, event{watch.Deleted, pod})
	}
	return script
}

// TestUpdatesAreEqual: objects that are decoded from their former versions are those of client-go.
func TestUpdatesAreEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		server := func() *server { return newServer(t, http2, nil, []answer{events(false, changing(5, 200)...)}) }
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		want, got := follow(t, k.make(t, server().config()), firstWatch, 0), follow(t, source, firstWatch, 0)
		require.Len(t, want.Events, 210)
		assert.Equal(t, want, got)
		assert.Zero(t, source.ledger.State().Differences)
	})
}

// TestUpdatesTakeOver what has not changed, of the version before, also from lists.
func TestUpdatesTakeOver(t *testing.T) {
	k, listed := kinds[0], largePods(20, "4")
	var script []event
	for i := range listed {
		next := listed[i].DeepCopy()
		next.ResourceVersion = "6"
		script = append(script, event{watch.Modified, next})
	}
	server := newServer(t, false, []answer{list("5", listed...)}, []answer{events(false, script...)})
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	before, after := ask(t, source, firstList).Items, objectsOf(follow(t, source, firstWatch, 0))
	shared := 0
	for i := range before {
		was, is := before[i].(*v1.Pod), after[i].(*v1.Pod)
		require.Equal(t, "6", is.ResourceVersion)
		if &was.Spec.Containers[0] == &is.Spec.Containers[0] {
			shared++
		}
	}
	assert.Greater(t, shared, 5, "those that both ways have made go the client's")
}

// TestTrimmedBesideUpdates: what is dropped is left out before the next version is decoded, so that
// who is given an object has nothing to write. The race detector watches.
func TestTrimmedBesideUpdates(t *testing.T) {
	drop := func(o *tap.Options) {
		remembers(o)
		require.Empty(t, o.DropOf([]string{"metadata.managedFields", "metadata.annotations[a]", "metadata.annotations[large]"}))
	}
	var options tap.Options
	drop(&options)
	for _, k := range kinds[:2] {
		server := newServer(t, false, nil, []answer{events(true, changing(1, 300)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, drop)
		w, err := source.WatchWithContext(t.Context(), firstWatch)
		require.NoError(t, err)
		for range 301 {
			got := (<-w.ResultChan()).Object.(*v1.Pod)
			options.Trim(got)
			assert.Empty(t, got.ManagedFields)
			assert.Empty(t, got.Annotations)
		}
		w.Stop()
	}
}

// TestDeletedIsDecoded: the last state of an object that is deleted is none that comes again, even
// if it is written as a cached one.
func TestDeletedIsDecoded(t *testing.T) {
	for _, k := range kinds {
		items := largePods(12, "4")
		script := append(added(items), event{watch.Deleted, &items[11]}, event{watch.Modified, &items[10]})
		server := newServer(t, false, nil, []answer{events(false, script...)})
		got := objectsOf(follow(t, tappedOf(k.make(t, server.config(transport)), k.example, remembers), firstWatch, 0))
		require.Len(t, got, 14)
		assert.NotSame(t, got[11], got[12], k.name)
		assert.Same(t, got[10], got[13], k.name)
	}
}

// TestChecksDecode: while all parts are checked nothing is reused. What was decoded then is what
// is reused later.
func TestChecksDecode(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		server := newServer(t, false, []answer{list("5", items...)}, []answer{events(false, added(items)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		lists := func() []apiruntime.Object { return ask(t, source, firstList).Items }
		watches := func() []apiruntime.Object { return objectsOf(follow(t, source, firstWatch, 0)) }
		for _, way := range []func() []apiruntime.Object{lists, watches} {
			before := way()
			source.Check(true)
			during := way()
			source.Check(false)
			after := way()
			assert.Zero(t, same(before, during), k.name)
			assert.Equal(t, during, after)
			assert.GreaterOrEqual(t, same(during, after), 20-bothWays-1, k.name)
		}
	}
}

// TestRemembersIfAsked: without Share or Remember all objects are decoded anew, and small ones always.
func TestRemembersIfAsked(t *testing.T) {
	for name, c := range map[string]struct {
		items  []v1.Pod
		change func(*tap.Options)
	}{
		"small":            {pods(20, "4"), remembers},
		"no parts shared":  {largePods(20, "4"), func(o *tap.Options) { o.Make, o.Remember = nil, true }},
		"not to be reused": {largePods(20, "4"), sharesParts},
	} {
		k := kinds[0]
		server := newServer(t, false, []answer{list("5", c.items...)}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, c.change)
		before := ask(t, source, firstList)
		after := ask(t, source, firstList)
		assert.Zero(t, same(before.Items, after.Items), name)
		assert.Zero(t, source.ledger.State().Reused, name)
	}
}

// TestRemembersUntilTheEnd: an informer that has ended remembers nothing.
func TestRemembersUntilTheEnd(t *testing.T) {
	k := kinds[0]
	server := newServer(t, false, []answer{list("5", largePods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	end := source.Begin()
	before := ask(t, source, firstList)
	end()
	assert.Zero(t, same(before.Items, ask(t, source, firstList).Items))
}

// TestRemembersNobodysObjects: objects that nobody has are garbage, though they were remembered.
func TestRemembersNobodysObjects(t *testing.T) {
	k := kinds[0]
	server := newServer(t, false, []answer{list("5", largePods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	ask(t, source, firstList)
	runtime.GC()
	runtime.GC()
	ask(t, source, firstList)
	assert.Zero(t, source.ledger.State().Reused)
}

// TestWrittenNeverComesBack: a state that is taken over while all is checked has objects in the
// place of which somebody may have written to. Those do not come back later, although somebody has
// them: not if the client has made the new ones, as it does with the first of each watch, and not
// if these came in another form, as items of a list do.
func TestWrittenNeverComesBack(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[10:]), items[:10]...) // so that none is first in both
		server := newServer(t, false, []answer{list("5", items...)}, []answer{
			events(false, added(items)...), events(false, added(behind)...), events(false, added(items)...), events(false, added(items)...),
		})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		watches := func() []apiruntime.Object { return objectsOf(follow(t, source, firstWatch, 0)) }
		for _, checked := range []func(){func() { watches() }, func() { ask(t, source, firstList) }} {
			before := watches()
			for _, obj := range before {
				written, err := meta.Accessor(obj)
				require.NoError(t, err)
				written.SetGenerateName("against the rule")
			}
			source.Check(true)
			checked()
			source.Check(false)
			for _, obj := range watches() {
				got, err := meta.Accessor(obj)
				require.NoError(t, err)
				assert.Empty(t, got.GetGenerateName(), "%s, %s", k.name, got.GetName())
			}
			runtime.KeepAlive(before)
		}
	}
}

// TestChecksDecodeEach: while all parts are checked an object that comes twice is decoded twice.
func TestChecksDecodeEach(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		twice := append(slices.Clone(items), items...)
		server := newServer(t, false, []answer{list("5", twice...)}, []answer{events(false, added(twice)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		source.Check(true)
		for _, got := range [][]apiruntime.Object{
			ask(t, source, firstList).Items, objectsOf(follow(t, source, firstWatch, 0)),
		} {
			require.Len(t, got, 40)
			assert.Zero(t, same(got[:20], got[20:]), k.name)
			assert.Equal(t, got[:20], got[20:], k.name)
		}
		assert.Zero(t, source.ledger.State().Reused)
	}
}

// TestListsAndWatchesInTurn: what comes in lists and watches of one informer is what client-go
// makes of each, though some of it came by the other one before.
func TestListsAndWatchesInTurn(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		items := largePods(20, "4")
		server := func() *server {
			return newServer(t, http2, []answer{list("5", items...)}, []answer{events(false, added(items)...)})
		}
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		var kept []heard
		for range 2 {
			kept = append(kept, follow(t, source, firstWatch, 0), ask(t, source, firstList))
		}
		for i, want := range []heard{follow(t, plain, firstWatch, 0), ask(t, plain, firstList)} {
			assert.Equal(t, want, kept[i])
			assert.Equal(t, want, kept[i+2])
		}
		assert.NotZero(t, source.ledger.State().Reused)
	})
}

// TestItemsOfOtherLists: an unstructured item without a kind has that of its list, which may be
// another one next time.
func TestItemsOfOtherLists(t *testing.T) {
	listOf := func(kind string) answer {
		items := make([]string, 20)
		for i := range items {
			items[i] = fmt.Sprintf(`{"metadata":{"name":"p%d","annotations":{"large":"%s"}}}`, i, strings.Repeat("x", 1100))
		}
		body := fmt.Sprintf(`{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, strings.Join(items, ","))
		return func(w http.ResponseWriter, r *http.Request) { reply(w, r, apiruntime.ContentTypeJSON, []byte(body)) }
	}
	for _, k := range kinds {
		if k.name != "dynamic" {
			continue
		}
		server := newServer(t, false, []answer{listOf("One"), listOf("Other"), listOf("One")}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		var kept []heard
		for _, kind := range []string{"One", "Other", "One"} {
			got := ask(t, source, firstList)
			require.Len(t, got.Items, 20)
			for _, item := range got.Items {
				require.Equal(t, kind, item.GetObjectKind().GroupVersionKind().Kind)
			}
			kept = append(kept, got)
		}
		assert.Equal(t, 20-bothWays-1, same(kept[0].Items, kept[2].Items))
	}
}

// TestWrittenIsNoFault: an item that goes both ways is decoded anew, though it is known: who has
// written to the cached one is no fault of the decoder's.
func TestWrittenIsNoFault(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[15:]), items[:15]...)
		server := newServer(t, false, []answer{list("5", items...), list("5", behind...)}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		before := ask(t, source, firstList)
		writeTo(t, before.Items[15])
		after := ask(t, source, firstList)
		require.Empty(t, after.Err, k.name)
		assert.NotSame(t, before.Items[15], after.Items[0], k.name)
		assert.Same(t, before.Items[16], after.Items[1], k.name)
		assert.Zero(t, source.ledger.State().Differences)
	}
}

// writeTo writes to what no other object shares: the check of a shared part, which comes by chance,
// would notice that and have everything decoded again.
func writeTo(t *testing.T, obj apiruntime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object["against"] = "the rule"
		return
	}
	written, err := meta.Accessor(obj)
	require.NoError(t, err)
	written.SetGenerateName("against the rule")
}

// turns is each of the answers in turn, again and again.
func turns(answers ...answer) []answer {
	var n atomic.Int64
	return []answer{func(w http.ResponseWriter, r *http.Request) {
		answers[int(n.Add(1)-1)%len(answers)](w, r)
	}}
}

// cutList is the list of 20 pods, of which half of the bytes come.
func cutList(w http.ResponseWriter, r *http.Request) {
	body := taptest.Encoded(podList("5"), mediaOf(r))
	w.Header().Set("Content-Type", mediaOf(r))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// cutWatch ends in the middle of its second event.
func cutWatch(w http.ResponseWriter, r *http.Request) {
	frame := taptest.Frame(watch.Modified, pod("p1", "9"), mediaOf(r))
	stream(false, streamType(mediaOf(r)), frame, frame[:len(frame)/2])(w, r)
}

// failing returns a source that shares parts, whose lists and watches fail in many ways, and now
// and then do not.
func failing(t testing.TB, k kind) tapped {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	server := newServer(t, false,
		turns(list("5", pods(20, "4")...), status(500, metav1.StatusReasonInternalError), cutList, status(410, metav1.StatusReasonExpired)),
		turns(events(false, manyEvents()...), cutWatch, events(false, event{watch.Error, gone}), events(true, manyEvents()...)))
	return tappedOf(k.make(t, server.config(transport)), k.example, sharesParts)
}

func sharesParts(o *tap.Options) { o.Make, o.Share = nil, true }

// goWrong has a source list and watch several times, and lose its last watch.
func (s tapped) goWrong(t testing.TB) {
	failed, listed, seen := 0, 0, 0
	for range 8 {
		got := ask(t, s, firstList)
		if listed += len(got.Items); got.Err != "" {
			failed++
		}
	}
	for range 8 {
		seen += len(follow(t, s, firstWatch, len(manyEvents())).Events)
	}
	assert.NotZero(t, failed)
	assert.NotZero(t, listed)
	assert.NotZero(t, seen)
}

// breakDown begins and ends two sources that come to a bad end: of one somebody alters the lists,
// the other one's ListerWatcher panics.
func breakDown(t testing.TB) (all []tapped) {
	panics := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (apiruntime.Object, error) {
		_, _ = plain.ListWithContext(ctx, o)
		panic("no list today")
	}
	for _, change := range []listChange{changes["edits"], panics} {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
		source := tappedOf(altered{generated(t, server.config(transport)), change, nil}, &v1.Pod{}, sharesParts)
		func() {
			defer func() { _ = recover() }()
			defer source.Begin()()
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
		}()
		all = append(all, source)
	}
	return all
}

// lifeOf returns what tells whether something is there, and is told when it is no more.
func lifeOf[T any](t testing.TB, thing *T) (there func() bool, freed <-chan struct{}) {
	require.NotNil(t, thing)
	p, done := weak.Make(thing), make(chan struct{})
	runtime.AddCleanup(thing, func(done chan struct{}) { close(done) }, done)
	return func() bool { return p.Value() != nil }, done
}

// awaitFreed collects garbage until something is.
func awaitFreed(t testing.TB, freed <-chan struct{}, what string) {
	for late := time.After(testkit.Patience); ; {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-late:
			require.Fail(t, "still there", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestTablesAreGarbage: both tables are freed when the last informer that uses them has ended,
// although all informers are still there, whatever has failed, and as often as they begin anew; and
// no sooner.
func TestTablesAreGarbage(t *testing.T) {
	noTable(t)
	first, second := failing(t, kinds[0]), failing(t, kinds[1])
	var kept []tapped
	for range 3 {
		endFirst, endSecond := first.Begin(), second.Begin()
		first.goWrong(t)
		second.goWrong(t)
		kept = append(kept, breakDown(t)...)
		textsThere, textsFreed := lifeOf(t, tap.SharedTexts())
		partsThere, partsFreed := lifeOf(t, tap.SharedParts())
		assert.NotZero(t, first.ledger.State().Parts.Count)
		endFirst()
		for range 3 {
			runtime.GC()
		}
		assert.True(t, textsThere())
		assert.True(t, partsThere())
		assert.NotZero(t, second.ledger.State().Parts.Count, "the same tables")
		second.goWrong(t)
		endSecond()
		awaitFreed(t, textsFreed, "the texts")
		awaitFreed(t, partsFreed, "the parts")
		assert.False(t, textsThere())
		assert.False(t, partsThere())
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	runtime.KeepAlive(kept)
}

// usesOwn makes a source decode by the library's decoders.
func usesOwn(o *tap.Options) { o.Make = nil }

// listing returns a source of pods that has not asked for anything.
func listing(t *testing.T) tapped {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	return tappedOf(generated(t, server.config(transport)), &v1.Pod{}, usesOwn)
}

// noTable waits until there is no table.
func noTable(t *testing.T) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if tap.SharedTexts() == nil {
			return
		}
	}
	require.Fail(t, "the table is still there")
}

// TestTextsEndWithTheirUsers: informers that run have one table, from their first decoder on; it is
// freed with the last of them, whatever remains of what they have decoded.
func TestTextsEndWithTheirUsers(t *testing.T) {
	noTable(t)
	first, second := listing(t), listing(t)
	endFirst, endSecond := first.Begin(), second.Begin()
	assert.Zero(t, first.ledger.State().Texts)
	assert.Nil(t, tap.SharedTexts(), "nobody decodes yet")
	got := ask(t, first, firstList)
	runtime.GC()
	assert.Zero(t, second.ledger.State().Texts)
	ask(t, second, firstList)
	texts := first.ledger.State().Texts
	assert.Greater(t, texts.Count, int64(5))
	assert.Greater(t, texts.Bytes, int64(0))
	assert.EqualValues(t, 256<<10, texts.Limit, "of one that caches next to nothing")
	assert.Equal(t, texts, second.ledger.State().Texts)

	endFirst()
	runtime.GC()
	assert.Zero(t, first.ledger.State().Texts)
	assert.Equal(t, texts, second.ledger.State().Texts)
	endSecond()
	assert.Zero(t, second.ledger.State().Texts)
	noTable(t)
	assert.Len(t, got.Items, 20)
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
}

// TestTextsWithoutAnEnd: what is asked for before the begin and after the end, and by a source that
// is never ended, keeps no table.
func TestTextsWithoutAnEnd(t *testing.T) {
	noTable(t)
	source := listing(t)
	ask(t, source, firstList)
	noTable(t)
	source.Begin()()
	ask(t, source, firstList)
	assert.Zero(t, source.ledger.State().Texts)
	noTable(t)
	again := source.Begin()
	ask(t, source, firstList)
	assert.NotZero(t, source.ledger.State().Texts)
	again()
	runtime.KeepAlive(source)
	func() {
		forgotten := listing(t)
		_ = forgotten.Begin()
		ask(t, forgotten, firstList)
		assert.NotZero(t, forgotten.ledger.State().Texts)
	}()
	noTable(t)
}

// TestTextsTogether: informers begin and end beside each other, and beside who looks at them and
// the garbage collector. All of them decode what they are sent.
func TestTextsTogether(t *testing.T) {
	plain := ask(t, listing(t).Plain(), firstList)
	var running sync.WaitGroup
	for range 4 {
		source := listing(t)
		running.Go(func() {
			for range 10 {
				end := source.Begin()
				assert.Equal(t, plain, ask(t, source, firstList))
				assert.NotZero(t, source.ledger.State().Texts)
				runtime.GC()
				end()
				assert.Zero(t, source.ledger.State().Texts)
			}
		})
	}
	running.Wait()
	noTable(t)
}

// noJSON is a type whose documents cannot be read by a plan.
type noJSON struct {
	metav1.TypeMeta `json:",inline"`
	//lint:ignore SA5008 the tag is odd on purpose
	Odd string `json:"od\"d"`
}

func (n *noJSON) DeepCopyObject() apiruntime.Object { c := *n; return &c }

// TestTextsAreForDecoders: where nothing is decoded directly no table is made.
func TestTextsAreForDecoders(t *testing.T) {
	noTable(t)
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	for _, c := range []struct {
		example any
		media   string
		change  func(*tap.Options)
	}{
		{&v1.Pod{}, "", func(o *tap.Options) { o.Make, o.Off = nil, true }},
		{&noJSON{}, apiruntime.ContentTypeJSON, usesOwn},
		{&unstructured.Unstructured{}, "", usesOwn}, // not in protobuf
		{nil, "", usesOwn},
	} {
		config := server.config(transport)
		config.ContentType = c.media
		source := tappedOf(generated(t, config), c.example, c.change)
		end := source.Begin()
		ask(t, source, firstList)
		assert.Nil(t, tap.SharedTexts(), "%v", reflect.TypeOf(c.example))
		assert.Zero(t, source.ledger.State().Texts)
		end()
	}
}

// secretClients are those of secrets.
var secretClients = []kind{
	{"protobuf", tap.Protobuf, &v1.Secret{}, true, secrets},
	{"JSON", tap.JSON, &v1.Secret{}, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		c.ContentType = apiruntime.ContentTypeJSON
		return secrets(t, c)
	}},
	{"dynamic", tap.JSON, &unstructured.Unstructured{}, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		d, err := dynamic.NewForConfig(c)
		require.NoError(t, err)
		return listWatchOf(d.Resource(v1.SchemeGroupVersion.WithResource("secrets")).Namespace("space"))
	}},
}

func secrets(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return listWatchOf(set.CoreV1().Secrets("space"))
}

const hidden = "hunter2"

func secret(i int) *v1.Secret {
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), Namespace: "space", Labels: map[string]string{"app": "label-of-secrets"}},
		Data:       map[string][]byte{"key-" + hidden: []byte(hidden), "other": []byte(hidden + hidden)},
		StringData: map[string]string{"plain-" + hidden: hidden},
	}
}

// TestTextsOfSecrets: nothing of the data of secrets comes into the table, by whatever client and
// in whatever encoding they are listed and watched; where they are known to be secrets, nothing at
// all.
func TestTextsOfSecrets(t *testing.T) {
	all := &v1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	var script []event
	for i := range 40 {
		all.Items = append(all.Items, *secret(i))
		script = append(script, event{watch.Modified, secret(i)})
	}
	lists := func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, mediaOf(r), taptest.Encoded(all, mediaOf(r)))
	}
	for _, k := range secretClients {
		noTable(t)
		server := newServer(t, false, []answer{lists}, []answer{events(false, script...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, usesOwn)
		end := source.Begin()
		require.Len(t, ask(t, source, firstList).Items, 40)
		require.Len(t, follow(t, source, firstWatch, 0).Events, 40)
		state := source.ledger.State()
		assert.Equal(t, k.encoding, state.Encoding)
		assert.Greater(t, state.Decoded, int64(60), "%s: %+v", k.name, state)
		known := slices.Collect(tap.SharedTexts().All())
		end()
		if k.name != "dynamic" {
			assert.Empty(t, known, k.name)
			continue
		}
		assert.Subset(t, []string{"apiVersion", "v1", "kind", "Secret"}, known, "what comes before it is known to be a secret")
	}
}
