// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/cachetest"
)

func TestWritersReturnWhatIsStored(t *testing.T) {
	src := cachetest.Of()
	created := src.Create(pod("a")).(*corev1.Pod)
	require.Equal(t, "2", created.ResourceVersion)
	require.EqualValues(t, "d4735e3a-265e-16ee-e03f-59718b9b5d03", created.UID)
	require.WithinDuration(t, time.Now(), created.CreationTimestamp.Time, time.Minute)
	require.Zero(t, created.CreationTimestamp.Nanosecond(), "as it is stored")

	changed := pod("a")
	changed.Generation = 1
	updated := src.Update(changed).(*corev1.Pod)
	require.Equal(t, "3", updated.ResourceVersion)
	require.Equal(t, created.UID, updated.UID)
	require.Equal(t, created.CreationTimestamp, updated.CreationTimestamp)

	patched := cachetest.PatchAs(src, "default", "a", label("x"))
	require.Equal(t, "4", patched.ResourceVersion)
	require.Equal(t, "x", patched.Labels["l"])
	require.Equal(t, patched, src.Get("default", "a"))
	require.Equal(t, map[string]string{"default/a": "4"}, src.Versions())

	deleted := src.Delete("default", "a").(*corev1.Pod)
	require.Equal(t, "5", deleted.ResourceVersion)
	require.Equal(t, "x", deleted.Labels["l"])
	require.Nil(t, src.Get("default", "a"))

	again := src.Put(pod("a")).(*corev1.Pod)
	require.NotEqual(t, created.UID, again.UID)
	require.EqualValues(t, 6, src.ResourceVersion())
}

func TestUpdatesThatChangeNothingAreNoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		w := open(t, src, bookmarksFrom("2"))
		stored := src.Get("default", "a")
		older := pod("a")
		older.ResourceVersion = "1"
		for name, write := range map[string]func() runtime.Object{
			"Update":       func() runtime.Object { return src.Update(pod("a")) },
			"of an answer": func() runtime.Object { return src.Update(stored) },
			"at a version": func() runtime.Object { return src.Update(older) },
			"Put":          func() runtime.Object { return src.Put(pod("a")) },
			"Patch":        func() runtime.Object { return src.Patch("default", "a", func(runtime.Object) {}) },
		} {
			require.Equal(t, stored, write(), name)
		}
		require.EqualValues(t, 2, src.ResourceVersion())
		requireSilent(t, w)
		relabel(src, "a", "1")
		require.Equal(t, []string{"MODIFIED a 3"}, take(t, w, 1))

		src = cachetest.New(cachetest.Options{Share: true, Objects: pods("a")})
		require.Equal(t, "3", src.Update(pod("a")).(*corev1.Pod).ResourceVersion, "with Share the update counts")
	})
}

// route is an object with an unexported field, as the types of some projects have.
type route struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	to string
}

func (r *route) DeepCopyObject() runtime.Object {
	c := *r
	c.ObjectMeta = *r.ObjectMeta.DeepCopy()
	return &c
}

// TestUnexportedFieldsAreCompared: an update is a write if it changes an unexported field.
func TestUnexportedFieldsAreCompared(t *testing.T) {
	to := func(to string) *route {
		return &route{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, to: to}
	}
	src := cachetest.Of(to("x"))
	require.Equal(t, "2", src.Put(to("x")).(*route).ResourceVersion)
	require.Equal(t, "3", src.Put(to("y")).(*route).ResourceVersion)
}

// TestCreateKeepsGivenIdentity: a UID and a creation time that the test sets take precedence over the source's.
func TestCreateKeepsGivenIdentity(t *testing.T) {
	given := pod("a")
	given.UID, given.CreationTimestamp = "mine", metav1.Unix(1e9, 0)
	src := cachetest.Of(given)
	stored := src.Get("default", "a").(*corev1.Pod)
	require.Equal(t, given.ObjectMeta.UID, stored.UID)
	require.Equal(t, given.CreationTimestamp, stored.CreationTimestamp)
	given.CreationTimestamp = metav1.Unix(2e9, 0)
	given.Generation = 1
	require.Equal(t, stored.CreationTimestamp, src.Update(given).(*corev1.Pod).CreationTimestamp)
	given.UID = "another"
	replaced := src.Update(given).(*corev1.Pod)
	require.EqualValues(t, "another", replaced.UID)
	require.Equal(t, given.CreationTimestamp, replaced.CreationTimestamp)
}

