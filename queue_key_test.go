// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

func readerOf(keyFunc KeyFunc) *event.Keys {
	r := &event.Keys{Opens: event.OpensDeltas}
	r.Init(keyFunc, isMetaNamespaceKeyFunc(keyFunc))
	return r
}

// TestUsualKeys are those of MetaNamespaceKeyFunc, however they are come by.
func TestUsualKeys(t *testing.T) {
	cluster := testkit.PodAt("node", "1")
	cluster.Namespace = ""
	for name, keyFunc := range map[string]KeyFunc{
		"none": nil, "ours": MetaNamespaceKeyFunc, "client-go's": clientgo.DeletionHandlingMetaNamespaceKeyFunc,
		"another": func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj) },
	} {
		r := readerOf(keyFunc)
		assert.Equal(t, name != "another", r.Usual, name)
		for _, obj := range []any{testkit.PodAt("a", "1"), cluster, ExplicitKey("x/y/z"), testkit.PodAt("a", "2")} {
			want, err := MetaNamespaceKeyFunc(obj)
			require.NoError(t, err)
			for _, again := range []bool{false, true} {
				got, err := r.KeyOf(obj, again)
				require.NoError(t, err)
				assert.Equal(t, want, got, name)
			}
		}
		for _, bad := range []any{nil, "no metadata", 7, (*corev1.Pod)(nil), Deltas{}, Delta{}} {
			_, err := r.KeyOf(bad, true)
			assert.ErrorAs(t, err, &KeyError{}, "%s: %T", name, bad)
		}
		key, err := r.KeyOf(Deltas{{Type: Added, Object: testkit.PodAt("a", "1")}, {Type: Deleted, Object: DeletedFinalStateUnknown{Key: "ns/b"}}}, true)
		require.NoError(t, err)
		assert.Equal(t, "ns/b", key)
	}
}

// TestKnownKeysAreTheStores: an event for an object that the store has allocates no key.
func TestKnownKeysAreTheStores(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	long := testkit.PodAt(strings.Repeat("x", 2*event.StackKey), "1")
	require.NoError(t, s.Add(testkit.PodAt("a", "1")))
	require.NoError(t, s.Add(long))
	r := readerOf(nil)
	r.Known = s.objects.table
	var event any = testkit.PodAt("a", "2")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if key, err := r.KeyOf(event, true); key != "ns/a" || err != nil {
			panic(key)
		}
	}))
	for _, obj := range []any{long, testkit.PodAt("unknown", "1")} {
		want, err := MetaNamespaceKeyFunc(obj)
		require.NoError(t, err)
		got, err := r.KeyOf(obj, true)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestInformersFindKeysInTheirStore: the queue of every informer shares the strings of the store
// that it is for.
func TestInformersFindKeysInTheirStore(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	require.NoError(t, s.Add(testkit.PodAt("a", "1")))
	known, ok := s.objects.table.Key([]byte("ns/a"))
	require.True(t, ok)
	key, err := openPipeline(s, queueOptions{}).queue.Reader.Keys.KeyOf(testkit.PodAt("a", "2"), true)
	require.NoError(t, err)
	assert.Same(t, unsafe.StringData(known), unsafe.StringData(key))
}
