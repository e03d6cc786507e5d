// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/cachetest"
)

// names lists src, and returns the answer's resourceVersion and its objects as
// "name rv".
func names(t *testing.T, src *cachetest.Source, options metav1.ListOptions) (rv, next string, lines []string) {
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
	return m.GetResourceVersion(), m.GetContinue(), lines
}

// scriptedPast is a source at 7 whose state was {a 2, b 3} at 3, and is {a 4,
// c 6} now.
func scriptedPast(opts cachetest.Options) *cachetest.Source {
	opts.Objects = pods("a", "b")
	src := cachetest.NewSource(opts)
	relabel(src, "a", "1")
	src.Delete("default", "b")
	src.Create(pod("c"))
	src.Tick()
	return src
}

func TestListVersions(t *testing.T) {
	now := []string{"a 4", "c 6"}
	for _, c := range []struct {
		name    string
		options metav1.ListOptions
		rv      string
		items   []string
	}{
		{"most recent", metav1.ListOptions{}, "7", now},
		{"any", metav1.ListOptions{ResourceVersion: "0"}, "7", now},
		{"any ignores the limit", metav1.ListOptions{ResourceVersion: "0", Limit: 1}, "7", now},
		{"not older, by default", metav1.ListOptions{ResourceVersion: "3"}, "7", now},
		{"not older, by name", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, "7", now},
		{"exact", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, "3", []string{"a 2", "b 3"}},
		{"exact in between", metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, "5", []string{"a 4"}},
		{"limited is exact", metav1.ListOptions{ResourceVersion: "4", Limit: 5}, "4", []string{"a 4", "b 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rv, next, items := names(t, scriptedPast(cachetest.Options{}), c.options)
			require.Equal(t, c.rv, rv)
			require.Equal(t, c.items, items)
			require.Empty(t, next)
		})
	}
}

func TestListRefuses(t *testing.T) {
	src := scriptedPast(cachetest.Options{})
	_, next, _ := names(t, src, metav1.ListOptions{Limit: 1})
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

func TestPagesShowOneState(t *testing.T) {
	src := cachetest.NewSource(cachetest.Options{Objects: pods("a", "b", "c", "d", "e")})
	rv, next, items := names(t, src, metav1.ListOptions{Limit: 2})
	require.Equal(t, "6", rv)
	require.Equal(t, []string{"a 2", "b 3"}, items)

	src.Delete("default", "b")
	src.Delete("default", "c")
	relabel(src, "d", "1")
	src.Create(pod("bb"))
	rv, next, items = names(t, src, metav1.ListOptions{Limit: 2, Continue: next})
	require.Equal(t, "6", rv)
	require.Equal(t, []string{"c 4", "d 5"}, items)
	rv, next, items = names(t, src, metav1.ListOptions{Limit: 2, Continue: next})
	require.Equal(t, "6", rv)
	require.Equal(t, []string{"e 6"}, items)
	require.Empty(t, next)
}

func TestPagesTellHowManyRemain(t *testing.T) {
	src := cachetest.NewSource(cachetest.Options{Objects: pods("a", "b", "c"), NewList: podList})
	list, err := src.List(metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, *list.(*corev1.PodList).RemainingItemCount)
}

func TestNoWatchCachePagesAnyVersion(t *testing.T) {
	src := scriptedPast(cachetest.Options{NoWatchCache: true})
	_, next, items := names(t, src, metav1.ListOptions{ResourceVersion: "0", Limit: 1})
	require.Equal(t, []string{"a 4"}, items)
	require.NotEmpty(t, next)
}

func TestListTypes(t *testing.T) {
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	widget.SetName("w")

	list, err := cachetest.New(widget).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "WidgetList", list.(*unstructured.UnstructuredList).GetKind())
	require.Equal(t, "example.com/v1", list.(*unstructured.UnstructuredList).GetAPIVersion())
	require.Len(t, list.(*unstructured.UnstructuredList).Items, 1)

	list, err = cachetest.New(pod("a")).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.IsType(t, &corev1.Pod{}, list.(*metav1.List).Items[0].Object)

	list, err = cachetest.NewSource(cachetest.Options{NewList: podList, Objects: pods("a")}).List(metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", list.(*corev1.PodList).Items[0].Name)

	_, err = cachetest.NewSource(cachetest.Options{NewList: podList, Objects: []runtime.Object{widget}}).List(metav1.ListOptions{})
	require.ErrorContains(t, err, "do not fit into *v1.PodList")
}
