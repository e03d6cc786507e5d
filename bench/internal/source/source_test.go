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
	return NewGeneration(population(t, n), resourceVersion)
}

func population(t *testing.T, n int) *workload.Population {
	t.Helper()
	pods, err := workload.New(t.Context(), workload.Config{N: n, Seed: 1, Light: true})
	require.NoError(t, err)
	return pods
}

func TestWatchListSupportIsAnnounced(t *testing.T) {
	g := generation(t, 1, "1")
	assert.True(t, watchlist.DoesClientNotSupportWatchListSemantics(New(g, Options{})))
	assert.False(t, watchlist.DoesClientNotSupportWatchListSemantics(New(g, Options{WatchList: true})))
}

func TestListAnswersWithTheGeneration(t *testing.T) {
	s := New(generation(t, 3, "10"), Options{})
	assert.Equal(t, "10", listed(t, s).ResourceVersion)
	assert.Len(t, listed(t, s).Items, 3)
}

func listed(t *testing.T, s *Source) *corev1.PodList {
	t.Helper()
	list, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.(*corev1.PodList)
}

func TestWatchListStreamsThePodsThenTheBookmark(t *testing.T) {
	g := generation(t, 3, "10")
	s := New(g, Options{WatchList: true})
	yes := true
	w, err := s.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
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
