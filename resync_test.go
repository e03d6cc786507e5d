// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strconv"
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
	"pgregory.net/rapid"
)

var everyOverflow = map[string]listenerOptions{
	"lossless":          {},
	"lossless parallel": {parallel: 3},
	"block":             {overflow: block, max: 1000},
	"coalesce":          {overflow: coalesce},
	"coalesce parallel": {overflow: coalesce, parallel: 3},
	"disconnect":        {overflow: disconnect, max: 1000},
}

// TestLogKeepsNoResyncForStuckHandlers: what others have heard, or have been removed before they did, is not kept for one that
// has a resync to hear already.
func TestLogKeepsNoResyncForStuckHandlers(t *testing.T) {
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		release := make(chan struct{})
		p.add(newTestListener(t, p, &journal{on: func(string) { <-release }}), givenSnapshot(nil))
		healthy := &journal{}
		p.add(newTestListener(t, p, healthy), givenSnapshot(nil))
		distributeUpdate(p)
		synctest.Wait()
		healthy.take()
		var snapshots []weak.Pointer[snapshot]
		for range 100 {
			all := givenSnapshot([]any{pod("a", "2")})
			snapshots = append(snapshots, weak.Make(all))
			p.distribute([]change{{kind: changeUpdate, many: all, resync: true}})
			synctest.Wait()
			assert.Equal(t, []string{"update a2 a2"}, healthy.take())
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

// TestSkippedResyncLosesNothing: of each object that the store has when a handler is due for a resync, the handler hears
// after that, and in that state or a later one, whatever else happens and however slow it is.
func TestSkippedResyncLosesNothing(t *testing.T) {
	for name, options := range everyOverflow {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				schedule := rapid.SliceOfN(rapid.Custom(drawResyncStep), 1, 40).Draw(rt, "schedule")
				if fault := playResyncs(t, options, schedule); fault != nil {
					rt.Fatal(fault)
				}
			})
		})
	}
}

// TestUpdateThatWasMissedIsInTheNextResync: the second handler has the resync of second 2 to hear, takes no part at second 3, so
// that an update without news passes it by, and is due again at second 4.
func TestUpdateThatWasMissedIsInTheNextResync(t *testing.T) {
	for name, options := range everyOverflow {
		t.Run(name, func(t *testing.T) {
			schedule := []resyncStep{{"put", "a"}, {op: "tick"}, {op: "tick"}, {op: "tick"}, {"rewrite", "a"}, {op: "tick"}}
			assert.NoError(t, playResyncs(t, options, schedule))
		})
	}
}

type resyncStep struct{ op, name string }

func drawResyncStep(t *rapid.T) resyncStep {
	return resyncStep{
		op:   rapid.SampledFrom([]string{"put", "put", "rewrite", "delete", "tick", "tick", "tick", "call", "settle"}).Draw(t, "op"),
		name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
	}
}

// promise is that a handler hears of an object, in some version or a later one, in a call after the first so many.
type promise struct {
	handler *tollHandler
	name    string
	version int
	after   int
}

// tollHandler makes a call when it gets a token, and notes what each was about.
type tollHandler struct {
	tokens chan struct{}
	mu     sync.Mutex
	begun  []promise // only name and version
}

func (h *tollHandler) hear(obj any) {
	p := obj.(*corev1.Pod)
	version, _ := strconv.Atoi(p.Labels["v"])
	h.mu.Lock()
	h.begun = append(h.begun, promise{name: p.Name, version: version})
	h.mu.Unlock()
	<-h.tokens
}

func (h *tollHandler) OnAdd(obj any, _ bool)   { h.hear(obj) }
func (h *tollHandler) OnUpdate(_, current any) { h.hear(current) }
func (h *tollHandler) OnDelete(obj any)        { h.hear(obj) }

func (h *tollHandler) calls() []promise {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun[:len(h.begun):len(h.begun)]
}

