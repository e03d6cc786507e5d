// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap/engine"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

func remembers(o *engine.Options) { o.Make, o.Share, o.Remember = nil, true, true }

// largePods returns pods that are large enough for rows.
func largePods(n int, version string) []v1.Pod { return podsOf(n, version, 1100) }

// podsOf returns pods of about the given size.
func podsOf(n int, version string, size int) []v1.Pod {
	list := pods(n, version)
	for i := range list {
		list[i].Annotations["large"] = strings.Repeat("x", size)
	}
	return list
}

// added returns events that add the pods, and a bookmark of the same size at the end.
func added(list []v1.Pod) (script []event) {
	for i := range list {
		script = append(script, event{watch.Added, &list[i]})
	}
	end := bookmark("40", true)
	end.Annotations["large"] = strings.Repeat("x", 1100)
	return append(script, event{watch.Bookmark, end})
}

// serving is a server of pods, whose watches begin with them.
func serving(items []v1.Pod) served {
	return served{lists: []answer{list("5", items...)}, watches: []answer{events(false, added(items)...)}}
}

// objectsOf returns the objects of the events, without bookmarks.
func objectsOf(got outcome) (list []apiruntime.Object) {
	for _, e := range got.Events {
		if e.Type != watch.Bookmark {
			list = append(list, e.Object)
		}
	}
	return list
}

// same returns the number of positions with the same object.
func same(a, b []apiruntime.Object) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// bothWays is the number of objects of a first list of 20 that both decode, bothWatched that of a
// watch. Of the following objects, both decode the 24th and the 40th.
const bothWays, bothWatched = 9, 8

// TestListAgain checks that a repeated list returns former objects, except those that changed and
// the first, which both always decode, and that its content equals that of client-go.
func TestListAgain(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		lists := served{lists: []answer{list("5", first...), list("40", second...)}}
		plain, source := k.plain(t, lists), k.tapped(t, lists, remembers)
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

// TestWatchListAgain is TestListAgain for watch-lists. The final bookmark is decoded each time.
func TestWatchListAgain(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		watches := served{watches: []answer{events(false, added(first)...), events(false, added(second)...)}}
		plain, source := k.plain(t, watches), k.tapped(t, watches, remembers)
		before := watched(t, source)
		assert.Equal(t, watched(t, plain), before)
		after := watched(t, source)
		assert.Equal(t, watched(t, plain), after)
		assert.Equal(t, 20-bothWatched-2, same(objectsOf(before), objectsOf(after)), "the first of the second teaches")
		assert.EqualValues(t, 20-bothWatched-2, source.ledger.State().Reused)
	})
}

// changing returns a watch of n pods whose status, labels, containers or managed fields change in
// turns, and which are deleted in the end.
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

// TestUpdatesAreEqual checks that objects decoded from their former versions equal those of client-go.
func TestUpdatesAreEqual(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		watches := served{watches: []answer{events(false, changing(5, 200)...)}}
		plain, direct, state := plainAndTapped(t, k, watches, watched, remembers)
		require.Len(t, plain.Events, 210)
		assert.Equal(t, plain, direct)
		assert.Zero(t, state.Differences)
	})
}

// TestTrimmedBesideUpdates checks that metadata is dropped before the next version is decoded, so
// that Trim does not write to an object that a handler has. It relies on the race detector.
func TestTrimmedBesideUpdates(t *testing.T) {
	drop := func(o *engine.Options) {
		remembers(o)
		require.Empty(t, o.DropOf([]string{"metadata.managedFields", "metadata.annotations[a]", "metadata.annotations[large]"}))
	}
	var options engine.Options
	drop(&options)
	for _, k := range kinds[:2] {
		source := k.tapped(t, served{watches: []answer{events(true, changing(1, 300)...)}}, drop)
		w, err := source.WatchWithContext(t.Context(), firstWatch)
		require.NoError(t, err)
		for range 301 {
			got := (<-w.ResultChan()).Object.(*v1.Pod)
			options.Trim(got, false)
			assert.Empty(t, got.ManagedFields)
			assert.Empty(t, got.Annotations)
		}
		w.Stop()
	}
}

// TestDeletedIsDecoded checks that the last state of a deleted object is decoded, even if it has
// the bytes of a cached object.
func TestDeletedIsDecoded(t *testing.T) {
	for _, k := range kinds {
		items := largePods(12, "4")
		script := append(added(items), event{watch.Deleted, &items[11]}, event{watch.Modified, &items[10]})
		got := objectsOf(watched(t, k.tapped(t, served{watches: []answer{events(false, script...)}}, remembers)))
		require.Len(t, got, 14)
		assert.NotSame(t, got[11], got[12], k.name)
		assert.Same(t, got[10], got[13], k.name)
	}
}

