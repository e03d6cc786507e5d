// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/testkit"
)

// exactSource is a ListerWatcher over a history of pods: a watch gives each event after its version once, in order. (The
// source of client-go's testing package may repeat old events to a watch that begins while others are under way.) Its
// watches have slots for everything, so that it never waits.
type exactSource struct {
	slots int // of each watch beyond what it begins with

	mu      sync.Mutex
	history []watch.Event
	objects map[string]*corev1.Pod
	watches []*watch.FakeWatcher
	lists   int
}

func newExactSource() *exactSource {
	return &exactSource{slots: 1000, objects: map[string]*corev1.Pod{}}
}

func (*exactSource) IsWatchListSemanticsUnSupported() bool { return true }

func (s *exactSource) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(len(s.history))}}
	for _, p := range s.objects {
		list.Items = append(list.Items, *p.DeepCopy())
	}
	return list, nil
}

func (s *exactSource) Watch(options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	w := watch.NewFakeWithChanSize(len(s.history)-from+s.slots, false)
	for _, event := range s.history[from:] {
		w.Action(event.Type, event.Object.DeepCopyObject())
	}
	s.watches = append(s.watches, w)
	return w, nil
}

func (s *exactSource) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.List(options)
}

func (s *exactSource) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.Watch(options)
}

func (s *exactSource) happen(typ watch.EventType, p *corev1.Pod) {
	p.ResourceVersion = strconv.Itoa(len(s.history) + 1)
	s.history = append(s.history, watch.Event{Type: typ, Object: p})
	for _, w := range s.watches {
		w.Action(typ, p.DeepCopy())
	}
}

// put adds or changes a pod, whose version it sets.
func (s *exactSource) put(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	typ := watch.Added
	if s.objects[p.Name] != nil {
		typ = watch.Modified
	}
	s.objects[p.Name] = p
	s.happen(typ, p)
}

// remove deletes a pod, if there is one of that name.
func (s *exactSource) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.objects[name]; p != nil {
		delete(s.objects, name)
		s.happen(watch.Deleted, p.DeepCopy())
	}
}

// cut ends all watches with 410, which a list follows.
func (s *exactSource) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
	}
	s.watches = nil
}

// waiting is how many events the newest watch holds that nobody has read.
func (s *exactSource) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watches) == 0 {
		return 0
	}
	return len(s.watches[len(s.watches)-1].ResultChan())
}

// state returns what there is, as mirror.state does.
func (s *exactSource) state() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return testkit.StateOfPods(slices.Values(podsOf(s.objects)))
}

func podsOf(objects map[string]*corev1.Pod) (pods []*corev1.Pod) {
	for _, p := range objects {
		pods = append(pods, p)
	}
	return pods
}
