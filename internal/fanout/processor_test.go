// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
	"github.com/kinformer/cache/internal/testkit"
)

// neverSynced is an upstream that is never done.
type neverSynced struct{}

func (neverSynced) Name() string { return "upstream" }

func (neverSynced) Done() <-chan struct{} { return nil }

// newTestListener returns a listener, with options if any are given.
func newTestListener(t testing.TB, p *Processor, handler clientgo.ResourceEventHandler, options ...Options) *Listener {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o.Name = t.Name()
	return p.NewListener(handler, o)
}

// inProcessorBubble runs test with a processor inside a synctest bubble, and then stops the
// processor.
func inProcessorBubble(t *testing.T, test func(t *testing.T, p *Processor)) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessor(neverSynced{}, clock.RealClock{})
		test(t, p)
		p.Stop()
	})
}

// givenSnapshot returns a snapshot of objects under their usual keys.
func givenSnapshot(objects []any) *event.Snapshot {
	keys := make([]string, len(objects))
	for i, obj := range objects {
		keys[i], _ = clientgo.MetaNamespaceKeyFunc(obj)
	}
	return event.KeyedSnapshot(keys, objects)
}

// distributeUpdate distributes an update of a new object to a newer one, and returns weak pointers
// to both.
func distributeUpdate(p *Processor) [2]weak.Pointer[corev1.Pod] {
	old, current := testkit.Pod("a", "1"), testkit.Pod("a", "2")
	p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: "ns/a", Old: old, New: current}})
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

// nothing is a handler without functions.
var nothing = clientgo.ResourceEventHandlerFuncs{}

// TestStuckHandlerKeepsOnlyUndeliveredObjects checks that only undelivered objects are kept, of a stuck
// handler beside idle ones. Removed handlers keep none, even if their registrations are kept.
func TestStuckHandlerKeepsOnlyUndeliveredObjects(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		pending int // number of updates kept alive, of 1000
	}{
		"lossless": {Options{}, 1000},
		"coalesce": {Options{Overflow: Coalesce}, 2 + 2*int(foldAfter)}, // the running one, a merged one, the unread ones
	} {
		t.Run(name, func(t *testing.T) {
			inProcessorBubble(t, func(t *testing.T, p *Processor) {
				release := make(chan struct{})
				stuck := newTestListener(t, p, clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-release }}, test.options)
				removed, idle := newTestListener(t, p, nothing), newTestListener(t, p, nothing)
				merging := newTestListener(t, p, nothing, Options{Overflow: Coalesce, Parallel: 3})
				for _, listener := range []*Listener{stuck, removed, idle, merging} {
					p.Add(listener, givenSnapshot(nil))
				}
				var objects [][2]weak.Pointer[corev1.Pod]
				for range 1000 {
					objects = append(objects, distributeUpdate(p))
					if len(objects)%eventlog.SegmentSize == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				alive := countAlive(objects)
				assert.Positive(t, alive)
				assert.LessOrEqual(t, alive, test.pending)
				if test.options.Overflow == Lossless {
					for range 500 {
						release <- struct{}{}
					}
					synctest.Wait()
					assert.LessOrEqual(t, countAlive(objects), 500+eventlog.SegmentSize, "delivered objects are garbage, except a segment")
				}
				p.Remove(stuck)
				p.Remove(removed)
				assert.LessOrEqual(t, countAlive(objects), eventlog.SegmentSize, "a removed handler has no more to hear, though it is in a call")
				more := [][2]weak.Pointer[corev1.Pod]{distributeUpdate(p)}
				synctest.Wait()
				assert.Zero(t, countAlive(more))
				close(release)
				synctest.Wait()
				assert.Zero(t, countAlive(objects))
				runtime.KeepAlive([]any{p, stuck, removed})
			})
		})
	}
}

