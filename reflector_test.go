// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// TestDefaultName: reflectors are named by the caller's file:line, as in client-go.
func TestDefaultName(t *testing.T) {
	const here = `reflector_test\.go:\d+$`
	assert.Regexp(t, here, NewReflector(&ListWatch{}, nil, &testkit.StoreLog{}, 0).Name())
	assert.Regexp(t, here, NewReflectorWithOptions(&ListWatch{}, nil, &testkit.StoreLog{}, ReflectorOptions{}).Name())
	_, r := NewNamespaceKeyedIndexerAndReflector(&ListWatch{}, nil, 0)
	assert.Regexp(t, here, r.Name())
	assert.Equal(t, "n", NewNamedReflector("n", &ListWatch{}, nil, &testkit.StoreLog{}, 0).Name())
}

// TestStandIn: a stand-in has the name and the description of its reflector, without any request.
// Before the first list it has no version.
func TestStandIn(t *testing.T) {
	server := &testkit.Server{}
	o := reflector.Options{
		Name: "n", TypeDescription: "d", ListerWatcher: server, ShouldResync: func() bool { return true }, MaxInternalErrorRetry: time.Hour, PageSize: 3,
	}
	o.Journal = reflector.NewJournal()
	o.Describe(o.Journal)
	var id standIn
	made := id.at(&o, "")
	assert.Equal(t, "n", made.Name())
	assert.Equal(t, "d", made.TypeDescription())
	assert.Empty(t, made.LastSyncResourceVersion())
	assert.True(t, made.ShouldResync())
	assert.Equal(t, time.Hour, made.MaxInternalErrorRetryDuration)
	assert.EqualValues(t, 3, made.WatchListPageSize)
	for _, version := range []string{"7", "9", ""} {
		assert.Same(t, made, id.at(&o, version))
		assert.Equal(t, version, made.LastSyncResourceVersion())
	}
	assert.Empty(t, server.Requests())
}

// TestNewNamespaceKeyedIndexerAndReflector: the reflector fills the indexer, which has an index by
// namespace.
func TestNewNamespaceKeyedIndexerAndReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches()}
		indexer, r := NewNamespaceKeyedIndexerAndReflector(server, &v1.Pod{}, 0)
		defer testkit.InBackground(t, r.RunWithContext)()
		synctest.Wait()
		found, err := indexer.ByIndex(NamespaceIndex, "ns")
		require.NoError(t, err)
		assert.Len(t, found, 1)
	})
}
