// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// a makes an object at a version, which was due some time ago.
func a(name string, version int, ago time.Duration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(name), ResourceVersion: fmt.Sprint(version),
		Annotations: map[string]string{blank.DueAnnotation: fmt.Sprint(time.Now().Add(-ago).UnixNano())},
	}}
}

func newTestHandler(g group) *handler {
	var p phases
	p.begin("start", 0)
	return newHandler(world.Pods, g, &p)
}

func TestWhatIsToldInOrderAddsUp(t *testing.T) {
	h := newTestHandler(prompt)
	h.OnAdd(a("x", 1, 0), true)
	h.OnAdd(a("y", 2, 0), true)
	h.OnAdd(a("z", 3, 0), false)
	x, y := a("x", 1, 0), a("y", 2, 0)
	h.OnUpdate(x, a("x", 4, 0))
	h.OnUpdate(y, y) // after a relist
	h.OnDelete(a("y", 5, 0))
	h.OnDelete(clientgo.DeletedFinalStateUnknown{Obj: a("z", 3, 0)})
	h.OnAdd(a("y", 6, 0), false) // anew
	state, changes := h.state()
	var want world.State
	want.Add("x", 4)
	want.Add("y", 6)
	assert.Equal(t, want, state)
	assert.Equal(t, uint64(5), changes)
	assert.Equal(t, uint64(1), h.mu.relisted)
	assert.Zero(t, h.mu.faulty, "%v", h.mu.faults)
}

// TestFaultsAreNoticed: each of these is one.
func TestFaultsAreNoticed(t *testing.T) {
	for name, wrong := range map[string]func(*handler){
		"added twice":              func(h *handler) { h.OnAdd(a("x", 4, 0), false) },
		"an older version":         func(h *handler) { h.OnUpdate(a("x", 3, 0), a("x", 2, 0)) },
		"the same one, changed":    func(h *handler) { h.OnUpdate(a("x", 3, 0), a("x", 3, time.Second)) },
		"one was left out":         func(h *handler) { h.OnUpdate(a("x", 4, 0), a("x", 5, 0)) },
		"told again":               func(h *handler) { h.OnUpdate(a("x", 2, 0), a("x", 3, 0)) },
		"relisted, and not known":  func(h *handler) { y := a("y", 1, 0); h.OnUpdate(y, y) },
		"another object":           func(h *handler) { h.OnUpdate(a("x", 3, 0), a("y", 5, 0)) },
		"updated, and not known":   func(h *handler) { h.OnUpdate(a("y", 3, 0), a("y", 5, 0)) },
		"deleted, and not known":   func(h *handler) { h.OnDelete(a("y", 3, 0)) },
		"deleted at the old one":   func(h *handler) { h.OnDelete(a("x", 3, 0)) },
		"missed at another one":    func(h *handler) { h.OnDelete(clientgo.DeletedFinalStateUnknown{Obj: a("x", 2, 0)}) },
		"no object":                func(h *handler) { h.OnAdd("x", false) },
		"no version":               func(h *handler) { h.OnAdd(&corev1.Pod{}, false) },
		"no object, changed":       func(h *handler) { h.OnUpdate("x", "x") },
		"no object, deleted":       func(h *handler) { h.OnDelete("x") },
		"an object without a time": func(h *handler) { h.OnAdd(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}, false) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHandler(prompt)
			h.OnAdd(a("x", 3, 0), true)
			require.Zero(t, h.mu.faulty)
			wrong(h)
			assert.Equal(t, 1, h.mu.faulty)
			require.Len(t, h.mu.faults, 1)
		})
	}
}

// TestLatenciesAreFromWhenAChangeWasDue, in the phase of that time.
func TestLatenciesAreFromWhenAChangeWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p phases
		p.begin("start", 0)
		quick, tired := newHandler(world.Pods, prompt, &p), newHandler(world.Pods, slow, &p)
		m := &manager{}
		for _, of := range world.All() {
			m.informers[of] = &informer{of: of}
		}
		m.informers[world.Pods].handlers = []*handler{quick, tired}
		time.Sleep(time.Minute)
		p.begin("next", time.Now().UnixNano())
		m.phases.all.Store(p.all.Load())
		time.Sleep(time.Second)
		for _, h := range []*handler{quick, tired} {
			h.OnAdd(a("x", 1, 0), true)
			h.OnAdd(a("y", 2, 30*time.Millisecond), false)
			h.OnAdd(a("z", 3, 200*time.Millisecond), false)
			h.OnAdd(a("old", 4, 2*time.Second), false) // of the phase before
		}
		assert.NotZero(t, m.status(false).LastLate)
		r := m.report()
		require.Len(t, r.Phases, 2)
		assert.Equal(t, "next", r.Phases[1].Name)
		latency := r.Phases[1].Prompt
		assert.Equal(t, int64(2), latency.Events)
		assert.InEpsilon(t, 30_000, latency.P50, 0.01)
		assert.InEpsilon(t, 200_000, latency.Max, 0.01)
		assert.InDelta(t, 0.5, latency.Under(), 1e-9)
		assert.Zero(t, latency.Negative)
		assert.Equal(t, latency.P999, r.Phases[1].Of["pods"].P999)
		assert.Zero(t, r.Phases[1].Of["nodes"].Events)
		assert.InEpsilon(t, 30_000+slowness.Microseconds(), r.Phases[1].Slow.P50, 0.02)
		assert.InEpsilon(t, 2_000_000, r.Phases[0].Prompt.Max, 0.01)
		assert.Zero(t, r.Faulty)
	})
}

