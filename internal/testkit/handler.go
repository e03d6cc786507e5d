// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// noted has the values that goroutines add.
type noted[V any] struct {
	mu     sync.Mutex
	values []V
}

func (n *noted[V]) add(value V) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.values = append(n.values, value)
}

// list returns a copy of the values.
func (n *noted[V]) list() []V {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.values)
}

// take removes and returns the values.
func (n *noted[V]) take() []V {
	n.mu.Lock()
	defer n.mu.Unlock()
	values := n.values
	n.values = nil
	return values
}

// Journal is a handler that records its calls, one line each.
type Journal struct {
	lines noted[string]
	On    func(line string) // called in each call; may be nil
}

func (j *Journal) Note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	j.lines.add(line)
	if j.On != nil {
		j.On(line)
	}
}

// Take returns the lines since the last Take.
func (j *Journal) Take() []string { return j.lines.take() }

func Describe(obj any) string {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		return fmt.Sprintf("unknown(%s)", Describe(tombstone.Obj))
	}
	pod := obj.(*corev1.Pod)
	return pod.Name + pod.Labels["v"]
}

func (j *Journal) OnAdd(obj any, initial bool) {
	if initial {
		j.Note("initial %s", Describe(obj))
	} else {
		j.Note("add %s", Describe(obj))
	}
}

func (j *Journal) OnUpdate(old, new any) { j.Note("update %s %s", Describe(old), Describe(new)) }

func (j *Journal) OnDelete(obj any) { j.Note("delete %s", Describe(obj)) }

// Pod returns a pod with its version v in a label.
func Pod(name, v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"v": v}}}
}

func PodOf(name, version, uid string) *corev1.Pod {
	p := Pod(name, version)
	p.UID = types.UID(uid)
	return p
}

// QuietPanics makes panics of handlers be counted instead of ending the process, until the test
// ends. The returned function returns their number.
func QuietPanics(t *testing.T) func() int {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	var count atomic.Int64 // handlers may panic concurrently
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(handlers[:0:0], func(context.Context, any) { count.Add(1) })
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	return func() int { return int(count.Load()) }
}

// Mirror is a handler that rebuilds the store from its calls, and records each call that
// contradicts earlier ones: an Update or a Delete of an unknown object, an Add of a known one, an
// Update whose old object is not the last one, and overlapping calls about one object.
type Mirror struct {
	Before  func(line string) // called first in each call, without the lock; may be nil
	SameUID bool              // an Update must not change the UID

	mu       sync.Mutex
	changed  sync.Cond // uses mu; signaled at the end of each call
	Objects  map[string]*corev1.Pod
	calling  map[string]bool
	Problems []string
	calls    int
}

func NewMirror() *Mirror {
	m := &Mirror{Objects: map[string]*corev1.Pod{}, calling: map[string]bool{}}
	m.changed.L = &m.mu
	return m
}

func (m *Mirror) enter(line string, p *corev1.Pod) (leave func()) {
	m.mu.Lock()
	if m.calling[p.Name] {
		m.problem("%s overlaps with another call", line)
	}
	m.calling[p.Name] = true
	m.calls++
	m.mu.Unlock()
	if m.Before != nil {
		m.Before(line)
	}
	m.mu.Lock()
	return func() {
		delete(m.calling, p.Name)
		m.changed.Broadcast()
		m.mu.Unlock()
	}
}

func (m *Mirror) problem(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}

func (m *Mirror) OnAdd(obj any, _ bool) {
	p := obj.(*corev1.Pod)
	defer m.enter("add "+Describe(p), p)()
	if known := m.Objects[p.Name]; known != nil {
		m.problem("add of %s over %s", Describe(p), Describe(known))
	}
	m.Objects[p.Name] = p
}

func (m *Mirror) OnUpdate(old, current any) {
	from, to := old.(*corev1.Pod), current.(*corev1.Pod)
	defer m.enter("update "+Describe(from)+" "+Describe(to), to)()
	switch known := m.Objects[to.Name]; {
	case known == nil:
		m.problem("update of unknown %s", Describe(to))
	case Describe(known) != Describe(from) || known.UID != from.UID:
		m.problem("update from %s, but %s was last", Describe(from), Describe(known))
	case m.SameUID && from.UID != to.UID && from.UID != "" && to.UID != "":
		m.problem("update of %s changes the UID", Describe(to))
	}
	m.Objects[to.Name] = to
}

func (m *Mirror) OnDelete(obj any) {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	p := obj.(*corev1.Pod)
	defer m.enter("delete "+Describe(p), p)()
	if m.Objects[p.Name] == nil {
		m.problem("delete of unknown %s", Describe(p))
	}
	delete(m.Objects, p.Name)
}

// State returns the known objects as text, the problems and the number of calls so far.
func (m *Mirror) State() (objects map[string]string, problems []string, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return StateOfPods(maps.Values(m.Objects)), m.Problems, m.calls
}

// Await blocks until the known objects, as text, equal want, and returns true, or returns false
// when ctx is done.
func (m *Mirror) Await(ctx context.Context, want string) bool {
	defer context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})()
	m.mu.Lock()
	defer m.mu.Unlock()
	for fmt.Sprint(StateOfPods(maps.Values(m.Objects))) != want && ctx.Err() == nil {
		m.changed.Wait()
	}
	return ctx.Err() == nil
}

func StateOfPods[T any](pods func(yield func(T) bool)) map[string]string {
	state := map[string]string{}
	for obj := range pods {
		p := any(obj).(*corev1.Pod)
		state[p.Name] = Describe(p) + " " + string(p.UID)
	}
	return state
}
