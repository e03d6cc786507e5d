// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// workersAtWork returns the number of running workers of all processors.
func workersAtWork() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*pool).workOn("))
}

// TestQuickHandlersShareAGoroutine checks that one worker makes all calls if none blocks. Workers
// run one at a time here, so the result does not depend on preemption.
func TestQuickHandlersShareAGoroutine(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		var callsBy []int // one element for each worker
		turn := make(chan struct{}, 1)
		p.pool.workFunc = func() {
			turn <- struct{}{}
			callsBy = append(callsBy, 0)
			p.pool.work()
			<-turn
		}
		for range 64 {
			p.Add(newTestListener(t, p, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
				callsBy[len(callsBy)-1]++
			}}), givenSnapshot(nil))
		}
		distributeUpdate(p)
		synctest.Wait()
		assert.Equal(t, []int{64, 0}, callsBy, "the second has come because the first might have blocked")
	})
}

// TestReadyListStaysSmall checks that the list of ready consumers, which never becomes empty under
// a lasting load, takes only the memory of its consumers.
func TestReadyListStaysSmall(t *testing.T) {
	const consumers = 64
	w := &pool{}
	var all [consumers]consumer
	for i := range all {
		w.push(&all[i])
	}
	for i := range 100 * consumers {
		next := w.pop()
		assert.Same(t, &all[i%consumers], next, "the consumer that was ready first")
		if i%3 == 0 {
			w.push(next)
		} else {
			w.idle = append(w.idle, next)
			w.pushIdle()
		}
	}
	assert.LessOrEqual(t, cap(w.ready), 4*consumers)
	for range consumers {
		assert.NotNil(t, w.pop())
	}
	assert.Nil(t, w.pop())
	for _, left := range w.ready[:cap(w.ready)] {
		assert.Nil(t, left, "holds only ready consumers")
	}
}

// faultyHandler is a handler that blocks, panics, ends its goroutine or removes itself in some of
// its calls, at random.
type faultyHandler struct {
	processor *Processor
	listener  *Listener
	expected  []string // the expected calls unless it is removed
	release   chan struct{}

	mu      sync.Mutex
	random  *rand.Rand
	badness int // number of faulty calls per 1000; 0 at the end
	heard   []string
	blocked int
	failed  bool // a call of the initial list did not return
	gone    bool // it was removed, or is being removed
}

func (h *faultyHandler) OnDelete(any) {}

func (h *faultyHandler) OnUpdate(_, obj any) { h.hear(obj, false) }

func (h *faultyHandler) OnAdd(obj any, initial bool) {
	h.hear(obj, initial)
}

func (h *faultyHandler) hear(obj any, initial bool) {
	h.mu.Lock()
	h.heard = append(h.heard, testkit.Describe(obj))
	trouble := -1
	if h.random.IntN(1000) < h.badness {
		trouble = h.random.IntN(4)
	}
	h.failed = h.failed || initial && (trouble == 1 || trouble == 2)
	h.gone = h.gone || trouble == 3
	if trouble == 0 {
		h.blocked++
	}
	h.mu.Unlock()
	switch trouble {
	case 0:
		<-h.release
		h.mu.Lock()
		h.blocked--
		h.mu.Unlock()
	case 1:
		panic("as it pleases")
	case 2:
		runtime.Goexit()
	case 3:
		h.processor.Remove(h.listener)
	}
}

// unruly is a processor with faulty handlers, in a bubble.
type unruly struct {
	*testing.T
	processor *Processor
	random    *rand.Rand
	state     map[string]*corev1.Pod
	version   int
	faulty    []*faultyHandler
	synced    bool
}

// join adds a handler whose initial list has all objects.
func (u *unruly) join() {
	h := &faultyHandler{processor: u.processor, release: make(chan struct{}), random: rand.New(rand.NewPCG(u.random.Uint64(), 0)), badness: u.random.IntN(30)}
	options := Options{Parallel: 1 + u.random.IntN(3), Max: 1 << 20}
	if u.random.IntN(3) == 0 {
		options.Overflow = Overflow(u.random.IntN(4))
	}
	h.listener = newTestListener(u, u.processor, h, options)
	var initial []any
	for _, name := range []string{"a", "b", "c", "d"} {
		if obj := u.state[name]; obj != nil {
			initial = append(initial, obj)
			h.expected = append(h.expected, testkit.Describe(obj))
		}
	}
	u.faulty = append(u.faulty, h)
	u.processor.Add(h.listener, givenSnapshot(initial))
}

