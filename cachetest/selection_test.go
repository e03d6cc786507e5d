// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/cachetest"
)

// nodeField lets pods be selected by their node.
var nodeField = map[string]func(runtime.Object) string{
	"spec.nodeName": func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName },
}

// labeled is a source at 7 with a (l=x, at 6), b (l=y, at 5) and c (no label, on node n, at 7).
func labeled(t *testing.T) *cachetest.Source {
	t.Helper()
	src := cachetest.NewSource(cachetest.Options{Objects: pods("a", "b"), Fields: nodeField, NewList: podList})
	relabel(src, "a", "y")
	relabel(src, "b", "y")
	relabel(src, "a", "x")
	c := pod("c")
	c.Spec.NodeName = "n"
	src.Create(c)
	return src
}

func TestListsSelect(t *testing.T) {
	exact := metav1.ResourceVersionMatchExact
	for _, c := range []struct {
		options metav1.ListOptions
		items   []string
	}{
		{metav1.ListOptions{LabelSelector: "l=x"}, []string{"a 6"}},
		{metav1.ListOptions{LabelSelector: "l"}, []string{"a 6", "b 5"}},
		{metav1.ListOptions{LabelSelector: "l!=x", ResourceVersion: "0"}, []string{"b 5", "c 7"}},
		{metav1.ListOptions{LabelSelector: "l=y", ResourceVersion: "5", ResourceVersionMatch: exact}, []string{"a 4", "b 5"}},
		{metav1.ListOptions{LabelSelector: "l=z"}, nil},
		{metav1.ListOptions{FieldSelector: "metadata.name=b"}, []string{"b 5"}},
		{metav1.ListOptions{FieldSelector: "metadata.name!=b,metadata.namespace=default"}, []string{"a 6", "c 7"}},
		{metav1.ListOptions{FieldSelector: "metadata.namespace=other"}, nil},
		{metav1.ListOptions{FieldSelector: "spec.nodeName=n"}, []string{"c 7"}},
		{metav1.ListOptions{FieldSelector: "spec.nodeName!=n", LabelSelector: "l=y"}, []string{"b 5"}},
	} {
		_, next, items := names(t, labeled(t), c.options)
		require.Equal(t, c.items, items, "%v", c.options)
		require.Empty(t, next)
	}
}

// TestPagesOfASelection: a page has as many as were asked for, of those selected, and does not
// count the rest.
func TestPagesOfASelection(t *testing.T) {
	src := labeled(t)
	list, err := src.List(metav1.ListOptions{Limit: 1, LabelSelector: "l"})
	require.NoError(t, err)
	page := list.(*corev1.PodList)
	require.Equal(t, "a", page.Items[0].Name)
	require.Nil(t, page.RemainingItemCount)
	for _, want := range [][]string{{"b 5"}, nil} {
		require.NotEmpty(t, page.Continue)
		_, next, items := names(t, src, metav1.ListOptions{Limit: 1, LabelSelector: "l", Continue: page.Continue})
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

// TestWhatLeavesASelection is deleted as it was, at the version of the write that took it out.
func TestWhatLeavesASelection(t *testing.T) {
	src := labeled(t)
	w := open(t, src, metav1.ListOptions{LabelSelector: "l=x", ResourceVersion: "7"})
	relabel(src, "a", "z")
	event := <-w.ResultChan()
	require.Equal(t, "DELETED a 8", line(event))
	require.Equal(t, "x", event.Object.(*corev1.Pod).Labels["l"])
	require.Equal(t, "z", src.Get("default", "a").(*corev1.Pod).Labels["l"])
}

// TestScriptsAndSelections: what is sent again goes to those who heard of it; what is injected goes
// to all.
func TestScriptsAndSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := labeled(t)
		x := open(t, src, metav1.ListOptions{LabelSelector: "l=x", ResourceVersion: "7"})
		y := open(t, src, metav1.ListOptions{LabelSelector: "l=y", ResourceVersion: "7"})
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
