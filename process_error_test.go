// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestPanicOfAProcessFunctionIsReported with the key of what it was called for, and counted,
// whatever takes from the queue.
func TestPanicOfAProcessFunctionIsReported(t *testing.T) {
	texts, panics := testkit.Reports(t), testkit.QuietPanics(t)
	for name, queue := range map[string]cache.Queue{
		"RealFIFO":  cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}),
		"DeltaFIFO": cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{}),
		"FIFO":      cache.NewFIFO(cache.MetaNamespaceKeyFunc),
		"foreign":   foreignQueue{cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})},
	} {
		before, panicsBefore := len(texts()), panics()
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "2")))}
			seen := []string{}
			c := cache.New(&cache.Config{Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(obj any, _ bool) error {
				seen = append(seen, event.Name(obj))
				if event.Name(obj) == `"ns/a"` {
					panic("cannot process")
				}
				return nil
			}})
			runController(t, c)
			assert.Contains(t, seen, `"ns/a"`, name)
			stats, ok := cache.QueueStatsOf(c)
			assert.EqualValues(t, 1, stats.ProcessErrors, name)
			assert.ErrorContains(t, stats.LastProcessError, `panicked on "ns/a": cannot process`, name)
			assert.Equal(t, name == "RealFIFO" || name == "DeltaFIFO", ok, name)
		})
		assert.Len(t, texts(), before+1, name)
		assert.Equal(t, panicsBefore+1, panics(), name)
	}
}

// foreignQueue is a Queue of which this package knows nothing.
type foreignQueue struct{ inner cache.Queue }

func (q foreignQueue) Add(obj any) error { return q.inner.Add(obj) }

func (q foreignQueue) Update(obj any) error { return q.inner.Update(obj) }

func (q foreignQueue) Delete(obj any) error { return q.inner.Delete(obj) }

func (q foreignQueue) Replace(list []any, version string) error {
	return q.inner.Replace(list, version)
}

func (q foreignQueue) Resync() error { return q.inner.Resync() }

func (q foreignQueue) Pop(process cache.PopProcessFunc) (any, error) { return q.inner.Pop(process) }

func (q foreignQueue) HasSynced() bool { return q.inner.HasSynced() }

func (q foreignQueue) HasSyncedChecker() cache.DoneChecker { return q.inner.HasSyncedChecker() }

func (q foreignQueue) Close() { q.inner.Close() }

// TestProcessErrorHandlerOfAnInformer hears of a batch that did not reach the store, from whichever
// goroutine; the informer goes on.
func TestProcessErrorHandlerOfAnInformer(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		stream := testkit.NewScriptedWatch(1)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(stream)}
		var heard []error
		s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) {
			cache.WrapDetector(s, func(d cache.MutationDetector) cache.MutationDetector { return &panicsOn{d, "a@1", "b@2"} })
		}, cache.WithProcessErrorHandler(func(_ context.Context, err error) { heard = append(heard, err) }))
		defer stop()
		require.Len(t, heard, 1)
		assert.ErrorContains(t, heard[0], "a batch of 1")
		time.Sleep(2 * time.Second) // the pause after a panic
		stream.Events <- testkit.Added("b", "2")
		synctest.Wait()
		require.Len(t, heard, 2)
		assert.ErrorContains(t, heard[1], `begins with ns/b: cannot take b@2`)
		stream.Events <- testkit.Added("c", "3")
		synctest.Wait()
		assert.Len(t, s.GetIndexer().List(), 3)
		stats, _ := cache.QueueStatsOf(s)
		assert.EqualValues(t, 2, stats.ProcessErrors)
		assert.Equal(t, 2, panics())
	})
}

// panicsOn is a mutation detector that panics for the named objects.
type panicsOn struct {
	cache.MutationDetector
	first, second string
}

func (d *panicsOn) AddObject(obj any) {
	if name := testkit.NameAt(obj); name == d.first || name == d.second {
		panic(fmt.Sprint("cannot take ", name))
	}
}

func TestStatsOfOtherThings(t *testing.T) {
	for name, other := range map[string]any{
		"nil": nil, "a FIFO": cache.NewFIFO(nil), "not started": cache.NewSharedInformer(nil, &corev1.Pod{}, 0),
	} {
		_, ok := cache.QueueStatsOf(other)
		assert.False(t, ok, name)
	}
	q := cache.AtomicFIFO()
	require.NoError(t, q.Add(testkit.Pod("a", "1")))
	stats, ok := cache.QueueStatsOf(q)
	assert.True(t, ok)
	assert.Equal(t, cache.QueueStats{Depth: 1}, stats)
}