func (u *unruly) distribute() {
	changes := make([]event.Change, 1+u.random.IntN(40))
	for i := range changes {
		name := string(rune('a' + u.random.IntN(4)))
		u.version++
		obj := testkit.Pod(name, fmt.Sprint(u.version))
		changes[i] = event.Change{Kind: event.ChangeUpdate, Key: "ns/" + name, Old: u.state[name], New: obj}
		if u.state[name] == nil {
			changes[i].Old, changes[i].Kind = nil, event.ChangeAdd
		}
		u.state[name] = obj
		for _, h := range u.faulty {
			h.expected = append(h.expected, testkit.Describe(obj))
		}
	}
	room, _ := u.processor.Room(func() int { return 0 })
	assert.Positive(u, room, "no bound is reached")
	u.processor.Distribute(changes)
}

func (u *unruly) step() {
	switch op := u.random.IntN(100); {
	case op < 10:
		u.join()
	case op < 14 && len(u.faulty) > 0:
		h := u.faulty[u.random.IntN(len(u.faulty))]
		go func() {
			h.mu.Lock()
			h.gone = true
			h.mu.Unlock()
			u.processor.Remove(h.listener)
		}()
	case op < 40 && len(u.faulty) > 0:
		h := u.faulty[u.random.IntN(len(u.faulty))]
		go func() {
			select {
			case h.release <- struct{}{}:
			default:
			}
		}()
	case op < 42 && !u.synced:
		u.synced = true
		u.processor.UpstreamSynced()
	case op < 50:
		synctest.Wait()
	case op < 55:
		u.settle()
	default:
		u.distribute()
	}
}

// settle waits until all goroutines are blocked, and checks the state.
func (u *unruly) settle() {
	time.Sleep(10 * time.Minute) // longer than the pauses after panics
	synctest.Wait()
	stuck := 0
	for _, h := range u.faulty {
		h.mu.Lock()
		stuck += h.blocked
		u.judge(h)
		h.mu.Unlock()
	}
	assert.Equal(u, stuck, workersAtWork(), "as many workers as blocked calls")
	p := u.processor
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	w := &p.pool
	assert.False(u, w.spinning)
	assert.Len(u, w.ready, w.first)
	assert.Empty(u, w.idle)
	working := 0
	for _, listener := range p.guarded.listeners {
		for _, c := range listener.consumers {
			if c.mu.state == consumerAtWork {
				working++
			}
		}
	}
	assert.Equal(u, working, p.feed.mu.log.Cursors(), "a parked consumer has no place in the log")
}

func (u *unruly) judge(h *faultyHandler) {
	consumers := len(h.listener.consumers)
	if h.gone {
		assert.Equal(u, h.blocked == 0, isClosed(h.listener.finished), "finished when the last call has returned")
		return
	}
	figures := h.listener.Figures()
	if h.blocked > 0 {
		assert.True(u, figures.Stuck)
		assert.Positive(u, figures.Pending)
		assert.LessOrEqual(u, h.blocked, consumers)
		return
	}
	assert.False(u, figures.Working || figures.Stuck)
	assert.Zero(u, figures.Pending)
	if h.listener.coalesces {
		assert.Equal(u, latest(h.expected), latest(h.heard))
		return
	}
	assert.Equal(u, u.synced && !h.failed, isClosed(h.listener.synced))
	assert.EqualValues(u, len(h.expected), figures.Times.Calls)
	if consumers == 1 {
		assert.Equal(u, h.expected, h.heard)
	} else {
		assert.Equal(u, perName(h.expected), perName(h.heard))
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// perName sorts descriptions of pods with one-letter names by name, keeping the order within a
// name.
func perName(lines []string) []string {
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b string) int { return int(a[0]) - int(b[0]) })
	return sorted
}

// latest returns the last line for each name.
func latest(lines []string) map[byte]string {
	last := map[byte]string{}
	for _, line := range lines {
		last[line[0]] = line
	}
	return last
}