func TestIdleHandlerIsSmallAndHasNoGoroutine(t *testing.T) {
	const handlers, limit = 1000, 1150 // bytes; 448 of them are four channels
	goroutines := runtime.NumGoroutine()
	var sizes []int64 // several, because the heap is shared by the whole process
	for range 5 {
		p := NewProcessor(neverSynced{}, clock.RealClock{})
		listeners := make([]*Listener, handlers)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range listeners {
			listeners[i] = newTestListener(t, p, nothing)
			p.Add(listeners[i], givenSnapshot(nil))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.Less(t, runtime.NumGoroutine(), goroutines+handlers/100, "the runtime may have its own for a moment, for finalizers")
		runtime.KeepAlive(listeners)
		sizes = append(sizes, (int64(after.HeapAlloc)-int64(before.HeapAlloc))/handlers)
		p.Stop()
	}
	slices.Sort(sizes)
	t.Logf("%d bytes a handler", sizes)
	assert.LessOrEqual(t, sizes[len(sizes)/2], int64(limit))
}

// listed is the content of a store, of which only the size is used.
type listed struct{ closed int }

func (l *listed) Len() int { return 2 }

func (l *listed) List() []any { panic("not called") }

func (l *listed) ListKeys() []string { panic("not called") }

func (l *listed) Close() { l.closed++ }

// TestAddToAStoppedProcessor checks that the handler is finished, and that its snapshot is released,
// as is that of a consumer that is abandoned.
func TestAddToAStoppedProcessor(t *testing.T) {
	p := NewProcessor(neverSynced{}, clock.RealClock{})
	p.Stop()
	var refused, abandoned listed
	listener := newTestListener(t, p, nothing)
	p.Add(listener, event.StoredSnapshot(&refused))
	<-listener.finished
	assert.Equal(t, 1, refused.closed)
	p.Distribute([]event.Change{{Kind: event.ChangeAdd, New: testkit.Pod("a", "1")}})
	assert.Zero(t, p.Count())
	c := newTestListener(t, p, nothing).consumers[0]
	c.mu.state, c.mu.first = consumerParked, &event.Change{Many: event.StoredSnapshot(&abandoned)}
	c.abandon()
	assert.Equal(t, 1, abandoned.closed)
}

// TestRegisteredListeners checks that the registered listeners are those added and not removed, in
// any order of additions and removals.
func TestRegisteredListeners(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		registered := map[*Listener]bool{}
		for range 300 {
			listener := newTestListener(t, p, nothing)
			assert.False(t, p.Has(listener))
			p.Remove(listener)
			p.Add(listener, givenSnapshot(nil))
			registered[listener] = true
			for removed := range registered {
				if random.IntN(3) > 0 {
					break
				}
				p.Remove(removed)
				p.Remove(removed)
				delete(registered, removed)
				assert.False(t, p.Has(removed))
			}
			assert.Equal(t, len(registered), p.Count())
		}
		for listener := range registered {
			assert.True(t, p.Has(listener))
		}
	})
}

// TestListenersOfAnother checks that a processor ignores the listener of another processor in Has
// and Remove, also while the other one uses it.
func TestListenersOfAnother(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		p.Add(newTestListener(t, p, nothing), givenSnapshot(nil))
		other := NewProcessor(neverSynced{}, p.clock)
		defer other.Stop()
		foreign := newTestListener(t, other, nothing)
		var done sync.WaitGroup
		done.Go(func() {
			for range 100 {
				assert.False(t, p.Has(foreign))
				p.Remove(foreign)
			}
		})
		for range 100 {
			other.Add(newTestListener(t, other, nothing), givenSnapshot(nil))
		}
		other.Add(foreign, givenSnapshot(nil))
		done.Wait()
		assert.True(t, other.Has(foreign))
		assert.Equal(t, 1, p.Count())
	})
}

// TestRemovedHandlerIsNotKept checks that neither a resync decision nor an undelivered resync of
// another handler keeps a removed handler alive.
func TestRemovedHandlerIsNotKept(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		stuck := newTestListener(t, p, &testkit.Journal{On: func(string) { <-release }}, Options{Resync: time.Second, Check: time.Second})
		p.Add(stuck, givenSnapshot(nil))
		distributeUpdate(p)
		handler, listener := addToBeRemoved(t, p)
		time.Sleep(time.Second)
		require.True(t, p.ShouldResync())
		p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot([]any{testkit.Pod("a", "2")}), Resync: true}})
		p.Remove(listener.Value())
		synctest.Wait()
		runtime.GC()
		assert.Nil(t, handler.Value())
		assert.Nil(t, listener.Value())
		close(release)
	})
}

func addToBeRemoved(t *testing.T, p *Processor) (weak.Pointer[testkit.Journal], weak.Pointer[Listener]) {
	handler := &testkit.Journal{}
	listener := newTestListener(t, p, handler)
	p.Add(listener, givenSnapshot(nil))
	return weak.Make(handler), weak.Make(listener)
}

func TestCallTimes(t *testing.T) {
	var times callTimes
	times.add(1, time.Microsecond)
	times.add(32, 80*time.Microsecond)
	times.add(10, 5*time.Millisecond) // one of the quick calls was slow
	times.add(1, time.Hour)
	assert.Equal(t, [callTimeBuckets]uint64{0: 1 + 32 + 9, 2: 1, 6: 1}, times.Histogram)
	assert.Equal(t, uint64(44), times.Calls)
	assert.Equal(t, time.Hour, times.Longest)
}

// TestPackageOf checks that a function is named by the path of its package, and a function of
// package main by its folder.
func TestPackageOf(t *testing.T) {
	assert.Equal(t, "manager", packageOf("main.main.func1", "/src/cmd/manager/main.go"))
	assert.Equal(t, "gopkg.in/a.v2", packageOf("gopkg.in/a%2ev2.(*T[...]).F", "a.go"))
}

