// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// impatientServer has a history of n updates of one pod, and ends a watch after slots events that
// nobody has read yet, as a server does with slow watchers.
func impatientServer(n, slots int) *testkit.Server {
	return &testkit.Server{
		NoStream: true,
		OnList:   testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))),
		OnWatch: func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := strconv.Atoi(o.ResourceVersion)
			if err != nil {
				return nil, err
			}
			w := testkit.NewScriptedWatch(slots)
			for version := from + 1; version <= n; version++ {
				if len(w.Events) == slots {
					close(w.Events)
					break
				}
				w.Events <- testkit.Modified("a", fmt.Sprint(version))
			}
			return w, nil
		},
	}
}

// TestSlowConsumerWithALimit reaches the final state without another list, although the server ends
// its watches, and no more than the limit ever waits.
func TestSlowConsumerWithALimit(t *testing.T) {
	for name, queue := range map[string]interface {
		cache.Queue
		SetLimit(int)
	}{
		"RealFIFO": cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
	} {
		synctest.Test(t, func(t *testing.T) {
			const limit, events = 7, 200
			queue.SetLimit(limit)
			server := impatientServer(events, 20)
			deepest, last, seen := 0, "", 0
			c := cache.New(&cache.Config{Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, Process: func(obj any, _ bool) error {
				time.Sleep(time.Second)
				deepest = max(deepest, depthOf(queue))
				for _, d := range obj.(cache.Deltas) {
					if p, isPod := d.Object.(*corev1.Pod); isPod {
						last = p.ResourceVersion
						seen++
					}
				}
				return nil
			}})
			runController(t, c)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			assert.Equal(t, fmt.Sprint(events), last, name)
			assert.LessOrEqual(t, deepest, limit, name)
			assert.Equal(t, 1, server.Mu.Lists, name)
			assert.GreaterOrEqual(t, server.Mu.Watches, events/20, name)
			if name == "RealFIFO" {
				stats, ok := cache.QueueStatsOf(c)
				require.True(t, ok)
				assert.Equal(t, limit, stats.Limit)
				assert.Greater(t, stats.Pauses, uint64(events/limit-2))
				assert.Greater(t, stats.Paused, time.Duration(events/2)*time.Second)
				assert.Equal(t, events-1, seen)
			}
		})
	}
}

// TestFullQueueIsNotInTheWay of a list, a resync, or the end of the reflector; and a higher limit
// lets it go on.
func TestFullQueueIsNotInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cache.AtomicFIFO()
		queue.SetLimit(2)
		server := impatientServer(9, 20)
		r := reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue), ResyncPeriod: time.Minute})
		stop := testkit.InBackground(t, r.Run)
		synctest.Wait()
		assert.Equal(t, 2, depthOf(queue), "the list and an update")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.Equal(t, 3, depthOf(queue), "and a resync")
		require.NoError(t, queue.Replace(nil, "5"))
		require.NoError(t, queue.Bookmark("6"))
		require.NoError(t, queue.Add(testkit.PodAt("b", "7")))
		assert.Equal(t, 6, depthOf(queue))
		stats, _ := cache.QueueStatsOf(queue)
		assert.EqualValues(t, 1, stats.Pauses)
		assert.Equal(t, time.Minute+time.Second, stats.Paused)
		queue.SetLimit(8)
		synctest.Wait()
		assert.Equal(t, 8, depthOf(queue))
		queue.SetLimit(0)
		synctest.Wait()
		assert.Equal(t, 6+7, depthOf(queue), "all that the server has")
		queue.SetLimit(1)
		time.Sleep(time.Minute)
		stop()
	})
}

// TestCloseEndsAPause: a closed queue takes everything, so that nobody waits for a consumer that
// has gone.
func TestCloseEndsAPause(t *testing.T) {
	queue := cache.AtomicFIFO()
	queue.SetLimit(1)
	require.NoError(t, queue.Add(testkit.PodAt("a", "1")))
	items, freed := cache.EngineOf(queue).Room()
	assert.Zero(t, items)
	queue.Close()
	<-freed
	items, freed = cache.EngineOf(queue).Room()
	assert.Positive(t, items)
	assert.Nil(t, freed)
}

func TestQueueLimitOfAnInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := informerOn(t, impatientServer(100, 20), func(cache.SharedIndexInformer) {}, cache.WithQueueLimit(3))
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "a@100", testkit.NameAt(s.GetIndexer().List()[0]))
		stats, _ := cache.QueueStatsOf(s)
		assert.Equal(t, 3, stats.Limit)
	})
}

func depthOf(queue any) int {
	stats, _ := cache.QueueStatsOf(queue)
	return stats.Depth
}

// TestPauseIsNoSilenceOfTheServer: the idle watchdog, once armed, counts only the time in which the
// reflector would have read.
func TestPauseIsNoSilenceOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cache.AtomicFIFO()
		queue.SetLimit(2)
		stream := testkit.Sent(testkit.Bookmark("2"), testkit.Modified("a", "3"), testkit.Modified("a", "4"))
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(stream)}
		r := reflector.New(reflector.Options{ListerWatcher: server, Sink: cache.SinkOf(queue), IdleTimeout: time.Minute})
		defer testkit.InBackground(t, r.Run)()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=1"}, server.Asked())
		assert.Equal(t, 2, depthOf(queue))
		queue.SetLimit(0)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		assert.Len(t, server.Asked(), 2)
		assert.Equal(t, 4, depthOf(queue))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "watch rv=4", server.Asked()[2], "now it is silent")
	})
}
