// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// mirror is a handler that rebuilds the store from what it hears, and notes whatever does not fit what it heard before:
// an Update or a Delete of an object that it does not know, an Add of one that it knows, an Update whose old object is not
// the one that it heard of last, calls about one object that overlap.
type mirror struct {
	before  func(line string) // called first in each call, outside the lock; may be nil
	sameUID bool              // an Update must not change the UID

	mu       sync.Mutex
	changed  sync.Cond // on mu, at the end of each call
	objects  map[string]*corev1.Pod
	calling  map[string]bool
	problems []string
	calls    int
}

func newMirror() *mirror {
	m := &mirror{objects: map[string]*corev1.Pod{}, calling: map[string]bool{}}
	m.changed.L = &m.mu
	return m
}

func (m *mirror) enter(line string, p *corev1.Pod) (leave func()) {
	m.mu.Lock()
	if m.calling[p.Name] {
		m.problem("%s overlaps with another call", line)
	}
	m.calling[p.Name] = true
	m.calls++
	m.mu.Unlock()
	if m.before != nil {
		m.before(line)
	}
	m.mu.Lock()
	return func() {
		delete(m.calling, p.Name)
		m.changed.Broadcast()
		m.mu.Unlock()
	}
}

func (m *mirror) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *mirror) OnAdd(obj any, _ bool) {
	p := obj.(*corev1.Pod)
	defer m.enter("add "+describe(p), p)()
	if known := m.objects[p.Name]; known != nil {
		m.problem("add of %s over %s", describe(p), describe(known))
	}
	m.objects[p.Name] = p
}

func (m *mirror) OnUpdate(old, current any) {
	from, to := old.(*corev1.Pod), current.(*corev1.Pod)
	defer m.enter("update "+describe(from)+" "+describe(to), to)()
	switch known := m.objects[to.Name]; {
	case known == nil:
		m.problem("update of unknown %s", describe(to))
	case describe(known) != describe(from) || known.UID != from.UID:
		m.problem("update from %s, but %s was last", describe(from), describe(known))
	case m.sameUID && from.UID != to.UID && from.UID != "" && to.UID != "":
		m.problem("update of %s changes the UID", describe(to))
	}
	m.objects[to.Name] = to
}

func (m *mirror) OnDelete(obj any) {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	p := obj.(*corev1.Pod)
	defer m.enter("delete "+describe(p), p)()
	if m.objects[p.Name] == nil {
		m.problem("delete of unknown %s", describe(p))
	}
	delete(m.objects, p.Name)
}

// state returns the objects that the handler knows, as text, and what was wrong so far.
func (m *mirror) state() (known map[string]string, problems []string, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return stateOfPods(maps.Values(m.objects)), m.problems, m.calls
}

// await returns whether the handler got to know exactly the wanted state before ctx ended.
func (m *mirror) await(ctx context.Context, want string) bool {
	defer context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})()
	m.mu.Lock()
	defer m.mu.Unlock()
	for fmt.Sprint(stateOfPods(maps.Values(m.objects))) != want && ctx.Err() == nil {
		m.changed.Wait()
	}
	return ctx.Err() == nil
}

func stateOfPods[T any](pods func(yield func(T) bool)) map[string]string {
	state := map[string]string{}
	for obj := range pods {
		p := any(obj).(*corev1.Pod)
		state[p.Name] = describe(p) + " " + string(p.UID)
	}
	return state
}
