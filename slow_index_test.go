// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// within fails the test if do takes so long that it waits for something that does not come.
func within(t *testing.T, what string, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, what)
	}
}

// TestWatchIsReadWhileIndexersAreAdded, although nothing can be written to the store: events, the
// end of the watch, a list.
func TestWatchIsReadWhileIndexersAreAdded(t *testing.T) {
	const events = 100
	first, second := watch.NewFake(), watch.NewFake()
	server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("9", testkit.PodAt("a", "9"))), OnWatch: testkit.Watches(first, second)}
	s := cache.InformerFunc()(server, &corev1.Pod{}, 0, cache.Indexers{"unused": func(any) ([]string, error) { return nil, nil }})
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() { defer close(running); s.RunWithContext(ctx) }()
	defer func() { cancel(); <-running }()
	within(t, "informer does not sync", func() { <-s.HasSyncedChecker().Done() })

	inside, held, added := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	go func() {
		added <- s.AddIndexers(cache.Indexers{"version": func(obj any) ([]string, error) {
			if testkit.NameAt(obj) == "a@9" {
				close(inside)
				<-held
			}
			version, _ := event.VersionOf(obj)
			return []string{version}, nil
		}})
	}()
	within(t, "the index function is not called", func() { <-inside })
	within(t, "the watch is not read", func() {
		for i := range events {
			first.Modify(testkit.PodAt("a", fmt.Sprint(10+i)))
		}
		first.Error(&testkit.ErrExpired.ErrStatus)
		second.Modify(testkit.PodAt("a", "200"))
		second.Modify(testkit.PodAt("a", "201"))
	})
	within(t, "status waits", func() {
		status, err := cache.StatusOf(s)
		assert.NoError(t, err)
		assert.EqualValues(t, 2, status.Lists)
	})
	assert.Equal(t, "a@9", testkit.NameAt(s.GetIndexer().List()[0]))

	release()
	within(t, "the store does not catch up", func() {
		assert.NoError(t, <-added)
		assert.NoError(t, cache.WaitForVersion(ctx, s, "201"))
	})
	found, err := s.GetIndexer().ByIndex("version", "201")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// slowIndex is an index function that takes its time.
type slowIndex struct {
	takes atomic.Int64
	calls atomic.Int64
}

func (i *slowIndex) values(obj any) ([]string, error) {
	i.calls.Add(1)
	time.Sleep(time.Duration(i.takes.Load()))
	version, _ := event.VersionOf(obj)
	return []string{version}, nil
}

// informerOnSlow runs an informer in a bubble with an index of that function.
func informerOnSlow(t *testing.T, server *testkit.Server, index *slowIndex) (s cache.SharedIndexInformer, stop func()) {
	return informerOn(t, server, func(s cache.SharedIndexInformer) {
		require.NoError(t, s.AddIndexers(cache.Indexers{"version": index.values}))
	})
}

// TestSlowIndexFunctionsDoNotHoldUpTheWatch for more calls than a block has, of those that tell
// that they are slow.
func TestSlowIndexFunctionsDoNotHoldUpTheWatch(t *testing.T) {
	const events = 5 * table.BlockLen
	for name, list := range map[string]*corev1.PodList{"empty list": testkit.PodList("1"), "list": testkit.PodList("1", testkit.PodAt("x", "1"))} {
		synctest.Test(t, func(t *testing.T) {
			stream, index := watch.NewFake(), &slowIndex{}
			s, stop := informerOnSlow(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(stream)}, index)
			defer stop()
			index.takes.Store(int64(time.Second))
			start, before := time.Now(), index.calls.Load()
			for i := range events {
				stream.Modify(testkit.PodAt(fmt.Sprint("p", i), fmt.Sprint(2+i)))
			}
			assert.LessOrEqual(t, time.Since(start), table.BlockLen*time.Second, name)
			time.Sleep(events * time.Second)
			synctest.Wait()
			assert.EqualValues(t, events, index.calls.Load()-before, "once for each")
			assert.Len(t, s.GetIndexer().ListKeys(), events+len(list.Items))

			index.takes.Store(0)
			stream.Modify(testkit.PodAt("x", "100"))
			synctest.Wait()
			assert.True(t, cache.IndexesAreQuick(s), "it is quick again")
		})
	}
}