func TestWritesThatTheServerWouldRefusePanic(t *testing.T) {
	src := cachetest.Of(pod("a"))
	refused := func(is func(error) bool, write func()) {
		t.Helper()
		defer func() {
			err, ok := recover().(error)
			require.True(t, ok && is(err), "%v", err)
		}()
		write()
	}
	refused(apierrors.IsAlreadyExists, func() { src.Create(pod("a")) })
	refused(apierrors.IsNotFound, func() { src.Update(pod("b")) })
	refused(apierrors.IsNotFound, func() { relabel(src, "b", "1") })
	refused(apierrors.IsNotFound, func() { src.Delete("default", "b") })
	refused(apierrors.IsInvalid, func() { src.Create(pod("")) })
	require.EqualValues(t, 2, src.ResourceVersion())
}

func TestObjectsAreCopied(t *testing.T) {
	src := cachetest.New(cachetest.Options{NewList: podList})
	mine := pod("a")
	returned := src.Create(mine).(*corev1.Pod)
	require.Empty(t, mine.ResourceVersion)
	list, err := src.List(metav1.ListOptions{})
	require.NoError(t, err)
	streamed := (<-open(t, src, metav1.ListOptions{}).ResultChan()).Object.(*corev1.Pod)
	for _, p := range []*corev1.Pod{mine, returned, streamed, src.Get("default", "a").(*corev1.Pod), &list.(*corev1.PodList).Items[0]} {
		label("spoilt")(p)
	}
	require.Empty(t, src.Get("default", "a").(*corev1.Pod).Labels)
}

func TestShareCopiesNothing(t *testing.T) {
	src := cachetest.New(cachetest.Options{Share: true})
	mine := pod("a")
	require.Same(t, mine, src.Create(mine))
	require.Same(t, mine, src.Get("default", "a"))
	first, second := open(t, src, metav1.ListOptions{}), open(t, src, metav1.ListOptions{})
	require.Same(t, mine, (<-first.ResultChan()).Object)
	require.Same(t, mine, (<-second.ResultChan()).Object)

	relabel(src, "a", "1")
	require.Empty(t, mine.Labels, "the version that was handed out has changed")
}

func TestPatchStartsOverWhenAnotherWriterWasFaster(t *testing.T) {
	src := cachetest.Of(pod("a"))
	calls := 0
	patched := cachetest.PatchAs(src, "default", "a", func(p *corev1.Pod) {
		if calls++; calls == 1 {
			relabel(src, "a", "theirs")
		}
		p.Generation++
	})
	require.Equal(t, 2, calls)
	require.Equal(t, "theirs", patched.Labels["l"])
	require.EqualValues(t, 1, patched.Generation)
}

func TestRewindGivesVersionsAgain(t *testing.T) {
	src := cachetest.Of(pods("a", "b")...)
	w := open(t, src, metav1.ListOptions{ResourceVersion: "3"})
	relabel(src, "a", "1")
	src.Delete("default", "b")
	src.Create(pod("c"))
	require.Equal(t, []string{"MODIFIED a 4", "DELETED b 5", "ADDED c 6"}, take(t, w, 3))

	src.Rewind(3)
	requireEnd(t, w)
	require.Equal(t, map[string]string{"default/a": "2", "default/b": "3"}, src.Versions())
	require.Equal(t, "4", src.Create(pod("d")).(*corev1.Pod).ResourceVersion)
	require.Panics(t, func() { src.Rewind(5) })
	src.Compact(4)
	require.Panics(t, func() { src.Rewind(3) })
}

// names lists src, and returns the continue token of the list and its objects as "name rv".
func names(t *testing.T, src *cachetest.Source, options metav1.ListOptions) (next string, lines []string) {
	t.Helper()
	list, err := src.ListWithContext(t.Context(), options)
	require.NoError(t, err)
	m, err := meta.ListAccessor(list)
	require.NoError(t, err)
	require.NoError(t, meta.EachListItem(list, func(obj runtime.Object) error {
		item, err := meta.Accessor(obj)
		require.NoError(t, err)
		lines = append(lines, item.GetName()+" "+item.GetResourceVersion())
		return nil
	}))
	return m.GetContinue(), lines
}

// scriptedPast returns a source at 7 whose state was {a 2, b 3} at 3, and is {a 4, c 6} now.
func scriptedPast(opts cachetest.Options) *cachetest.Source {
	opts.Objects = pods("a", "b")
	src := cachetest.New(opts)
	relabel(src, "a", "1")
	src.Delete("default", "b")
	src.Create(pod("c"))
	src.Tick()
	return src
}

