// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// lookingHandler compares what it is told of an object with what the store has at that moment.
type lookingHandler struct {
	t     *testing.T
	store cache.Store
	calls int
}

func (h *lookingHandler) OnAdd(obj any, _ bool) { h.isStored(obj) }

func (h *lookingHandler) OnUpdate(_, obj any) { h.isStored(obj) }

func (h *lookingHandler) isStored(obj any) {
	h.calls++
	stored, exists, _ := h.store.Get(obj)
	if assert.True(h.t, exists, "%s is gone", testkit.NameAt(obj)) {
		assert.Same(h.t, obj, stored, "%s is stored for %s", testkit.NameAt(stored), testkit.NameAt(obj))
	}
}

func (h *lookingHandler) OnDelete(obj any) {
	h.calls++
	_, exists, _ := h.store.Get(obj)
	assert.False(h.t, exists)
}

// randomServer lists some of a few pods, and then sends so many events of them that they reach the
// store in one batch.
type randomServer struct {
	*testkit.Server
	rng     *rand.Rand
	version int
	live    map[string]*corev1.Pod
}

func newRandomServer(seed uint64) *randomServer {
	s := &randomServer{rng: rand.New(rand.NewPCG(seed, 0)), live: map[string]*corev1.Pod{}}
	s.Server = &testkit.Server{NoStream: true, OnList: s.listed, OnWatch: s.watched}
	return s
}

func (s *randomServer) next(name string) *corev1.Pod {
	s.version++
	return testkit.PodAt(name, fmt.Sprint(s.version))
}

func (s *randomServer) event() watch.Event {
	name := string(rune('a' + s.rng.IntN(4)))
	obj, kind := s.next(name), watch.Modified
	switch {
	case s.rng.IntN(5) == 0:
		return testkit.Bookmark(obj.ResourceVersion)
	case s.live[name] == nil:
		s.live[name], kind = obj, watch.Added
	case s.rng.IntN(3) == 0:
		s.live[name], kind = nil, watch.Deleted
	default:
		s.live[name] = obj
	}
	return watch.Event{Type: kind, Object: obj}
}

// listed is the state after some events that nobody heard of.
func (s *randomServer) listed(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	for range s.rng.IntN(5) {
		s.event()
	}
	list := testkit.PodList(fmt.Sprint(s.version))
	for _, pod := range s.live {
		if pod != nil {
			list.Items = append(list.Items, *pod)
		}
	}
	return list, nil
}

// watched sends events, and then twice that the watch is too old.
func (s *randomServer) watched(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	var events []watch.Event
	for range s.rng.IntN(20) {
		events = append(events, s.event())
	}
	if n < 3 {
		events = append(events, testkit.FailedWith(testkit.ErrExpired))
	}
	return testkit.Sent(events...).Open(), nil
}

// TestStoreOfNewInformerIsWhereTheHandlerIs: whatever waits in the queue, in a call for an object
// the store has just what the call tells.
func TestStoreOfNewInformerIsWhereTheHandlerIs(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			server, handler := newRandomServer(seed), &lookingHandler{t: t}
			store, c := cache.NewInformer(server, &corev1.Pod{}, 7*time.Second, handler)
			handler.store = store
			runController(t, c)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.NotZero(t, handler.calls)
			if t.Failed() {
				t.Log("seed", seed)
			}
		})
	}
}