// TestTheHeapIsSampledAtRest: what nobody refers to does not count, also if no collection has been
// since, and what was allocated lately does.
func TestTheHeapIsSampledAtRest(t *testing.T) {
	const size = 64 << 20
	m, err := newManager(Config{Side: "client-go", URL: "https://127.0.0.1:1", MediaType: "application/json"})
	require.NoError(t, err)
	before := m.status(true).Live
	held := make([]byte, size)
	assert.InDelta(t, before+size, m.status(true).Live, size/4)
	runtime.KeepAlive(held)
	assert.InDelta(t, before, m.status(true).Live, size/4)
	assert.Zero(t, m.status(false).Live, "no collection is forced in what is measured")
}

// TestTablesFill where objects share parts, until both are full.
func TestTablesFill(t *testing.T) {
	const all = 16 << 20
	for _, c := range []struct {
		shares       bool
		texts, parts int64
		want         bool
	}{
		{false, 0, 0, false}, {true, 0, 0, true}, {true, all, all / 2, true}, {true, all / 2, all, true}, {true, all - 32, all - 1000, false},
	} {
		d := kinformer.DecodingStatus{Shares: c.shares}
		d.Texts.Bytes, d.Texts.Limit, d.Parts.Bytes, d.Parts.Limit = c.texts, all, c.parts, all
		assert.Equal(t, c.want, filling(d), "%+v", c)
	}
}

func TestLongAndNegativeLatenciesCount(t *testing.T) {
	l := newLatencies()
	l.record(-5)
	l.record(int64(1e6 * time.Second))
	s := l.summary(true)
	assert.Equal(t, int64(2), s.Events)
	assert.Equal(t, int64(1), s.Negative)
	assert.Equal(t, int64(1), s.Over)
	assert.NotEmpty(t, s.Curve)
	assert.Zero(t, Latency{}.Under())
}

func TestSides(t *testing.T) {
	for _, name := range Sides() {
		assert.NotEqual(t, name == "client-go", Title(name) != name)
		m, err := newManager(Config{Side: name, URL: "https://127.0.0.1:1", MediaType: "application/json"})
		require.NoError(t, err)
		handlers := 1 // that joins late
		for _, i := range m.informers {
			handlers += len(i.handlers)
		}
		assert.Equal(t, 12, handlers)
		assert.Len(t, m.informers[world.Pods].GetIndexer().GetIndexers(), 3)
	}
	_, err := newManager(Config{Side: "none"})
	assert.Error(t, err)
	assert.Equal(t, "none", Title("none"))
}

// TestDifferencesAreFound, of a store and of each handler.
func TestDifferencesAreFound(t *testing.T) {
	m, err := newManager(Config{Side: "client-go", URL: "https://127.0.0.1:1", MediaType: "application/json"})
	require.NoError(t, err)
	var expected [world.Resources]Expected
	assert.Empty(t, m.differs(expected))
	expected[world.Pods].State.Add("x", 1)
	assert.Len(t, m.differs(expected), 3, "the store and two handlers")
	require.NoError(t, m.informers[world.Pods].GetIndexer().Add(a("x", 1, 0)))
	assert.Len(t, m.differs(expected), 2)
	for _, h := range m.informers[world.Pods].handlers {
		h.OnAdd(a("x", 1, 0), true)
	}
	assert.Empty(t, m.differs(expected))
	expected[world.Pods].Changes = 1
	assert.Empty(t, m.differs(expected), "as long as their number is not known")
	expected[world.Pods].Exact = true
	assert.Len(t, m.differs(expected), 2)
	require.NoError(t, m.informers[world.Nodes].GetIndexer().Add(&corev1.Node{}))
	assert.Len(t, m.differs(expected), 3, "what is no object of the server")
}