func TestListRefuses(t *testing.T) {
	src := scriptedPast(cachetest.Options{})
	next, _ := names(t, src, metav1.ListOptions{Limit: 1})
	src.Tick()
	src.Compact(8)
	send := true
	for _, c := range []struct {
		name    string
		options metav1.ListOptions
		is      func(error) bool
	}{
		{"no number", metav1.ListOptions{ResourceVersion: "x"}, apierrors.IsBadRequest},
		{"compacted", metav1.ListOptions{ResourceVersion: "7", Limit: 1}, apierrors.IsResourceExpired},
		{"compacted, by name", metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, apierrors.IsResourceExpired},
		{"compacted token", metav1.ListOptions{Continue: next}, apierrors.IsResourceExpired},
		{"foreign token", metav1.ListOptions{Continue: "?"}, apierrors.IsBadRequest},
		{"token and version", metav1.ListOptions{Continue: next, ResourceVersion: "7"}, apierrors.IsBadRequest},
		{"future", metav1.ListOptions{ResourceVersion: "9"}, isTooLarge},
		{"exact future", metav1.ListOptions{ResourceVersion: "9", Limit: 1}, isTooLarge},
		{"match without version", metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact}, apierrors.IsInvalid},
		{"initial events", metav1.ListOptions{SendInitialEvents: &send}, apierrors.IsInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := src.List(c.options)
			require.True(t, c.is(err), "%v", err)
		})
	}
}

func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func TestListTypes(t *testing.T) {
	list, err := cachetest.Of(widget()).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "WidgetList", list.(*unstructured.UnstructuredList).GetKind())
	require.Equal(t, "example.com/v1", list.(*unstructured.UnstructuredList).GetAPIVersion())
	require.Len(t, list.(*unstructured.UnstructuredList).Items, 1)

	list, err = cachetest.Of(pod("a")).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.IsType(t, &corev1.Pod{}, list.(*metav1.List).Items[0].Object)

	list, err = cachetest.New(cachetest.Options{NewList: podList, Objects: pods("a")}).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", list.(*corev1.PodList).Items[0].Name)

	_, err = cachetest.New(cachetest.Options{NewList: podList, Objects: []runtime.Object{widget()}}).List(metav1.ListOptions{})
	require.ErrorContains(t, err, "do not fit into *v1.PodList")
}

// nodeField allows selecting pods by their node.
var nodeField = map[string]func(runtime.Object) string{
	"spec.nodeName": func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName },
}

// labeled returns a source at 7 with a (l=x, at 6), b (l=y, at 5) and c (no label, on node n, at 7).
func labeled(t *testing.T) *cachetest.Source {
	t.Helper()
	src := cachetest.New(cachetest.Options{Objects: pods("a", "b"), Fields: nodeField, NewList: podList})
	relabel(src, "a", "y")
	relabel(src, "b", "y")
	relabel(src, "a", "x")
	c := pod("c")
	c.Spec.NodeName = "n"
	src.Create(c)
	return src
}

// TestPagesOfASelection: the limit of a page counts only selected objects, and the page does not count
// the rest.
func TestPagesOfASelection(t *testing.T) {
	src := labeled(t)
	list, err := src.List(metav1.ListOptions{Limit: 1, LabelSelector: "l"})
	require.NoError(t, err)
	page := list.(*corev1.PodList)
	require.Equal(t, "a", page.Items[0].Name)
	require.Nil(t, page.RemainingItemCount)
	for _, want := range [][]string{{"b 5"}, nil} {
		require.NotEmpty(t, page.Continue)
		next, items := names(t, src, metav1.ListOptions{Limit: 1, LabelSelector: "l", Continue: page.Continue})
		require.Equal(t, want, items)
		page.Continue = next
	}
	require.Empty(t, page.Continue)
}

func TestWatchesSelect(t *testing.T) {
	for _, c := range []struct {
		options metav1.ListOptions
		events  []string
	}{
		{metav1.ListOptions{LabelSelector: "l=x"}, []string{"ADDED a 6", "ADDED b 9", "DELETED a 10", "MODIFIED b 11", "DELETED b 12"}},
		{metav1.ListOptions{LabelSelector: "l=x", ResourceVersion: "1"},
			[]string{"ADDED a 6", "ADDED b 9", "DELETED a 10", "MODIFIED b 11", "DELETED b 12"}},
		{metav1.ListOptions{LabelSelector: "!l", ResourceVersion: "1"},
			[]string{"ADDED a 2", "ADDED b 3", "DELETED a 4", "DELETED b 5", "ADDED c 7", "DELETED c 8", "ADDED a 10"}},
		{metav1.ListOptions{FieldSelector: "metadata.name=c"}, []string{"ADDED c 7", "DELETED c 8"}},
		{metav1.ListOptions{FieldSelector: "spec.nodeName=n", ResourceVersion: "5"}, []string{"ADDED c 7", "DELETED c 8"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := labeled(t)
			w := open(t, src, c.options)
			src.Delete("default", "c")
			relabel(src, "b", "x")
			cachetest.PatchAs(src, "default", "a", func(p *corev1.Pod) { p.Labels = nil })
			cachetest.PatchAs(src, "default", "b", func(p *corev1.Pod) { p.Generation++ })
			relabel(src, "b", "z")
			require.Equal(t, c.events, take(t, w, len(c.events)), "%v", c.options)
			requireSilent(t, w)
		})
	}
}

