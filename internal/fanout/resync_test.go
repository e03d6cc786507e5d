// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
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

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

var everyOverflow = map[string]Options{
	"lossless":          {},
	"lossless parallel": {Parallel: 3},
	"block":             {Overflow: Block, Max: 1000},
	"coalesce":          {Overflow: Coalesce},
	"coalesce parallel": {Overflow: Coalesce, Parallel: 3},
	"disconnect":        {Overflow: Disconnect, Max: 1000},
}

// TestLogKeepsNoResyncForStuckHandlers checks that a resync that other handlers have delivered, or
// were removed before they did, is not kept for one that has an undelivered resync.
func TestLogKeepsNoResyncForStuckHandlers(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		p.Add(newTestListener(t, p, &testkit.Journal{On: func(string) { <-release }}), givenSnapshot(nil))
		healthy := &testkit.Journal{}
		p.Add(newTestListener(t, p, healthy), givenSnapshot(nil))
		distributeUpdate(p)
		synctest.Wait()
		healthy.Take()
		var snapshots []weak.Pointer[event.Snapshot]
		for range 100 {
			all := givenSnapshot([]any{testkit.Pod("a", "2")})
			snapshots = append(snapshots, weak.Make(all))
			p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: all, Resync: true}})
			synctest.Wait()
			assert.Equal(t, []string{"update a2 a2"}, healthy.Take())
		}
		runtime.GC()
		alive := 0
		for _, s := range snapshots {
			if s.Value() != nil {
				alive++
			}
		}
		assert.Equal(t, 1, alive)
		close(release)
	})
}

// TestSkippedResyncLosesNothing checks that, however slow a handler is, after it was due for a
// resync it is called for each object of the store, in the state of that time or a later one. First
// a handler has an undelivered resync of second 2, and takes no part at second 3, so that an update
// without a change of the object is not for it, and is due again at second 4.
func TestSkippedResyncLosesNothing(t *testing.T) {
	for name, options := range everyOverflow {
		t.Run(name, func(t *testing.T) {
			missed := []resyncStep{{"put", "a"}, {op: "tick"}, {op: "tick"}, {op: "tick"}, {"rewrite", "a"}, {op: "tick"}}
			require.NoError(t, playResyncs(t, options, missed))
			draw.Check(t, func(rt *draw.T) {
				schedule := draw.Slice(rt, 1, 40, func() resyncStep { return drawResyncStep(rt) })
				if fault := playResyncs(rt.T, options, schedule); fault != nil {
					rt.Fatal(fault)
				}
			})
		})
	}
}

type resyncStep struct{ op, name string }

func drawResyncStep(t *draw.T) resyncStep {
	return resyncStep{
		op:   draw.Of(t, "put", "put", "rewrite", "delete", "tick", "tick", "tick", "call", "settle"),
		name: draw.Of(t, "a", "b", "c"),
	}
}

// promise is the expectation that a handler is called for an object, in this version or a later
// one, after its first after calls.
type promise struct {
	handler *steppedHandler
	name    string
	version int
	after   int
}

// steppedHandler returns from a call when it gets a token, and records each.
type steppedHandler struct {
	testkit.Journal
	tokens chan struct{}
	mu     sync.Mutex
	begun  []promise // name and version only
}

func newSteppedHandler() *steppedHandler {
	h := &steppedHandler{tokens: make(chan struct{})}
	h.On = func(line string) {
		obj := line[strings.LastIndex(line, " ")+1:]
		version, _ := strconv.Atoi(obj[1:])
		h.mu.Lock()
		h.begun = append(h.begun, promise{name: obj[:1], version: version})
		h.mu.Unlock()
		<-h.tokens
	}
	return h
}

func (h *steppedHandler) calls() []promise {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun[:len(h.begun):len(h.begun)]
}

// resyncModel is a simple store with a processor and two handlers: one is due at each tick, the
// other at every second one.
type resyncModel struct {
	processor *Processor
	listeners []*Listener
	handlers  []*steppedHandler
	objects   map[string]*corev1.Pod
	version   int
	promises  []promise
	rewritten bool
	fault     error
}

func playResyncs(t *testing.T, options Options, schedule []resyncStep) (fault error) {
	synctest.Test(t, func(t *testing.T) {
		m := &resyncModel{processor: NewProcessor(neverSynced{}, clock.RealClock{}), objects: map[string]*corev1.Pod{}}
		for _, period := range []time.Duration{time.Second, 2 * time.Second} {
			handler := newSteppedHandler()
			options.Resync, options.Check = period, period
			listener := newTestListener(t, m.processor, handler, options)
			m.processor.Add(listener, givenSnapshot(nil))
			m.handlers, m.listeners = append(m.handlers, handler), append(m.listeners, listener)
		}
		for _, step := range schedule {
			m.play(step)
		}
		for _, handler := range m.handlers {
			close(handler.tokens)
		}
		synctest.Wait()
		fault = errors.Join(m.fault, m.broken())
		m.processor.Stop()
	})
	return fault
}

