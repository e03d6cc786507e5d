// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// chaos is an informer under load from all sides, in real time, for the race detector.
type chaos struct {
	*testing.T
	source   *testkit.Pods
	informer ownInformer
}

// handler joins, for a while or for ever, and returns what it knows.
func (c *chaos) handler(random *rand.Rand) (*testkit.Mirror, cache.ResourceEventHandlerRegistration) {
	m := testkit.NewMirror()
	delivery := cache.Delivery{Overflow: cache.Overflow(random.IntN(3)), Parallel: 1 + random.IntN(3)}
	if delivery.Overflow == cache.OverflowBlock {
		delivery.Max = 1 + random.IntN(8)
	}
	m.SameUID = delivery.Overflow == cache.OverflowCoalesce
	calls := random.Uint64()
	var once sync.Once
	m.Before = func(string) {
		if calls%7 == 0 {
			runtime.Gosched()
		}
		once.Do(func() {
			if calls%3 == 0 {
				_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
				if err != nil {
					assert.ErrorIs(c, err, cache.ErrAlreadyStopped)
				}
			}
		})
	}
	handle, err := c.informer.AddEventHandlerWithResyncPeriod(cache.Deliver(m, delivery), time.Second)
	require.NoError(c, err)
	return m, handle
}

func TestChaos(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{T: t, source: testkit.NewPods()}
	c.informer = cache.NewSharedIndexInformer(c.source, &corev1.Pod{}, time.Second, nil).(ownInformer)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.informer.RunWithContext(ctx); close(stopped) }()

	var work sync.WaitGroup
	halt := make(chan struct{})
	var staying [4]*testkit.Mirror
	for i := range staying {
		random := rand.New(rand.NewPCG(seed, uint64(i+1)))
		staying[i], _ = c.handler(random)
		work.Go(func() { c.comeAndGo(random, halt) })
	}
	c.write(rand.New(rand.NewPCG(seed, 0)))
	close(halt)
	work.Wait()
	want := fmt.Sprint(c.source.State())
	enough, cancelWait := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancelWait()
	for i, m := range staying {
		assert.True(t, m.Await(enough, want), "handler %d", i)
		_, problems, _ := m.State()
		assert.Empty(t, problems)
	}
	cancel()
	<-stopped
	assert.Zero(t, c.informer.EventHandlerCount())
}

// write changes objects, and cuts the watch at times.
func (c *chaos) write(random *rand.Rand) {
	for i := range 20_000 {
		name := string(rune('a' + random.IntN(20)))
		switch r := random.IntN(1000); {
		case r == 0:
			c.source.Expire()
		case r < 200:
			c.source.Remove(name)
		default:
			c.source.Put(testkit.PodOf(name, fmt.Sprint(i), fmt.Sprint(random.IntN(3))))
		}
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
}

// comeAndGo adds handlers and removes them, one after the other, until halt is closed.
func (c *chaos) comeAndGo(random *rand.Rand, halt <-chan struct{}) {
	for {
		select {
		case <-halt:
			return
		default:
		}
		m, handle := c.handler(random)
		for range random.IntN(1000) {
			runtime.Gosched()
		}
		assert.NoError(c, cache.ShutDownEventHandler(c.informer, handle))
		_, problems, _ := m.State()
		assert.Empty(c, problems)
		cache.ShouldResync(c.informer)
	}
}