// TestScriptsAndSelections: an object that leaves a selection is deleted in its previous state, at the
// version of the write. Resent events are delivered only to streams that select them, injected events to
// all.
func TestScriptsAndSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := labeled(t)
		x := open(t, src, metav1.ListOptions{LabelSelector: "l=x", ResourceVersion: "7"})
		y := open(t, src, metav1.ListOptions{LabelSelector: "l=y", ResourceVersion: "7"})
		relabel(src, "a", "z")
		left := <-x.ResultChan()
		require.Equal(t, "DELETED a 8", line(left))
		require.Equal(t, "x", left.Object.(*corev1.Pod).Labels["l"])
		require.Equal(t, "z", src.Get("default", "a").(*corev1.Pod).Labels["l"])
		src.Resend(6)
		require.Equal(t, []string{"ADDED a 6"}, take(t, x, 1))
		require.Equal(t, []string{"DELETED a 6"}, take(t, y, 1))
		src.Resend(5)
		require.Equal(t, []string{"ADDED b 5"}, take(t, y, 1))
		requireSilent(t, x)
		src.Inject(cachetest.ErrorEvent(cachetest.Expired()))
		require.Equal(t, []string{"ERROR Expired"}, take(t, x, 1))
		require.Equal(t, []string{"ERROR Expired"}, take(t, y, 1))
	})
}

func TestBadSelectorsAreRefused(t *testing.T) {
	for selectors, says := range map[metav1.ListOptions]string{
		{LabelSelector: "l in x"}:        "label selector",
		{FieldSelector: "metadata.name"}: "field selector",
		{FieldSelector: "spec.other=x"}:  "set Options.Fields",
	} {
		src := labeled(t)
		_, err := src.List(selectors)
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
		require.ErrorContains(t, err, says)
		_, err = src.Watch(selectors)
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
	}
	_, err := labeled(t).List(metav1.ListOptions{FieldSelector: "spec.other=x"})
	require.ErrorContains(t, err, "metadata.name, metadata.namespace, spec.nodeName")
}

func TestRequestsAreRecordedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		src.FailNext(cachetest.VerbWatch, cachetest.Expired())
		start, seconds := time.Now(), int64(300)
		_, err := src.List(metav1.ListOptions{Limit: 2, ResourceVersion: "0", LabelSelector: "a=b", FieldSelector: "metadata.name=d"})
		require.NoError(t, err)
		<-time.After(time.Second)
		_, err = src.Watch(metav1.ListOptions{ResourceVersion: "2", TimeoutSeconds: &seconds})
		require.Error(t, err)
		open(t, src, watchListFrom(""))

		require.Equal(t, []string{
			`list rv="0" limit=2 labels="a=b" fields="metadata.name=d"`,
			`watch rv="2"`,
			`watch-list rv="" match=NotOlderThan bookmarks`,
		}, requests(src))
		all := src.Requests()
		require.Equal(t, start, all[0].At)
		require.Equal(t, start.Add(time.Second), all[1].At)
		require.EqualValues(t, 300, *all[1].Options.TimeoutSeconds)
	})
}

func TestWaitRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		done := make(chan []cachetest.Request, 1)
		go func() {
			all, err := src.WaitRequests(t.Context(), 2)
			require.NoError(t, err)
			done <- all
		}()
		for range 2 {
			synctest.Wait()
			require.Empty(t, done)
			_, err := src.List(metav1.ListOptions{})
			require.NoError(t, err)
		}
		require.Len(t, <-done, 2)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := src.WaitRequests(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `waited for 3 requests, got 2 (list rv="", list rv="")`)
	})
}

func TestWaitWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, src.WaitWatching(ctx, 1), "waited for 1 open watches, got 0")
		w := open(t, src, metav1.ListOptions{})
		require.NoError(t, src.WaitWatching(t.Context(), 1))
		require.ErrorIs(t, src.WaitNotWatching(ctx), context.DeadlineExceeded)
		go w.Stop()
		require.NoError(t, src.WaitNotWatching(t.Context()))
	})
}
