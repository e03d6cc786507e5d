// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/eventlog"
)

// neverSynced is an upstream of which nothing is told.
type neverSynced struct{}

func (neverSynced) Name() string          { return "upstream" }
func (neverSynced) Done() <-chan struct{} { return nil }

// newTestListener makes a listener, with options if any are given.
func newTestListener(t testing.TB, p *sharedProcessor, handler ResourceEventHandler, options ...listenerOptions) *processorListener {
	var o listenerOptions
	if len(options) > 0 {
		o = options[0]
	}
	o.name, o.logger = t.Name(), klog.Background()
	return p.newListener(handler, o)
}

// inProcessorBubble runs test with a processor inside a synctest bubble, and stops it in the end.
func inProcessorBubble(t *testing.T, test func(t *testing.T, p *sharedProcessor)) {
	synctest.Test(t, func(t *testing.T) {
		p := newSharedProcessor(neverSynced{}, clock.RealClock{})
		test(t, p)
		p.stop()
	})
}

// distributeUpdate distributes an update of a new object to a newer one, and returns weak pointers to both.
func distributeUpdate(p *sharedProcessor) [2]weak.Pointer[corev1.Pod] {
	old, current := pod("a", "1"), pod("a", "2")
	p.distribute([]change{{kind: changeUpdate, key: "ns/a", old: old, new: current}})
	return [2]weak.Pointer[corev1.Pod]{weak.Make(old), weak.Make(current)}
}

func countAlive(objects [][2]weak.Pointer[corev1.Pod]) (alive int) {
	runtime.GC()
	for _, pair := range objects {
		if pair[0].Value() != nil || pair[1].Value() != nil {
			alive++
		}
	}
	return alive
}

// nothing is a handler that keeps nothing.
var nothing = ResourceEventHandlerFuncs{}

func TestIdleHandlersKeepNoObject(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		for range 4 {
			p.add(newTestListener(t, p, nothing), newSnapshot(nil))
		}
		p.add(newTestListener(t, p, nothing, listenerOptions{overflow: coalesce, parallel: 3}), newSnapshot(nil))
		var objects [][2]weak.Pointer[corev1.Pod]
		for range 100 {
			objects = append(objects, distributeUpdate(p))
		}
		synctest.Wait()
		assert.Zero(t, countAlive(objects))
		runtime.KeepAlive(p)
	})
}

func TestStuckHandlerKeepsWhatItHasToHear(t *testing.T) {
	for name, test := range map[string]struct {
		options listenerOptions
		pending int // how many updates stay alive, of 1000
	}{
		"lossless": {listenerOptions{}, 1000},
		"coalesce": {listenerOptions{overflow: coalesce}, 2 + 2*int(foldAfter)}, // the running one, a merged one, what is not read
	} {
		t.Run(name, func(t *testing.T) {
			inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
				release := make(chan struct{})
				stuck := newTestListener(t, p, ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-release }}, test.options)
				p.add(stuck, newSnapshot(nil))
				p.add(newTestListener(t, p, nothing), newSnapshot(nil))
				var objects [][2]weak.Pointer[corev1.Pod]
				for range 1000 {
					objects = append(objects, distributeUpdate(p))
					if len(objects)%eventlog.SegmentSize == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				assert.LessOrEqual(t, countAlive(objects), test.pending)
				if test.options.overflow == lossless {
					for range 500 {
						release <- struct{}{}
					}
					synctest.Wait()
					assert.LessOrEqual(t, countAlive(objects), 500+eventlog.SegmentSize, "what it has heard is free, but for a segment")
				}
				p.remove(stuck)
				assert.LessOrEqual(t, countAlive(objects), eventlog.SegmentSize, "a removed handler has no more to hear, though it is in a call")
				more := [][2]weak.Pointer[corev1.Pod]{distributeUpdate(p)}
				synctest.Wait()
				assert.Zero(t, countAlive(more))
				close(release)
			})
		})
	}
}