// TestUnrulyHandlers checks that each handler gets all its calls, whatever the handlers do and
// however they are added and removed, and that no worker is left when all is delivered.
func TestUnrulyHandlers(t *testing.T) {
	testkit.QuietPanics(t)
	for seed := range uint64(150) {
		inProcessorBubble(t, func(t *testing.T, p *Processor) {
			u := &unruly{T: t, processor: p, random: rand.New(rand.NewPCG(seed, 4)), state: map[string]*corev1.Pod{}}
			for range 80 {
				u.step()
			}
			u.settle()
			for _, h := range u.faulty {
				h.mu.Lock()
				h.badness = 0
				h.mu.Unlock()
				close(h.release)
			}
			u.settle()
			require.False(t, t.Failed(), "seed %d", seed)
		})
	}
}

// TestAllHandlersMayRunAtOnce checks that a call may wait for calls of all other handlers.
func TestAllHandlersMayRunAtOnce(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		const handlers = 64
		entered, all := make(chan struct{}, handlers), make(chan struct{})
		for range handlers {
			p.Add(newTestListener(t, p, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
				entered <- struct{}{}
				<-all
			}}), givenSnapshot(nil))
		}
		distributeUpdate(p)
		for range handlers {
			<-entered
		}
		close(all)
	})
}

// TestBlockHandsOutEveryPlace checks that with blocking handlers, beside others that are stuck or
// are added and removed, the source continues as soon as there is room for one event.
func TestBlockHandsOutEveryPlace(t *testing.T) {
	const updates = 300
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		inProcessorBubble(t, func(t *testing.T, p *Processor) {
			stuck, release := make(chan struct{}), make(chan struct{})
			p.Add(newTestListener(t, p, &testkit.Journal{On: func(string) { <-stuck }}), givenSnapshot(nil))
			var heard [6]atomic.Int64
			for i := range heard {
				slow := random.IntN(2) == 0
				handler := clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
					if n := heard[i].Add(1); n == updates/2 {
						<-release
					} else if slow {
						runtime.Gosched()
					}
				}}
				options := Options{Overflow: Block, Max: 1 + random.IntN(3), Parallel: 1 + random.IntN(2)}
				p.Add(newTestListener(t, p, handler, options), givenSnapshot(nil))
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range updates {
					for room := 0; room == 0; {
						var freed <-chan struct{}
						if room, freed = p.Room(func() int { return 0 }); room == 0 {
							<-freed
						}
					}
					key := fmt.Sprint("ns/", i%5)
					p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: key, Old: testkit.Pod("a", "1"), New: testkit.Pod("a", "2")}})
				}
			}()
			synctest.Wait()
			assert.False(t, isClosed(done), "some handlers are in a call")
			close(release)
			<-done
			synctest.Wait()
			for i := range heard {
				assert.EqualValues(t, updates, heard[i].Load(), "seed %d, handler %d", seed, i)
			}
			close(stuck)
		})
	}
}

// TestRoomCountsConcurrentNotifications checks that notifications distributed between the two
// counts of Room, of outstanding and of in-flight events, are not missed by both.
func TestRoomCountsConcurrentNotifications(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		defer close(release)
		handler := &testkit.Journal{On: func(string) { <-release }}
		p.Add(newTestListener(t, p, handler, Options{Overflow: Block, Max: 4}), givenSnapshot(nil))
		onTheWay := 3
		room, freed := p.Room(func() int {
			for ; onTheWay > 0; onTheWay-- {
				p.Distribute([]event.Change{{Kind: event.ChangeAdd, Key: "ns/b", New: testkit.Pod("b", "1")}})
			}
			return onTheWay
		})
		assert.Nil(t, freed)
		assert.Equal(t, 1, room)
	})
}

// TestIdleConsumerIsParkedWhileAJoinerBlocks checks that a consumer that has read all leaves the
// log, although the worker that would have parked it is in a call of a handler added meanwhile.
func TestIdleConsumerIsParkedWhileAJoinerBlocks(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		through := newTestListener(t, p, nothing)
		p.Add(through, givenSnapshot(nil))
		c := through.consumers[0]
		p.feed.mu.Lock()
		p.pool.unparkLocked(c)
		c.enter(nil)
		p.pool.idle = append(p.pool.idle, c)
		p.feed.mu.Unlock()
		release := make(chan struct{})
		p.Add(newTestListener(t, p, &testkit.Journal{On: func(string) { <-release }}), givenSnapshot([]any{testkit.Pod("a", "1")}))
		synctest.Wait()
		assert.False(t, through.Figures().Working)
		p.feed.mu.Lock()
		assert.Equal(t, 1, p.feed.mu.log.Cursors())
		p.feed.mu.Unlock()
		close(release)
	})
}
