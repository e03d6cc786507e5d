// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// TestWaitsLogWhatClientGoLogs: lines that people look for in logs are the same, word for word.
func TestWaitsLogWhatClientGoLogs(t *testing.T) {
	type wait struct {
		named       func(string, <-chan struct{}, ...InformerSynced) bool
		withContext func(context.Context, ...InformerSynced) bool
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
		logged := about("aches", lines.Take())
		assert.NotEmpty(t, logged)
		return append(logged, reported()...)
	}
	theirs := said(wait{clientgo.WaitForNamedCacheSync, clientgo.WaitForNamedCacheSyncWithContext})
	assert.NotEmpty(t, theirs)
	assert.Equal(t, theirs, said(wait{WaitForNamedCacheSync, WaitForNamedCacheSyncWithContext}))
}

// TestIndexErrorsAreClientGos: so are these errors.
func TestIndexErrorsAreClientGos(t *testing.T) {
	said := func(store clientgo.Indexer) (texts []string) {
		_, byIndex := store.ByIndex("other", "x")
		_, index := store.Index("other", testkit.PodAt("a", "1"))
		_, keys := store.IndexKeys("other", "x")
		conflict := store.AddIndexers(Indexers{"other": MetaNamespaceIndexFunc, NamespaceIndex: MetaNamespaceIndexFunc})
		for _, err := range []error{byIndex, index, keys, conflict} {
			texts = append(texts, err.Error())
		}
		return texts
	}
	indexers := func() Indexers { return Indexers{NamespaceIndex: MetaNamespaceIndexFunc} }
	assert.Equal(t, said(clientgo.NewIndexer(MetaNamespaceKeyFunc, indexers())), said(NewIndexer(MetaNamespaceKeyFunc, indexers())))
}