func (m *resyncModel) play(step resyncStep) {
	old := m.objects[step.name]
	switch step.op {
	case "put", "rewrite":
		m.version++
		current := testkit.Pod(step.name, fmt.Sprint(m.version))
		if m.objects[step.name] = current; old == nil {
			m.processor.Distribute([]event.Change{{Kind: event.ChangeAdd, Key: "ns/" + step.name, New: current}})
			return
		}
		m.rewritten = m.rewritten || step.op == "rewrite"
		m.processor.Distribute([]event.Change{{Kind: event.ChangeUpdate, Key: "ns/" + step.name, Old: old, New: current, Resync: step.op == "rewrite"}})
	case "delete":
		if old != nil {
			m.delete(step.name, old)
		}
	case "tick":
		m.tick()
	case "call":
		for _, handler := range m.handlers {
			select {
			case handler.tokens <- struct{}{}:
			default:
			}
		}
	case "settle":
		synctest.Wait()
		m.checkOutstanding()
	}
}

// delete drops the promises about the object.
func (m *resyncModel) delete(name string, old *corev1.Pod) {
	delete(m.objects, name)
	m.processor.Distribute([]event.Change{{Kind: event.ChangeDelete, Key: "ns/" + name, Old: old}})
	var left []promise
	for _, p := range m.promises {
		if p.name != name {
			left = append(left, p)
		}
	}
	m.promises = left
}

// tick advances the clock by a second and resyncs the handlers that are due. Calls that begin
// before it belong to earlier changes.
func (m *resyncModel) tick() {
	synctest.Wait()
	time.Sleep(time.Second)
	if !m.processor.ShouldResync() {
		m.fault = errors.Join(m.fault, errors.New("no handler is due"))
	}
	all := []any{}
	for _, name := range []string{"a", "b", "c"} {
		if obj := m.objects[name]; obj != nil {
			all = append(all, obj)
		}
	}
	for i, handler := range m.handlers {
		if second := time.Since(time.Unix(946684800, 0)) / time.Second; i == 1 && second%2 != 0 {
			continue
		}
		for name, obj := range m.objects {
			version, _ := strconv.Atoi(obj.Labels["v"])
			m.promises = append(m.promises, promise{handler, name, version, len(handler.calls())})
		}
	}
	if len(all) > 0 {
		m.processor.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot(all), Resync: true}})
	}
}

// checkOutstanding checks that at most one resync is outstanding, unless an update without a change
// was missed.
func (m *resyncModel) checkOutstanding() {
	for i, listener := range m.listeners {
		for _, c := range listener.consumers {
			if r := c.mu.resyncs; r != nil && len(r.unread) > 1 && !m.rewritten {
				m.fault = errors.Join(m.fault, fmt.Errorf("handler %d has %d resyncs outstanding", i, len(r.unread)))
			}
		}
	}
}

func (m *resyncModel) broken() (fault error) {
	for _, p := range m.promises {
		kept := false
		for _, call := range p.handler.calls()[p.after:] {
			kept = kept || call.name == p.name && call.version >= p.version
		}
		if !kept {
			fault = errors.Join(fault, fmt.Errorf("after %d calls: never heard of %s%d: %v", p.after, p.name, p.version, p.handler.calls()))
		}
	}
	return fault
}

func TestParkedHandlersIgnoreResyncsThatAreNotForThem(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		due, other := &testkit.Journal{}, &testkit.Journal{}
		listener := newTestListener(t, p, due, Options{Resync: time.Second, Check: time.Second})
		p.Add(listener, givenSnapshot(nil))
		p.Add(newTestListener(t, p, other), givenSnapshot(nil))
		bulk := func() []event.Change {
			return []event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot([]any{testkit.Pod("a", "1"), testkit.Pod("b", "1")}), Resync: true}}
		}
		p.Distribute(bulk())
		synctest.Wait()
		assert.Len(t, other.Take(), 2, "before the first look everybody takes part")
		assert.Len(t, due.Take(), 2)
		time.Sleep(time.Second)
		require.True(t, p.ShouldResync())
		p.Distribute(bulk())
		synctest.Wait()
		assert.Empty(t, other.Take())
		assert.Len(t, due.Take(), 2)
		late := &testkit.Journal{}
		p.Add(newTestListener(t, p, late), givenSnapshot(nil))
		p.Distribute(bulk())
		synctest.Wait()
		assert.Len(t, late.Take(), 2, "a handler added after the decision takes part until the next")
		assert.False(t, p.ShouldResync())
	})
}

func TestResyncReachesOnlyDueHandlers(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *Processor) {
		release := make(chan struct{})
		seen := &testkit.Journal{On: func(string) { <-release }}
		listener := newTestListener(t, p, seen, Options{Resync: time.Minute, Check: time.Minute})
		p.Add(listener, givenSnapshot(nil))
		distributeUpdate(p)
		time.Sleep(time.Minute)
		require.True(t, p.ShouldResync())
		p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot([]any{testkit.Pod("b", "1")}), Resync: true}})
		require.False(t, p.ShouldResync(), "the handler still has the former one to hear")
		p.Distribute([]event.Change{{Kind: event.ChangeUpdate, Many: givenSnapshot([]any{testkit.Pod("c", "1")}), Resync: true}})
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"update a1 a2", "update b1 b1"}, seen.Take())
	})
}

func TestEffectiveResyncPeriod(t *testing.T) {
	for _, c := range []struct{ requested, check, want time.Duration }{
		{0, time.Second, 0},
		{time.Second, 0, 0},
		{time.Second, time.Minute, time.Minute},
		{time.Minute, time.Second, time.Minute},
	} {
		assert.Equal(t, c.want, effectiveResyncPeriod(klog.Background(), c.requested, c.check))
	}
}
