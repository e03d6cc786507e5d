// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinformer/cache/internal/testkit/workload"
)

var _ clientgo.ListerWatcherWithContext = (*Source)(nil)
var _ clientgo.ListerWatcher = (*Source)(nil)

func generation(t *testing.T, n int, resourceVersion string) *Generation {
	t.Helper()
	pods, err := workload.New(t.Context(), workload.Config{N: n, Seed: 1, Light: true})
	require.NoError(t, err)
	return NewGeneration(pods, resourceVersion)
}

// TestInitialState checks the generation in a list, and in a watch-list before the bookmark.
func TestInitialState(t *testing.T) {
	g := generation(t, 3, "10")
	s := New(g, Options{})
	assert.True(t, watchlist.DoesClientNotSupportWatchListSemantics(s))
	list, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, "10", list.(*corev1.PodList).ResourceVersion)
	assert.Len(t, list.(*corev1.PodList).Items, 3)

	s = New(g, Options{WatchList: true})
	assert.False(t, watchlist.DoesClientNotSupportWatchListSemantics(s))
	w, err := s.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	require.NoError(t, err)
	for _, pod := range g.pods {
		event := <-w.ResultChan()
		assert.Equal(t, watch.Added, event.Type)
		assert.Same(t, pod, event.Object, "objects are shared, not copied")
	}
	end := <-w.ResultChan()
	assert.Equal(t, watch.Bookmark, end.Type)
	assert.Equal(t, "10", end.Object.(*corev1.Pod).ResourceVersion)
	assert.Equal(t, "true", end.Object.(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey])
	stream, err := s.Next(t.Context())
	require.NoError(t, err)
	assert.Same(t, stream, w, "the stream is ready for events after its bookmark")
}

func TestSendFollowsTheChannelsCapacity(t *testing.T) {
	s := New(generation(t, 1, "1"), Options{ChannelCapacity: 2})
	w, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	stream, err := s.Next(t.Context())
	require.NoError(t, err)
	added := watch.Event{Type: watch.Added, Object: &corev1.Pod{}}
	require.NoError(t, stream.SendAll(t.Context(), []watch.Event{added, added}))
	w.Stop()
	w.Stop()
	assert.ErrorIs(t, stream.Send(t.Context(), added), errStopped)
	assert.ErrorIs(t, stream.SendAll(t.Context(), []watch.Event{added, added, added}), errStopped)
}

func TestWaitsEndWithTheContext(t *testing.T) {
	s := New(generation(t, 1, "1"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Next(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, newStream(0).Send(ctx, watch.Event{}), context.Canceled)
	assert.ErrorIs(t, newStream(0).SendAll(ctx, make([]watch.Event, 3)), context.Canceled)
}

func TestUnfedWatchesAreAnError(t *testing.T) {
	s := New(generation(t, 1, "1"), Options{})
	for range maxStreams {
		_, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
	}
	_, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, "nobody feeds them")
}