// TestNamesAreNumberedWhenAlike checks that an equal name gets the first free number.
func TestNamesAreNumberedWhenAlike(t *testing.T) {
	r := &registry{}
	add := func(name string) string {
		l := &Listener{}
		l.name = r.freeNameLocked(name)
		r.listeners = append(r.listeners, l)
		return l.name
	}
	assert.Equal(t, []string{"a", "a#2", "b", "a#3"}, []string{add("a"), add("a"), add("b"), add("a")})
	r.listeners = append(r.listeners[:1], r.listeners[2:]...)
	assert.Equal(t, []string{"a#2", "a#4", "b#2"}, []string{add("a"), add("a"), add("b")})
}

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestBoundedCallsAreCountedOneByOne: each call of a bounded handler is counted when it returns, also after quick calls
// of the initial list.
func TestBoundedCallsAreCountedOneByOne(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		hold := make(chan struct{})
		slow := &testkit.Journal{On: func(line string) {
			if line == "add c1" {
				<-hold
			}
		}}
		listener := newTestListener(t, p, slow, Options{Overflow: Disconnect, Max: 9})
		p.Add(listener, givenSnapshot([]any{testkit.Pod("a", "1")}))
		var changes []event.Change
		for _, name := range []string{"b", "c", "d"} {
			changes = append(changes, event.Change{Kind: event.ChangeAdd, Key: "ns/" + name, New: testkit.Pod(name, "1")})
		}
		p.Distribute(changes)
		synctest.Wait()
		assert.Equal(t, 2, listener.behind())
		close(hold)
	})
}

// TestSlowLog: while a line is written, as by a slow log function, no other look begins, but the next one sees calls
// that were added meanwhile. Stop waits for it. The time of a bubble goes on meanwhile.
func TestSlowLog(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		var begun, ended atomic.Int32
		hold := make(chan struct{})
		logger := funcr.New(func(string, string) { begun.Add(1); time.Sleep(time.Minute); ended.Add(1) }, funcr.Options{})
		requireLines := func(wantBegun, wantEnded int32) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, []int32{wantBegun, wantEnded}, []int32{begun.Load(), ended.Load()})
		}
		addStuck := func() {
			stuck := newTestListener(t, p, &testkit.Journal{On: func(string) { <-hold }}, Options{Logger: &logger})
			p.Add(stuck, givenSnapshot([]any{testkit.Pod("a", "1")}))
		}
		addStuck()
		time.Sleep(lagWarning)
		requireLines(1, 0)
		addStuck()
		time.Sleep(time.Minute - 1)
		requireLines(1, 0)
		time.Sleep(lookInterval + 1)
		requireLines(2, 1)
		close(hold)
		p.Stop()
		requireLines(2, 2)
		time.Sleep(time.Hour)
		requireLines(2, 2)
	})
}

// TestWatcherRests: the watcher looks while a handler is in a call, of its initial list, of a change, of a resync or
// of a merged change, and rests when the handler was logged, has returned or is removed.
func TestWatcherRests(t *testing.T) {
	for name, o := range map[string]Options{"lossless": {}, "coalesce": {Overflow: Coalesce}, "parallel": {Parallel: 3}, "block": {Overflow: Block, Max: 1}} {
		t.Run(name, func(t *testing.T) {
			inProcessorBubble(t, func(t *testing.T, p *Processor) {
				hold := make(chan struct{})
				slow := &testkit.Journal{On: func(string) { <-hold }}
				looks := func() bool {
					p.feed.mu.Lock()
					defer p.feed.mu.Unlock()
					return p.watcher.due
				}
				requireLooks := func(want bool) {
					t.Helper()
					time.Sleep(lagWarning / 2)
					synctest.Wait()
					require.Equal(t, want, looks())
					time.Sleep(time.Hour)
					synctest.Wait()
					require.False(t, looks(), "what is stuck was logged")
				}
				release := func() { // a call, if one runs: calls may be merged
					select {
					case hold <- struct{}{}:
					default:
					}
				}
				p.Add(newTestListener(t, p, nothing), givenSnapshot(nil))
				requireLooks(false)
				listener := newTestListener(t, p, slow, o)
				p.Add(listener, givenSnapshot([]any{testkit.Pod("a", "1"), testkit.Pod("b", "1")}))
				requireLooks(true) // in the first call of the initial list
				for range 2 {
					release()
					synctest.Wait()
				}
				requireLooks(false)
				for range 3 {
					distributeUpdate(p)
				}
				requireLooks(true)
				for range 3 {
					release()
					synctest.Wait()
				}
				requireLooks(false)
				distributeUpdate(p)
				requireLooks(true)
				p.Remove(listener)
				requireLooks(false)
				release()
			})
		})
	}
}