func TestIdleHandlerIsSmallAndHasNoGoroutine(t *testing.T) {
	const limit = 1100 // bytes
	goroutines := runtime.NumGoroutine()
	var sizes []int64 // several, because the heap is that of the whole process
	for range 5 {
		sizes = append(sizes, sizeOfIdleHandler(t))
	}
	slices.Sort(sizes)
	t.Logf("%d bytes a handler", sizes)
	assert.LessOrEqual(t, sizes[len(sizes)/2], int64(limit))
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

// sizeOfIdleHandler is by how much the heap grows, in bytes, for each of many handlers.
func sizeOfIdleHandler(t *testing.T) int64 {
	const handlers = 1000
	p := newSharedProcessor(neverSynced{}, clock.RealClock{})
	defer p.stop()
	listeners := make([]*processorListener, handlers)
	goroutines := runtime.NumGoroutine()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range listeners {
		listeners[i] = newTestListener(t, p, nothing)
		p.add(listeners[i], newSnapshot(nil))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	runtime.KeepAlive(listeners)
	return (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / handlers
}

func TestJoinerDoesNotHoldUpTheOthers(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		other := &journal{}
		e.add(other, Delivery{})
		other.take()
		release := make(chan struct{})
		joiner := &journal{on: func(string) { <-release }}
		handle := e.add(joiner, Delivery{})
		e.change("b", 100)
		assert.Len(t, other.take(), 100)
		assert.False(t, handle.HasSynced())
		close(release)
		synctest.Wait()
		assert.True(t, handle.HasSynced())
		assert.Len(t, joiner.take(), 101)
	})
}

func TestParkedHandlersIgnoreResyncsThatAreNotForThem(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		due, other := &journal{}, &journal{}
		listener := newTestListener(t, p, due, listenerOptions{resync: time.Second, check: time.Second})
		p.add(listener, newSnapshot(nil))
		p.add(newTestListener(t, p, other), newSnapshot(nil))
		bulk := func() []change {
			return []change{{kind: changeUpdate, many: newSnapshot([]any{pod("a", "1"), pod("b", "1")}), resync: true}}
		}
		p.distribute(bulk())
		synctest.Wait()
		assert.Len(t, other.take(), 2, "before the first look everybody takes part")
		assert.Len(t, due.take(), 2)
		time.Sleep(time.Second)
		require.True(t, p.shouldResync())
		p.distribute(bulk())
		synctest.Wait()
		assert.Empty(t, other.take())
		assert.Len(t, due.take(), 2)
		late := &journal{}
		p.add(newTestListener(t, p, late), newSnapshot(nil))
		p.distribute(bulk())
		synctest.Wait()
		assert.Len(t, late.take(), 2, "who came after the look takes part until the next")
		assert.False(t, p.shouldResync())
	})
}

func TestResyncIsForWhoWasDueWhenItCame(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		release := make(chan struct{})
		seen := &journal{on: func(string) { <-release }}
		listener := newTestListener(t, p, seen, listenerOptions{resync: time.Minute, check: time.Minute})
		p.add(listener, newSnapshot(nil))
		distributeUpdate(p)
		time.Sleep(time.Minute)
		require.True(t, p.shouldResync())
		p.distribute([]change{{kind: changeUpdate, many: newSnapshot([]any{pod("b", "1")}), resync: true}})
		require.False(t, p.shouldResync(), "the handler still has the former one to hear")
		p.distribute([]change{{kind: changeUpdate, many: newSnapshot([]any{pod("c", "1")}), resync: true}})
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"update a1 a2", "update b1 b1"}, seen.take())
	})
}

func TestAddToAStoppedProcessor(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		p.stop()
		listener := newTestListener(t, p, nothing)
		p.add(listener, newSnapshot(nil))
		<-listener.finished
		p.distribute([]change{{kind: changeAdd, new: pod("a", "1")}})
		assert.Zero(t, p.count())
	})
}

// chaos is an informer under load from all sides, in real time, for the race detector.
type chaos struct {
	*testing.T
	source   *exactSource
	informer *sharedIndexInformer
}

