// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

func readerOf(keyFunc KeyFunc) *keyReader {
	r := &keyReader{opens: opensDeltas}
	initKeys(r, keyFunc)
	return r
}

// TestUsualKeys are those of MetaNamespaceKeyFunc, however they are come by.
func TestUsualKeys(t *testing.T) {
	cluster := podAt("node", "1")
	cluster.Namespace = ""
	for name, keyFunc := range map[string]KeyFunc{
		"none": nil, "ours": MetaNamespaceKeyFunc, "client-go's": clientgo.DeletionHandlingMetaNamespaceKeyFunc,
		"another": func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj) },
	} {
		r := readerOf(keyFunc)
		assert.Equal(t, name != "another", r.usual, name)
		for _, obj := range []any{podAt("a", "1"), cluster, ExplicitKey("x/y/z"), podAt("a", "2")} {
			want, err := MetaNamespaceKeyFunc(obj)
			require.NoError(t, err)
			for _, again := range []bool{false, true} {
				got, err := r.keyOf(obj, again)
				require.NoError(t, err)
				assert.Equal(t, want, got, name)
			}
		}
		for _, bad := range []any{nil, "no metadata", 7, (*corev1.Pod)(nil), Deltas{}, Delta{}} {
			_, err := r.keyOf(bad, true)
			assert.ErrorAs(t, err, &KeyError{}, "%s: %T", name, bad)
		}
		key, err := r.keyOf(Deltas{delta(Added, podAt("a", "1")), delta(Deleted, DeletedFinalStateUnknown{Key: "ns/b"})}, true)
		require.NoError(t, err)
		assert.Equal(t, "ns/b", key)
	}
}

func TestPanickingKeyFunction(t *testing.T) {
	q := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, KeyFunction: func(any) (string, error) { panic("no key") }})
	assert.ErrorAs(t, q.Add(podAt("a", "1")), &KeyError{})
	assert.ErrorContains(t, q.Replace([]any{podAt("a", "1")}, "1"), "key function panicked: no key")
	assert.Zero(t, depthOf(q))
}

// TestRecentKeysAreFoundAgain, the same string each time, and there are never more than the bound.
func TestRecentKeysAreFoundAgain(t *testing.T) {
	var recent recentKeys
	first := recent.text([]byte("ns/a"))
	assert.Equal(t, unsafe.StringData(first), unsafe.StringData(recent.text([]byte("ns/a"))))
	for i := range 3 * maxRecentKeys {
		assert.Equal(t, fmt.Sprint(i), recent.text(fmt.Append(nil, i)))
		require.LessOrEqual(t, len(recent), maxRecentKeys)
	}
}

// TestListWithDuplicateKeys: the last one counts, in every queue.
func TestListWithDuplicateKeys(t *testing.T) {
	everyQueue(t, func(t *testing.T, q Queue) {
		require.NoError(t, q.Replace([]any{item{"a", 1}, item{"b", 1}, item{"a", 2}}, "1"))
		last := map[string]int{}
		q.Close()
		for {
			popped, err := q.Pop(take)
			if err != nil {
				assert.ErrorIs(t, err, ErrFIFOClosed)
				break
			}
			for _, it := range itemsOf(popped) {
				last[it.key] = it.value
			}
		}
		assert.Equal(t, map[string]int{"a": 2, "b": 1}, last)
		assert.True(t, q.HasSynced())
	})
}

// itemsOf are the items in what any queue hands out.
func itemsOf(popped any) (items []item) {
	deltas, ok := popped.(Deltas)
	if !ok {
		return []item{popped.(item)}
	}
	for _, d := range deltas {
		if list, ok := d.Object.(ReplacedAllInfo); ok {
			for _, obj := range list.Objects {
				items = append(items, obj.(item))
			}
		} else {
			items = append(items, d.Object.(item))
		}
	}
	return items
}

// TestKnownKeysAreTheStores: an event for an object that the store has allocates no key.
func TestKnownKeysAreTheStores(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	long := podAt(strings.Repeat("x", 2*stackKey), "1")
	require.NoError(t, s.Add(podAt("a", "1")))
	require.NoError(t, s.Add(long))
	r := readerOf(nil)
	r.known = s.objects.table
	var event any = podAt("a", "2")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if key, err := r.keyOf(event, true); key != "ns/a" || err != nil {
			panic(key)
		}
	}))
	for _, obj := range []any{long, podAt("unknown", "1")} {
		want, err := MetaNamespaceKeyFunc(obj)
		require.NoError(t, err)
		got, err := r.keyOf(obj, true)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestInformersFindKeysInTheirStore: the queue of every informer shares the strings of the store that it is for.
func TestInformersFindKeysInTheirStore(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	require.NoError(t, s.Add(podAt("a", "1")))
	known, ok := s.objects.table.Key([]byte("ns/a"))
	require.True(t, ok)
	for _, config := range []queueConfig{{}, {coalesced: true}} {
		p := openPipeline(s, queueOptions{queueConfig: config})
		key, err := p.queue.reader.keys.keyOf(podAt("a", "2"), true)
		require.NoError(t, err)
		assert.Same(t, unsafe.StringData(known), unsafe.StringData(key))
	}
}