// TestChecksDecode checks that, while all parts are checked, no former object is returned and an
// object received twice is decoded twice, and that the objects decoded then are returned later.
func TestChecksDecode(t *testing.T) {
	for _, k := range kinds {
		source := k.tapped(t, serving(slices.Repeat(largePods(20, "4"), 2)), remembers)
		lists := func() []apiruntime.Object { return ask(t, source, firstList).Items }
		watches := func() []apiruntime.Object { return objectsOf(watched(t, source)) }
		for _, way := range []func() []apiruntime.Object{lists, watches} {
			before, reused := way(), source.ledger.State().Reused
			source.Check(true)
			during := way()
			assert.Equal(t, reused, source.ledger.State().Reused, k.name)
			source.Check(false)
			after := way()
			require.Len(t, during, 40)
			assert.Zero(t, same(before, during), k.name)
			assert.Zero(t, same(during[:20], during[20:]), k.name)
			assert.Equal(t, during[:20], during[20:], k.name)
			assert.Equal(t, during, after)
			assert.GreaterOrEqual(t, same(during[20:], after[20:]), 20-bothWays-1, k.name)
		}
	}
}

// TestNoFormerObjectWithoutRemember checks that no former object is returned without Share and Remember, or if objects are small.
func TestNoFormerObjectWithoutRemember(t *testing.T) {
	for name, c := range map[string]struct {
		items  []v1.Pod
		change func(*engine.Options)
	}{
		"small":            {pods(20, "4"), remembers},
		"no parts shared":  {largePods(20, "4"), func(o *engine.Options) { o.Make, o.Remember = nil, true }},
		"not to be reused": {largePods(20, "4"), sharesParts},
	} {
		source := kinds[0].tapped(t, serving(c.items), c.change)
		before := ask(t, source, firstList)
		after := ask(t, source, firstList)
		assert.Zero(t, same(before.Items, after.Items), name)
		assert.Zero(t, source.ledger.State().Reused, name)
	}
}

// TestRowsDoNotRetainObjects checks that rows do not keep objects alive, and that no former object
// is returned after the end of the informer.
func TestRowsDoNotRetainObjects(t *testing.T) {
	source := kinds[0].tapped(t, serving(largePods(20, "4")), remembers)
	ask(t, source, firstList)
	runtime.GC()
	runtime.GC()
	ask(t, source, firstList)
	assert.Zero(t, source.ledger.State().Reused)
	end := source.Begin()
	before := ask(t, source, firstList)
	end()
	assert.Zero(t, same(before.Items, ask(t, source, firstList).Items))
}

// TestModifiedObjectsAreNotReused checks that, after a list with Check, objects that were modified before are not returned
// later, although the test still references them: not if the client made the new objects, as for the first frame of
// each watch, and not if the new objects have another form, as items of a list.
func TestModifiedObjectsAreNotReused(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[10:]), items[:10]...) // so that no object is first in both
		has := serving(items)
		has.watches = []answer{has.watches[0], events(false, added(behind)...), has.watches[0]}
		source := k.tapped(t, has, remembers)
		watches := func() []apiruntime.Object { return objectsOf(watched(t, source)) }
		for _, checked := range []func(){func() { watches() }, func() { ask(t, source, firstList) }} {
			before := watches()
			for _, obj := range before {
				obj.(metav1.Object).SetGenerateName("against the rule")
			}
			source.Check(true)
			checked()
			source.Check(false)
			for _, obj := range watches() {
				got := obj.(metav1.Object)
				assert.Empty(t, got.GetGenerateName(), "%s, %s", k.name, got.GetName())
			}
			runtime.KeepAlive(before)
		}
	}
}

// TestListsAndWatchesInTurn checks that the content of lists and watches of one informer equals
// that of client-go, although rows from the other are used. In protobuf, lists return former objects
// of watches, and watches those of lists.
func TestListsAndWatchesInTurn(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		has := serving(largePods(20, "4"))
		plain, source := k.plain(t, has), k.tapped(t, has, remembers)
		var kept []outcome
		for range 2 {
			kept = append(kept, watched(t, source), ask(t, source, firstList))
		}
		for i, want := range []outcome{watched(t, plain), ask(t, plain, firstList)} {
			assert.Equal(t, want, kept[i])
			assert.Equal(t, want, kept[i+2])
		}
		assert.NotZero(t, source.ledger.State().Reused)
		if k.name == "generated" {
			assert.Equal(t, 20-bothWatched-2, same(objectsOf(kept[0]), kept[1].Items))
			assert.Equal(t, 20-1-4, same(kept[1].Items, objectsOf(kept[2])), "the first teaches")
		}
	})
}

