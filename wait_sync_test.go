// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestWaitsLogWhatClientGoLogs: lines that people look for in logs are the same, word for word.
func TestWaitsLogWhatClientGoLogs(t *testing.T) {
	type wait struct {
		named       func(string, <-chan struct{}, ...cache.InformerSynced) bool
		withContext func(context.Context, ...cache.InformerSynced) bool
	}
	said := func(w wait) []string {
		reported, lines := testkit.Reports(t), testkit.CaptureLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, synced := range []bool{true, false} {
			is := func() bool { return synced }
			assert.Equal(t, synced, w.named("pods", ctx.Done(), is))
			assert.Equal(t, synced, w.withContext(ctx, is))
		}
		logged := testkit.About("aches", lines.Take())
		assert.NotEmpty(t, logged)
		return append(logged, reported()...)
	}
	theirs := said(wait{clientgo.WaitForNamedCacheSync, clientgo.WaitForNamedCacheSyncWithContext})
	assert.NotEmpty(t, theirs)
	assert.Equal(t, theirs, said(wait{cache.WaitForNamedCacheSync, cache.WaitForNamedCacheSyncWithContext}))
}

// TestIndexErrorsAreClientGos: so are these errors.
func TestIndexErrorsAreClientGos(t *testing.T) {
	said := func(store clientgo.Indexer) (texts []string) {
		_, byIndex := store.ByIndex("other", "x")
		_, index := store.Index("other", testkit.PodAt("a", "1"))
		_, keys := store.IndexKeys("other", "x")
		conflict := store.AddIndexers(cache.Indexers{"other": cache.MetaNamespaceIndexFunc, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, err := range []error{byIndex, index, keys, conflict} {
			texts = append(texts, err.Error())
		}
		return texts
	}
	indexers := func() cache.Indexers { return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc} }
	assert.Equal(t, said(clientgo.NewIndexer(cache.MetaNamespaceKeyFunc, indexers())), said(cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers())))
}
