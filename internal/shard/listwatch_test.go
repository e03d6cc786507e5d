// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// newServer returns a server that ignores selectors, with pods of both halves.
func newServer() *testkit.Pods {
	return testkit.NewPods(testkit.Pod("a", "1"), testkit.Pod("b", "1"), testkit.Pod("c", "1"), testkit.Pod("d", "1"))
}

// TestListWatch checks that a ListWatch that is not unwrapped drops objects of other shards.
func TestListWatch(t *testing.T) {
	var all []string
	for i := range 2 {
		server := newServer()
		lister := NewListWatch(server, i, 2)
		list, err := lister.List(metav1.ListOptions{})
		require.NoError(t, err)
		var listed, watched []string
		for _, pod := range list.(*v1.PodList).Items {
			listed = append(listed, pod.Name)
		}
		w, err := lister.Watch(metav1.ListOptions{})
		require.NoError(t, err)
		server.Inject(watch.Event{Type: watch.Bookmark, Object: &v1.Pod{}}, watch.Event{Type: watch.Error, Object: &metav1.Status{}})
		server.Cut()
		var others []watch.EventType
		for e := range w.ResultChan() {
			if e.Type == watch.Added {
				watched = append(watched, e.Object.(*v1.Pod).Name)
			} else {
				others = append(others, e.Type)
			}
		}
		assert.Equal(t, listed, watched)
		assert.Equal(t, []watch.EventType{watch.Bookmark, watch.Error}, others)
		assert.NotEmpty(t, listed)
		all = append(all, listed...)
		for _, request := range server.Requests() {
			assert.Equal(t, lister.part.Narrow(metav1.ListOptions{}), request.Options)
		}
		assert.True(t, lister.IsWatchListSemanticsUnSupported())
	}
	assert.ElementsMatch(t, []string{"a", "b", "c", "d"}, all)
}

// TestListWatchStops checks that a stopped watch ends even if its events are not received.
func TestListWatchStops(t *testing.T) {
	for i := range 2 {
		w, err := NewListWatch(newServer(), i, 2).Watch(metav1.ListOptions{})
		require.NoError(t, err)
		w.Stop()
		w.Stop()
		for range w.ResultChan() { // until the channel is closed
		}
		again, err := NewListWatch(newServer(), i, 2).Watch(metav1.ListOptions{})
		require.NoError(t, err)
		again.Stop() // TestMain reports a goroutine that is left
	}
}

// TestListWatchErrors checks that errors are passed on, and that a ListWatch without a shard returns its
// own.
func TestListWatchErrors(t *testing.T) {
	failing := newServer()
	failing.Outage(errors.New("failed"))
	for text, lister := range map[string]*ListWatch{
		"failed":             NewListWatch(failing, 0, 2),
		"no shard 2 of 2":    NewListWatch(newServer(), 2, 2),
		"less than their nu": NewListWatch(newServer(), 0, 0),
	} {
		_, err := lister.List(metav1.ListOptions{})
		require.ErrorContains(t, err, text)
		_, err = lister.Watch(metav1.ListOptions{})
		require.ErrorContains(t, err, text)
	}
}

// TestOf checks that Of unwraps a ListWatch, but not one whose requests fail.
func TestOf(t *testing.T) {
	server := newServer()
	good, bad := NewListWatch(server, 1, 2), NewListWatch(server, 2, 2)
	for given, want := range map[clientgo.ListerWatcher]clientgo.ListerWatcher{server: server, good: server, bad: bad} {
		all, part := Of(given)
		assert.Same(t, want, all)
		assert.Equal(t, given == good, part != nil)
	}
	all, part := Of(nil)
	assert.Nil(t, all)
	assert.Nil(t, part)
}