// handler joins, for a while or for ever, and returns what it knows.
func (c *chaos) handler(random *rand.Rand) (*mirror, ResourceEventHandlerRegistration) {
	m := newMirror()
	delivery := Delivery{Overflow: Overflow(random.IntN(3)), Parallel: 1 + random.IntN(3)}
	if delivery.Overflow == Block {
		delivery.Max = 1 + random.IntN(8)
	}
	m.sameUID = delivery.Overflow == Coalesce
	calls := random.Uint64()
	var once sync.Once
	m.before = func(string) {
		if calls%7 == 0 {
			runtime.Gosched()
		}
		once.Do(func() {
			if calls%3 == 0 {
				_, err := c.informer.AddEventHandler(ResourceEventHandlerFuncs{})
				if err != nil {
					assert.ErrorIs(c, err, errAlreadyStopped)
				}
			}
		})
	}
	handle, err := c.informer.AddEventHandlerWithResyncPeriod(Deliver(m, delivery), time.Second)
	require.NoError(c, err)
	return m, handle
}

func TestChaos(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{T: t, source: newExactSource()}
	c.source.slots = 100_000
	c.informer = NewSharedIndexInformer(c.source, &corev1.Pod{}, time.Second, nil).(*sharedIndexInformer)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.informer.RunWithContext(ctx); close(stopped) }()

	var work, writer sync.WaitGroup
	halt := make(chan struct{})
	writer.Go(func() {
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range 20_000 {
			name := string(rune('a' + random.IntN(20)))
			switch r := random.IntN(1000); {
			case r == 0:
				c.source.cut()
			case r < 200:
				c.source.remove(name)
			default:
				c.source.put(podOf(name, fmt.Sprint(i), fmt.Sprint(random.IntN(3))))
			}
			if i%64 == 0 {
				runtime.Gosched()
			}
		}
		close(halt)
	})
	var staying [4]*mirror
	for i := range staying {
		random := rand.New(rand.NewPCG(seed, uint64(i+1)))
		staying[i], _ = c.handler(random)
		work.Go(func() {
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
				assert.NoError(t, ShutDownEventHandler(c.informer, handle))
				_, problems, _ := m.state()
				assert.Empty(t, problems)
				c.informer.processor.shouldResync()
			}
		})
	}
	writer.Wait()
	work.Wait()
	want := fmt.Sprint(c.source.state())
	enough, cancelWait := context.WithTimeout(t.Context(), patience)
	defer cancelWait()
	for i, m := range staying {
		assert.True(t, m.await(enough, want), "handler %d", i)
		_, problems, _ := m.state()
		assert.Empty(t, problems)
	}
	cancel()
	<-stopped
	assert.Zero(t, c.informer.EventHandlerCount())
}

func TestBulkRecordsTakeNoCopyUntilTheyAreRead(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		release := make(chan struct{})
		stuck := e.add(&journal{on: func(string) { <-release }}, Delivery{})
		require.Zero(t, e.informer.store.objects.table.Snapshots().Open, "the initial list is read by the handler")
		resync := e.informer.pipeline.applier.syncAll(nil)
		require.Equal(t, 1, e.informer.store.objects.table.Snapshots().Open)
		e.informer.processor.distribute(resync)
		synctest.Wait()
		assert.Equal(t, 1, e.informer.store.objects.table.Snapshots().Open, "the only handler has not come to it")
		close(release)
		synctest.Wait()
		assert.Zero(t, e.informer.store.objects.table.Snapshots().Open)
		assert.Equal(t, uint64(2), stuck.Statistics().Delivered)
		assert.Zero(t, e.informer.store.objects.table.Snapshots().Forgotten)
	})
}

func TestSnapshotNobodyReadsIsReleased(t *testing.T) {
	inExactBubble(t, func(e *exact) {
		for _, name := range []string{"b", "c"} {
			e.change(name, 1)
		}
		p := e.informer.processor
		known := storedSnapshot(e.informer.store.objects.table.Snapshot())
		newStoppedProcessor().add(newTestListener(t, p, nothing), known)
		assert.Zero(t, e.informer.store.objects.table.Snapshots().Open, "refused")
		listener := newTestListener(t, p, nothing)
		c := listener.consumers[0]
		c.mu.state, c.mu.first = consumerParked, &change{many: storedSnapshot(e.informer.store.objects.table.Snapshot())}
		c.abandon()
		assert.Zero(t, e.informer.store.objects.table.Snapshots().Open)
	})
}

func newStoppedProcessor() *sharedProcessor {
	p := newSharedProcessor(neverSynced{}, clock.RealClock{})
	p.stop()
	return p
}