// resyncModel is a store that is too simple to be wrong, before a processor with a handler that is due at each tick, and one
// at every other.
type resyncModel struct {
	processor *sharedProcessor
	listeners []*processorListener
	handlers  []*tollHandler
	objects   map[string]*corev1.Pod
	version   int
	promises  []promise
	rewritten bool
	fault     error
}

func playResyncs(t *testing.T, options listenerOptions, schedule []resyncStep) (fault error) {
	synctest.Test(t, func(t *testing.T) {
		m := &resyncModel{processor: newSharedProcessor(neverSynced{}, clock.RealClock{}), objects: map[string]*corev1.Pod{}}
		for _, period := range []time.Duration{time.Second, 2 * time.Second} {
			handler := &tollHandler{tokens: make(chan struct{})}
			options.resync, options.check = period, period
			listener := newTestListener(t, m.processor, handler, options)
			m.processor.add(listener, givenSnapshot(nil))
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
		m.processor.stop()
	})
	return fault
}

func (m *resyncModel) play(step resyncStep) {
	old := m.objects[step.name]
	switch step.op {
	case "put", "rewrite":
		m.version++
		current := pod(step.name, fmt.Sprint(m.version))
		if m.objects[step.name] = current; old == nil {
			m.processor.distribute([]change{{kind: changeAdd, key: "ns/" + step.name, new: current}})
			return
		}
		m.rewritten = m.rewritten || step.op == "rewrite"
		m.processor.distribute([]change{{kind: changeUpdate, key: "ns/" + step.name, old: old, new: current, resync: step.op == "rewrite"}})
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

// delete ends the promises about the object.
func (m *resyncModel) delete(name string, old *corev1.Pod) {
	delete(m.objects, name)
	m.processor.distribute([]change{{kind: changeDelete, key: "ns/" + name, old: old}})
	var left []promise
	for _, p := range m.promises {
		if p.name != name {
			left = append(left, p)
		}
	}
	m.promises = left
}

// tick lets a second pass and resyncs who is due. Calls that begin at once belong to what was before.
func (m *resyncModel) tick() {
	synctest.Wait()
	time.Sleep(time.Second)
	if !m.processor.shouldResync() {
		m.fault = errors.Join(m.fault, errors.New("nobody is due"))
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
		for name, obj := range maps.All(m.objects) {
			version, _ := strconv.Atoi(obj.Labels["v"])
			m.promises = append(m.promises, promise{handler, name, version, len(handler.calls())})
		}
	}
	if len(all) > 0 {
		m.processor.distribute([]change{{kind: changeUpdate, many: givenSnapshot(all), resync: true}})
	}
}

// checkOutstanding: apart from updates that are no news, of which a handler may have missed some, one resync is outstanding.
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
	inProcessorBubble(t, func(t *testing.T, p *sharedProcessor) {
		due, other := &journal{}, &journal{}
		listener := newTestListener(t, p, due, listenerOptions{resync: time.Second, check: time.Second})
		p.add(listener, givenSnapshot(nil))
		p.add(newTestListener(t, p, other), givenSnapshot(nil))
		bulk := func() []change {
			return []change{{kind: changeUpdate, many: givenSnapshot([]any{pod("a", "1"), pod("b", "1")}), resync: true}}
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
		p.add(newTestListener(t, p, late), givenSnapshot(nil))
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
		p.add(listener, givenSnapshot(nil))
		distributeUpdate(p)
		time.Sleep(time.Minute)
		require.True(t, p.shouldResync())
		p.distribute([]change{{kind: changeUpdate, many: givenSnapshot([]any{pod("b", "1")}), resync: true}})
		require.False(t, p.shouldResync(), "the handler still has the former one to hear")
		p.distribute([]change{{kind: changeUpdate, many: givenSnapshot([]any{pod("c", "1")}), resync: true}})
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"update a1 a2", "update b1 b1"}, seen.take())
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
