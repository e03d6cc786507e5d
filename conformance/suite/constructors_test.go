// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// The constructors with positional parameters, most of them deprecated and all of them in use.
func TestPlainConstructors(t *testing.T) {
	onStage(t, []informerCase{
		{name: "NewSharedInformer", run: plainShared},
		{name: "NewSharedIndexInformer", run: plainSharedIndex},
		{name: "NewInformer", run: plainInformer},
		{name: "NewIndexerInformer", run: plainIndexer},
		{name: "NewTransformingInformer", run: plainTransforming},
		{name: "NewTransformingIndexerInformer", run: plainTransformingIndexer},
		{name: "NewDeltaFIFO", run: plainDelta},
		{name: "NewRealFIFO", run: plainReal},
	})
}

// byApps is what the indexed ones are made with.
var byApps = cache.Indexers{"app": byLabel("app")}

// resynced runs the informer on one pod for two resync periods of a minute.
func (s *stage) resynced(t *testing.T, c cache.Controller, store cache.Store, rec *recorder) {
	s.source.put(labelled("a", "", "app", "x"))
	s.start(c)
	pass(2*time.Minute + time.Second)
	assert.Equal(t, []string{"add a@11 initial", "update a@11 a@11", "update a@11 a@11"}, rec.take())
	assert.Equal(t, []string{"a@11"}, labels(store.List()))
}

// seen says whether annotate was at work on what the store holds.
func seen(store cache.Store) string { return store.List()[0].(*corev1.Pod).Annotations["seen"] }

func plainShared(t *testing.T, s *stage) {
	informer := s.impl.informers.plainShared(s.source, &corev1.Pod{}, time.Minute)
	rec := &recorder{}
	add(t, informer, rec)
	s.source.put(pod("a", ""))
	s.start(informer)
	pass(2*time.Minute + time.Second)
	assert.Equal(t, []string{"add a@11 initial", "update a@11 a@11", "update a@11 a@11"}, rec.take())
	_, ok := informer.(cache.SharedIndexInformer)
	assert.True(t, ok)
}

func plainSharedIndex(t *testing.T, s *stage) {
	informer := s.impl.informers.plainSharedIndex(s.source, &corev1.Pod{}, 0, cache.Indexers{"app": byLabel("app")})
	require.NoError(t, informer.AddIndexers(cache.Indexers{"tier": byLabel("tier")}))
	s.source.put(labelled("a", "", "app", "x", "tier", "t"))
	s.start(informer)
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "app", "x"))
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "tier", "t"))
}

func plainInformer(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.impl.informers.plainInformer(s.source, &corev1.Pod{}, time.Minute, rec)
	s.resynced(t, c, store, rec)
	assert.Empty(t, seen(store))
}

func plainIndexer(t *testing.T, s *stage) {
	rec := &recorder{}
	indexer, c := s.impl.informers.plainIndexer(s.source, &corev1.Pod{}, time.Minute, rec, byApps)
	s.resynced(t, c, indexer, rec)
	assert.Equal(t, []string{"a@11"}, members(t, indexer, "app", "x"))
}

func plainTransforming(t *testing.T, s *stage) {
	rec := &recorder{}
	store, c := s.impl.informers.plainTransforming(s.source, &corev1.Pod{}, time.Minute, rec, annotate)
	s.resynced(t, c, store, rec)
	assert.Equal(t, "yes", seen(store))
}

func plainTransformingIndexer(t *testing.T, s *stage) {
	rec := &recorder{}
	indexer, c := s.impl.informers.plainTransformingIndexer(s.source, &corev1.Pod{}, time.Minute, rec, byApps, annotate)
	s.resynced(t, c, indexer, rec)
	assert.Equal(t, "yes", seen(indexer))
	assert.Equal(t, []string{"a@11"}, members(t, indexer, "app", "x"))
}

func plainDelta(t *testing.T, s *stage) {
	q := s.impl.queues.plainDelta(keyOrRefuse, known(pod("gone", "1")))
	require.NoError(t, q.Replace([]any{pod("a", "2")}, "2"))
	assert.Equal(t, []string{"[Sync a@2]", "[Deleted gone(gone@1)]"}, drain(t, q), "Sync, not Replaced")
	assert.Equal(t, "DeltaFIFO", q.HasSyncedChecker().Name())
	q = s.impl.queues.plainDelta(keyOrRefuse, nil)
	require.NoError(t, q.Replace(nil, "1"), "without known objects")
}

func plainReal(t *testing.T, s *stage) {
	q := s.impl.queues.plainReal(keyOrRefuse, known(pod("gone", "1")), shout)
	require.NoError(t, q.Replace([]any{pod("a", "2")}, "2"))
	assert.Equal(t, []string{"[Deleted gone(gone@1)]", "[Replaced a@2!]"}, drain(t, q))
	assert.Panics(t, func() { s.impl.queues.plainReal(keyOrRefuse, nil, nil) })
}
