// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestBlockNeverSleepsThroughRoom: whatever handlers with OverflowBlock do, join, leave, panic, run
// in parallel, and however small the queue is, the informer reads everything in the end, whoever
// stayed has heard of it, and the informer can be stopped.
func TestBlockNeverSleepsThroughRoom(t *testing.T) {
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = true }()
	testkit.Reports(t)
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			b := &blockers{T: t, random: rand.New(rand.NewPCG(seed, 14)), source: testkit.NewPods()}
			b.start()
			for range 120 {
				b.step()
			}
			b.check(seed)
			b.stopHeldBack()
		})
	}
}

// blockers are handlers with OverflowBlock of an informer.
type blockers struct {
	*testing.T
	random   *rand.Rand
	source   *testkit.Pods
	informer cache.SharedIndexInformer
	stop     func()
	handlers []*testkit.Mirror
	handles  []cache.ResourceEventHandlerRegistration
}

func (b *blockers) start() {
	var options []cache.Option
	if b.random.IntN(2) == 0 {
		options = append(options, cache.WithQueueLimit(1+b.random.IntN(2)))
	}
	slow := func(any) ([]string, error) { // not asleep: the bubble's clock waits for who waits for a lock
		for range rand.IntN(4) {
			runtime.Gosched()
		}
		return []string{"x"}, nil
	}
	b.informer = cache.InformerFunc(options...)(b.source, &corev1.Pod{}, 0, cache.Indexers{"slow": slow})
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan struct{})
	go func() { b.informer.RunWithContext(ctx); close(stopped) }()
	b.stop = func() { cancel(); <-stopped }
}

func (b *blockers) step() {
	name := fmt.Sprint("p", b.random.IntN(3))
	switch op := b.random.IntN(20); {
	case op < 2 && len(b.handlers) < 5:
		b.join()
	case op == 2 && len(b.handlers) > 0:
		i := b.random.IntN(len(b.handlers))
		require.NoError(b, b.informer.RemoveEventHandler(b.handles[i]))
		b.handlers, b.handles = slices.Delete(b.handlers, i, i+1), slices.Delete(b.handles, i, i+1)
	case op == 3:
		b.source.Expire()
	case op < 6:
		b.source.Remove(name)
	case op < 8:
		time.Sleep(time.Duration(b.random.IntN(3000)) * time.Microsecond)
	case op == 8:
		synctest.Wait()
	default:
		b.source.Put(testkit.Pod(name, "1"))
	}
}

// join adds a handler. Of one that panics it is not checked what it hears.
func (b *blockers) join() {
	handler := testkit.NewMirror()
	panics, takes := b.random.IntN(4) == 0, time.Duration(b.random.IntN(3))*time.Millisecond
	handler.Before = func(string) {
		time.Sleep(takes)
		if panics && rand.IntN(10) == 0 {
			panic("the handler's")
		}
	}
	handle, err := b.informer.AddEventHandler(cache.Deliver(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 1 + b.random.IntN(2), Parallel: 1 + b.random.IntN(3)}))
	require.NoError(b, err)
	if panics {
		handler = nil
	}
	b.handlers, b.handles = append(b.handlers, handler), append(b.handles, handle)
}

func (b *blockers) check(seed uint64) {
	time.Sleep(10 * time.Minute)
	synctest.Wait() // nobody calls a handler any more
	require.Zero(b, b.source.Unread(), "seed %d", seed)
	want := b.source.Versions()
	require.Equal(b, want, versionsIn(b.informer.GetStore().List()), "seed %d", seed)
	for _, handler := range b.handlers {
		if handler == nil {
			continue
		}
		require.Equal(b, want, versionsIn(slices.Collect(maps.Values(handler.Objects))), "seed %d", seed)
		require.Empty(b, handler.Problems, "seed %d", seed)
	}
}

// versionsIn returns the versions of pods by key.
func versionsIn[T any](pods []T) map[string]string {
	versions := map[string]string{}
	for _, obj := range pods {
		pod := any(obj).(*corev1.Pod)
		versions[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	}
	return versions
}

// stopHeldBack stops the informer while a handler that does not return keeps the watch from being
// read.
func (b *blockers) stopHeldBack() {
	handler, release := stuck("late")
	_, err := b.informer.AddEventHandler(cache.Deliver(handler, cache.Delivery{Overflow: cache.OverflowBlock, Max: 1}))
	require.NoError(b, err)
	for range 5 {
		b.source.Put(testkit.Pod("late", "1"))
	}
	time.Sleep(time.Minute)
	require.Positive(b, b.source.Unread())
	time.AfterFunc(time.Second, func() {
		assert.True(b, b.informer.IsStopped(), "the controller does not wait for the handler")
		close(release)
	})
	b.stop()
}
