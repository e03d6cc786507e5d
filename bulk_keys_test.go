// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// remnant is what is left of an object after a transform that keeps no metadata.
type remnant struct{ name, version string }

func strip(obj any) (any, error) {
	pod, isPod := obj.(interface{ GetName() string })
	if !isPod {
		return obj, nil
	}
	version, _ := event.VersionOf(obj)
	return remnant{pod.GetName(), version}, nil
}

// rename is a transform after which the objects have another name than the store's key, all the
// same one.
func rename(obj any) (any, error) {
	object := obj.(interface {
		GetName() string
		SetName(string)
		SetLabels(map[string]string)
	})
	object.SetLabels(map[string]string{"name": object.GetName()})
	object.SetName("one")
	return obj, nil
}

// remnantHandler keeps what it hears of each object. Its calls wait for gate.
type remnantHandler struct {
	t    *testing.T
	gate chan struct{}

	mu struct {
		sync.Mutex
		inside map[string]bool
		heard  map[string][]string
	}
}

func newRemnantHandler(t *testing.T) *remnantHandler {
	h := &remnantHandler{t: t, gate: make(chan struct{})}
	h.mu.inside, h.mu.heard = map[string]bool{}, map[string][]string{}
	return h
}

func (h *remnantHandler) OnAdd(obj any, _ bool) { h.hear("add", obj) }

func (h *remnantHandler) OnUpdate(_, obj any) { h.hear("update", obj) }

func (h *remnantHandler) OnDelete(obj any) { h.hear("delete", obj) }

func (h *remnantHandler) hear(kind string, obj any) {
	name, version := identityOf(obj)
	h.mu.Lock()
	assert.False(h.t, h.mu.inside[name], "two calls about %s at once", name)
	h.mu.inside[name] = true
	h.mu.heard[name] = append(h.mu.heard[name], kind+" "+version)
	h.mu.Unlock()
	<-h.gate
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.inside[name] = false
}

func identityOf(obj any) (name, version string) {
	if tombstone, isTombstone := obj.(cache.DeletedFinalStateUnknown); isTombstone {
		obj = tombstone.Obj
	}
	if b, isRemnant := obj.(remnant); isRemnant {
		return b.name, b.version
	}
	version, _ = event.VersionOf(obj)
	return obj.(interface{ GetLabels() map[string]string }).GetLabels()["name"], version
}

// manyPods is how many objects a list of these tests has: more than consumers.
const manyPods = 10

func listOfMany(version string) *testkit.Server {
	list := testkit.PodList(version)
	for i := range manyPods {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), version))
	}
	fresh := func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return list.DeepCopy(), nil }
	return &testkit.Server{NoStream: true, OnList: fresh}
}

// TestBulkRecordsKeepObjectsApart: a list, a resync, a relist and what a late handler hears first
// are told object by object, in order with the single changes of the object, although the objects
// cannot tell the store's keys.
func TestBulkRecordsKeepObjectsApart(t *testing.T) {
	for what, transform := range map[string]cache.TransformFunc{"stripped": strip, "renamed": rename} {
		for name, delivery := range map[string]cache.Delivery{
			"coalesced": {Overflow: cache.OverflowCoalesce},
			"parallel":  {Parallel: 4},
			"both":      {Overflow: cache.OverflowCoalesce, Parallel: 4},
		} {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, late %v", what, name, late), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tellOfMany(t, transform, delivery, late) })
				})
			}
		}
	}
}

func tellOfMany(t *testing.T, transform cache.TransformFunc, delivery cache.Delivery, late bool) {
	stream, server, handler := testkit.NewScriptedWatch(2*manyPods+1), listOfMany("1"), newRemnantHandler(t)
	server.OnWatch = testkit.Watches(stream)
	add := func(s cache.SharedIndexInformer) {
		_, err := s.AddEventHandlerWithResyncPeriod(cache.Deliver(handler, delivery), time.Minute)
		require.NoError(t, err)
	}
	s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) {
		require.NoError(t, s.SetTransform(transform))
		if !late {
			add(s)
		}
	})
	defer stop()
	if late {
		add(s)
		synctest.Wait()
	}
	for i := range manyPods {
		stream.Events <- testkit.Modified(fmt.Sprint("p", i), "2")
	}
	stream.Events <- testkit.FailedWith(testkit.ErrExpired) // and a list that says "1" again
	time.Sleep(2 * time.Minute)                             // and a resync
	close(handler.gate)
	synctest.Wait()

	require.Len(t, handler.mu.heard, manyPods)
	for name, calls := range handler.mu.heard {
		want := []string{"add 1", "update 2", "update 1", "update 1"} // and further resyncs
		switch {
		case delivery.Overflow != cache.OverflowCoalesce:
			calls = calls[:min(len(calls), len(want))]
		case len(calls) > 1: // the first call ran while the others were merged
			want = []string{"add 1", "update 1"}
		default:
			want = want[:1]
		}
		assert.Equal(t, want, calls, name)
	}
}
