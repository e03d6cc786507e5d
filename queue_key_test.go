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
		key, err := r.KeyOf(Deltas{delta(Added, testkit.PodAt("a", "1")), delta(Deleted, DeletedFinalStateUnknown{Key: "ns/b"})}, true)
		require.NoError(t, err)
		assert.Equal(t, "ns/b", key)
	}
}

func TestPanickingKeyFunction(t *testing.T) {
	q := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, KeyFunction: func(any) (string, error) { panic("no key") }})
	assert.ErrorAs(t, q.Add(testkit.PodAt("a", "1")), &KeyError{})
	assert.ErrorContains(t, q.Replace([]any{testkit.PodAt("a", "1")}, "1"), "key function panicked: no key")
	assert.Zero(t, depthOf(q))
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

// TestInformersFindKeysInTheirStore: the queue of every informer shares the strings of the store that it is for.
func TestInformersFindKeysInTheirStore(t *testing.T) {
	s := newStore(MetaNamespaceKeyFunc, nil)
	require.NoError(t, s.Add(testkit.PodAt("a", "1")))
	known, ok := s.objects.table.Key([]byte("ns/a"))
	require.True(t, ok)
	for _, config := range []queueConfig{{}, {coalesced: true}} {
		p := openPipeline(s, queueOptions{queueConfig: config})
		key, err := p.queue.Reader.Keys.KeyOf(testkit.PodAt("a", "2"), true)
		require.NoError(t, err)
		assert.Same(t, unsafe.StringData(known), unsafe.StringData(key))
	}
}