// TestItemsOfOtherLists checks that an unstructured item without a kind gets that of its list, even
// if the list has another kind the next time.
func TestItemsOfOtherLists(t *testing.T) {
	listOf := func(kind string) answer {
		items := make([]string, 20)
		for i := range items {
			items[i] = fmt.Sprintf(`{"metadata":{"name":"p%d","annotations":{"large":"%s"}}}`, i, strings.Repeat("x", 1100))
		}
		body := fmt.Sprintf(`{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, strings.Join(items, ","))
		return inJSON(body)
	}
	source := dynamicJSON.tapped(t, served{lists: []answer{listOf("One"), listOf("Other"), listOf("One")}}, remembers)
	var kept []outcome
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

// TestModifiedObjectIsNoDecoderFault checks that an item which both decode is decoded again even if it has a row,
// so that a modification of the former object is not taken for a fault of the decoder.
func TestModifiedObjectIsNoDecoderFault(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[15:]), items[:15]...)
		source := k.tapped(t, served{lists: []answer{list("5", items...), list("5", behind...)}}, remembers)
		before := ask(t, source, firstList)
		writeTo(before.Items[15])
		after := ask(t, source, firstList)
		require.Empty(t, after.Err, k.name)
		assert.NotSame(t, before.Items[15], after.Items[0], k.name)
		assert.Same(t, before.Items[16], after.Items[1], k.name)
		assert.Zero(t, source.ledger.State().Differences)
	}
}

// writeTo modifies a field that no other object shares. A random check of a shared part would find
// the modification and cause everything to be decoded again.
func writeTo(obj apiruntime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object["against"] = "the rule"
		return
	}
	obj.(metav1.Object).SetGenerateName("against the rule")
}

// cutWatch ends within its second event.
func cutWatch(w http.ResponseWriter, r *http.Request) {
	frame := taptest.Frame(watch.Modified, pod("p1", "9"), mediaOf(r))
	stream(false, mediaOf(r), frame, frame[:len(frame)/2])(w, r)
}

// failing returns a source with shared parts, whose lists and watches fail in several ways, but not always.
func failing(t testing.TB, k kind) tapped {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	lists := []answer{goodList, status(500, metav1.StatusReasonInternalError), cutOff, status(410, metav1.StatusReasonExpired)}
	watches := []answer{events(false, manyEvents()...), cutWatch, events(false, event{watch.Error, gone}), heldWatch.watches[0]}
	return k.tapped(t, served{lists: slices.Repeat(lists, 100), watches: slices.Repeat(watches, 100)}, sharesParts)
}

func sharesParts(o *engine.Options) { o.Make, o.Share = nil, true }

// goWrong lists and watches several times, and abandons the last watch.
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

// breakDown begins and ends two sources that fail: the lists of one are changed, the ListerWatcher of the other panics.
func breakDown(t testing.TB) (all []tapped) {
	panics := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (apiruntime.Object, error) {
		_, _ = plain.ListWithContext(ctx, o)
		panic("no list today")
	}
	for _, change := range []listChange{changes["edits"], panics} {
		source := kinds[0].altering(change, nil).tapped(t, served{}, sharesParts)
		func() {
			defer func() { _ = recover() }()
			defer source.Begin()()
			source.doubts(t)
		}()
		all = append(all, source)
	}
	return all
}

// TestTablesAreFreed checks that both tables are freed when the last informer that uses them ends, and no sooner,
// although the informers are still referenced, after any failures, and each time they begin again.
func TestTablesAreFreed(t *testing.T) {
	noTable(t)
	first, second := failing(t, kinds[0]), failing(t, kinds[1])
	var kept []tapped
	for range 3 {
		endFirst, endSecond := first.Begin(), second.Begin()
		assert.Nil(t, engine.SharedTexts(), "nobody decodes yet")
		first.goWrong(t)
		second.goWrong(t)
		shared := first.ledger.State().Texts
		assert.Greater(t, shared.Count, int64(5))
		assert.Greater(t, shared.Bytes, int64(0))
		assert.EqualValues(t, 256<<10, shared.Limit, "of those that cache next to nothing")
		assert.Equal(t, shared, second.ledger.State().Texts)
		kept = append(kept, breakDown(t)...)
		assert.NotZero(t, first.ledger.State().Parts.Count)
		endFirst()
		for range 3 {
			runtime.GC()
		}
		assert.NotNil(t, engine.SharedTexts())
		assert.NotNil(t, engine.SharedParts())
		assert.Zero(t, first.ledger.State().Texts)
		assert.NotZero(t, second.ledger.State().Parts.Count, "the same tables")
		second.goWrong(t)
		endSecond()
		noTable(t)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	runtime.KeepAlive(kept)
}

// noTable waits until there is no table.
func noTable(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		runtime.GC()
		return engine.SharedTexts() == nil && engine.SharedParts() == nil
	}, testkit.Patience, time.Millisecond, "a table is still there")
}

// TestTextsWithoutAnEnd checks that no table is kept by requests before Begin or after its end, nor
// by a source that is never ended.
func TestTextsWithoutAnEnd(t *testing.T) {
	noTable(t)
	source := podClients[0].tapped(t, served{}, usesOwn)
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
		forgotten := podClients[0].tapped(t, served{}, usesOwn)
		_ = forgotten.Begin()
		ask(t, forgotten, firstList)
		assert.NotZero(t, forgotten.ledger.State().Texts)
	}()
	noTable(t)
}

// TestTextsTogether checks that informers may begin and end concurrently, while their state is read
// and garbage is collected, and that all of them decode their lists.
func TestTextsTogether(t *testing.T) {
	plain := ask(t, podClients[0].plain(t, served{}), firstList)
	var running sync.WaitGroup
	for range 4 {
		source := podClients[0].tapped(t, served{}, usesOwn)
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

// noJSON is a type without a plan for JSON.
type noJSON struct {
	metav1.TypeMeta `json:",inline"`
	//lint:ignore SA5008 the tag is odd on purpose
	Odd string `json:"od\"d"`
}

func (n *noJSON) DeepCopyObject() apiruntime.Object { c := *n; return &c }

// TestTextsAreForDecoders checks that there is no table if nothing is decoded directly.
func TestTextsAreForDecoders(t *testing.T) {
	noTable(t)
	for _, c := range []struct {
		k       kind
		example apiruntime.Object
		change  func(*engine.Options)
	}{
		{podClients[0], &v1.Pod{}, func(o *engine.Options) { o.Make, o.Off = nil, true }},
		{podClients[1], &noJSON{}, usesOwn},
		{podClients[0], &unstructured.Unstructured{}, usesOwn}, // it has no protobuf
		{podClients[0], nil, usesOwn},
	} {
		c.k.example = c.example
		source := c.k.tapped(t, served{}, c.change)
		end := source.Begin()
		ask(t, source, firstList)
		assert.Nil(t, engine.SharedTexts(), "%v", reflect.TypeOf(c.example))
		assert.Zero(t, source.ledger.State().Texts)
		end()
	}
}

const hidden = "hunter2"

func secret(i int) *v1.Secret {
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), Namespace: "space", Labels: map[string]string{"app": "label-of-secrets"}},
		Data:       map[string][]byte{"key-" + hidden: []byte(hidden), "other": []byte(hidden + hidden)},
		StringData: map[string]string{"plain-" + hidden: hidden},
	}
}

// TestTextsOfSecrets checks that no data of secrets enters the table, with any client and encoding,
// in lists and watches, and nothing at all if the type is Secret.
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
	for _, k := range []kind{
		{name: "protobuf", encoding: engine.Protobuf, example: &v1.Secret{}, make: directly("secrets", &v1.Secret{})},
		{name: "JSON", encoding: engine.JSON, example: &v1.Secret{}, make: listWatch("secrets")},
		{name: "dynamic", encoding: engine.JSON, example: &unstructured.Unstructured{}, make: dynamically("secrets")},
	} {
		noTable(t)
		source := k.tapped(t, served{lists: []answer{lists}, watches: []answer{events(false, script...)}}, usesOwn)
		end := source.Begin()
		require.Len(t, ask(t, source, firstList).Items, 40)
		require.Len(t, watched(t, source).Events, 40)
		state := source.ledger.State()
		assert.EqualValues(t, k.encoding, state.Encoding)
		assert.Greater(t, state.Decoded, int64(60), "%s: %+v", k.name, state)
		known := slices.Collect(engine.SharedTexts().All())
		end()
		if k.name != "dynamic" {
			assert.Empty(t, known, k.name)
			continue
		}
		assert.Subset(t, []string{"apiVersion", "v1", "kind", "Secret"}, known, "what comes before it is known to be a secret")
	}
}
