// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func pods(names ...string) []runtime.Object {
	objects := make([]runtime.Object, 0, len(names))
	for _, name := range names {
		objects = append(objects, pod(name))
	}
	return objects
}

func podList() runtime.Object { return &corev1.PodList{} }

func label(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"l": value} }
}

func relabel(src *cachetest.Source, name, value string) {
	cachetest.PatchAs(src, "default", name, label(value))
}

// startPods runs client-go's informer for pods, with recorder as its tracked handler, until the test
// ends.
func startPods(t *testing.T, src *cachetest.Source, recorder *cachetest.Recorder) clientgo.SharedIndexInformer {
	t.Helper()
	informer := clientgo.NewSharedIndexInformer(src, &corev1.Pod{}, 0, clientgo.Indexers{})
	_, err := informer.AddEventHandler(src.Track(recorder))
	require.NoError(t, err)
	run(t, informer)
	return informer
}

// run runs an informer until the test ends.
func run(t *testing.T, informer clientgo.SharedIndexInformer) {
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
}

// widget returns an object of a kind without a Go type.
func widget() *unstructured.Unstructured {
	w := &unstructured.Unstructured{}
	w.SetAPIVersion("example.com/v1")
	w.SetKind("Widget")
	w.SetName("w")
	return w
}

// settle waits for the handlers, and until all goroutines are idle.
func settle(t *testing.T, src *cachetest.Source) {
	t.Helper()
	require.NoError(t, src.Settle(t.Context()))
	synctest.Wait()
}

// requests returns the requests of src in one line each.
func requests(src *cachetest.Source) []string {
	var lines []string
	for _, r := range src.Requests() {
		lines = append(lines, r.String())
	}
	return lines
}

// open starts a watch that is stopped at the end of the test.
func open(t *testing.T, src *cachetest.Source, options metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := src.WatchWithContext(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

// take reads n events, written as "TYPE name rv".
func take(t *testing.T, w watch.Interface, n int) []string {
	t.Helper()
	lines := make([]string, 0, n)
	for range n {
		event, ok := <-w.ResultChan()
		require.True(t, ok, "the stream ended after %v", lines)
		lines = append(lines, line(event))
	}
	return lines
}

func line(event watch.Event) string {
	switch obj := event.Object.(type) {
	case metav1.Object:
		text := string(event.Type) + " " + obj.GetName() + " " + obj.GetResourceVersion()
		if obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			text += " end"
		}
		return text
	case *metav1.Status:
		return string(event.Type) + " " + string(obj.Reason)
	default:
		return string(event.Type)
	}
}

// requireEnd requires that the stream has no more events.
func requireEnd(t *testing.T, w watch.Interface) {
	t.Helper()
	event, ok := <-w.ResultChan()
	require.False(t, ok, "unexpected %s", line(event))
}

// requireSilent requires that no event is pending. In a bubble only.
func requireSilent(t *testing.T, w watch.Interface) {
	t.Helper()
	synctest.Wait()
	select {
	case event, ok := <-w.ResultChan():
		require.Fail(t, "the stream is not silent", "open %v: %s", ok, line(event))
	default:
	}
}

func bookmarksFrom(rv string) metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true}
}

func watchListFrom(rv string) metav1.ListOptions {
	send := true
	return metav1.ListOptions{
		ResourceVersion:      rv,
		AllowWatchBookmarks:  true,
		SendInitialEvents:    &send,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
}