// TestSlowIndexFunctionsOnABatch that the watch channel holds: the reader takes no part in it,
// however quick they were.
func TestSlowIndexFunctionsOnABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index, events := &slowIndex{}, []watch.Event(nil)
		for i := range event.BatchLimit {
			events = append(events, testkit.Modified(fmt.Sprint("p", i), fmt.Sprint(2+i)))
		}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("x", "1")))}
		server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
			index.takes.Store(int64(time.Second)) // the list is in
			return testkit.Sent(events...).Open(), nil
		}
		s, stop := informerOnSlow(t, server, index)
		defer stop()
		assert.Equal(t, fmt.Sprint(1+event.BatchLimit), s.LastSyncResourceVersion())
		time.Sleep(event.BatchLimit * time.Second)
		synctest.Wait()
		assert.Len(t, s.GetIndexer().ListKeys(), event.BatchLimit+1)
	})
}

// TestSlowIndexFunctionsDoNotHoldUpAList: the watch follows after one call.
func TestSlowIndexFunctionsDoNotHoldUpAList(t *testing.T) {
	const objects = 200
	list := testkit.PodList("1")
	for i := range objects {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), "1"))
	}
	synctest.Test(t, func(t *testing.T) {
		index := &slowIndex{}
		index.takes.Store(int64(time.Second))
		first, second := watch.NewFake(), watch.NewFake()
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(first, second)}
		s, stop := informerOnSlow(t, server, index)
		defer stop()
		start := time.Now()
		first.Modify(testkit.PodAt("p0", "2"))
		assert.LessOrEqual(t, time.Since(start), time.Second)
		assert.False(t, s.HasSynced())
		time.Sleep((objects + 1) * time.Second)
		synctest.Wait()
		assert.True(t, s.HasSynced())
		assert.EqualValues(t, objects+1, index.calls.Load(), "once for each")
		found, err := s.GetIndexer().ByIndex("version", "1")
		require.NoError(t, err)
		assert.Len(t, found, objects-1)

		first.Error(&testkit.ErrExpired.ErrStatus)
		asked := len(server.Asked())
		time.Sleep(10 * time.Second) // the backoff, and the call
		synctest.Wait()
		assert.Len(t, server.Asked(), asked+2, "a list and a watch")
		time.Sleep(objects * time.Second)
		synctest.Wait()
		found, err = s.GetIndexer().ByIndex("version", "1")
		require.NoError(t, err)
		assert.Len(t, found, objects)
	})
}

// TestIndexFailuresShow in one report of each write and index, and in the status as long as objects
// are missing.
func TestIndexFailuresShow(t *testing.T) {
	texts := testkit.Reports(t)
	const bad = 100
	list := testkit.PodList("1", testkit.PodAt("good", "1"))
	for i := range bad {
		list.Items = append(list.Items, *badPod(fmt.Sprint("bad", i), "1"))
	}
	failing := func(obj any) ([]string, error) {
		if obj.(*corev1.Pod).Labels["v"] == "bad" {
			return nil, errors.New("no value")
		}
		return []string{""}, nil
	}
	panicking := func(obj any) ([]string, error) {
		if _, err := failing(obj); err != nil {
			panic(err)
		}
		return nil, nil
	}
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(bad)
		s, stop := informerOn(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(stream)}, func(s cache.SharedIndexInformer) {
			require.NoError(t, s.AddIndexers(cache.Indexers{"f": failing, "p": panicking}))
		})
		defer stop()
		require.Len(t, texts(), 2)
		for i, text := range slices.Sorted(slices.Values(texts())) {
			name := []string{"f", "p"}[i]
			assert.Contains(t, text, fmt.Sprintf("unable to calculate an index entry for key \"ns/bad0\" on index %q", name))
			assert.Contains(t, text, fmt.Sprintf("index %s objects %d", name, bad))
			assert.Equal(t, name == "p", strings.Contains(text, "stack goroutine"), text)
		}
		requireMissing := func(n int) {
			status, err := cache.StatusOf(s)
			require.NoError(t, err)
			var want []string
			for _, name := range []string{"f", "p"} {
				if n > 0 {
					want = append(want, fmt.Sprintf("%d objects are missing from index %q: its function failed for them", n, name))
				}
			}
			require.Equal(t, want, status.Degraded)
		}
		requireMissing(bad)
		stream.Events <- testkit.Modified("bad0", "2")
		stream.Events <- testkit.Deleted("bad1", "3")
		synctest.Wait()
		requireMissing(bad - 2)
		for i := range bad {
			stream.Events <- testkit.Deleted(fmt.Sprint("bad", i), "4")
		}
		synctest.Wait()
		requireMissing(0)
		require.Len(t, texts(), 2)
		failures, _ := cache.IndexFailures(s.GetStore())
		assert.Equal(t, map[string]uint64{"f": bad, "p": bad}, failures)
	})
}
