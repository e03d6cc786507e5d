// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// runController runs c in a bubble and stops it when the test is over.
func runController(t *testing.T, c cache.Controller) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.RunWithContext(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

func sourceInBubble(t *testing.T) *framework.FakeControllerSource {
	source := framework.NewFakeControllerSource()
	t.Cleanup(func() {
		synctest.Wait() // a source that is shut down holds up whoever asks it for ever
		source.Shutdown()
		synctest.Wait()
	})
	return source
}

func TestNewInformerWithoutAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceInBubble(t)
		source.Add(testkit.Pod("a", "1"))
		store, c := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &corev1.Pod{}})
		runController(t, c)
		assert.Len(t, store.List(), 1)
	})
}

// reported collects what utilruntime.HandleError is told until the test ends.
func reported(t *testing.T) *[]error {
	var errs []error
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		errs = append(errs, err)
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	return &errs
}

// TestCallbacksMayFeedTheWatch: Process, ProcessBatch and the handler of NewInformer run in a
// goroutine of their own, so they may wait until the reflector has read what they send.
func TestCallbacksMayFeedTheWatch(t *testing.T) {
	for name, build := range map[string]func(lw cache.ListerWatcher, heard func(obj any)) cache.Controller{
		"Process": func(lw cache.ListerWatcher, heard func(any)) cache.Controller {
			return feedingController(lw, heard, false)
		},
		"ProcessBatch": func(lw cache.ListerWatcher, heard func(any)) cache.Controller {
			return feedingController(lw, heard, true)
		},
		"handler": func(lw cache.ListerWatcher, heard func(any)) cache.Controller {
			_, c := cache.NewInformer(lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs{
				AddFunc: heard, UpdateFunc: func(_, obj any) { heard(obj) }, DeleteFunc: heard,
			})
			return c
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			stream := watch.NewFake()
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(&corev1.PodList{}), OnWatch: testkit.Watches(stream)}
			var heard []string
			c := build(server, func(obj any) {
				heard = append(heard, testkit.Describe(obj))
				switch len(heard) {
				case 1:
					stream.Modify(testkit.Pod("a", "2"))
					stream.Modify(testkit.Pod("a", "3"))
				case 3:
					stream.Delete(testkit.Pod("a", "3"))
				}
			})
			runController(t, c)
			stream.Add(testkit.Pod("a", "1"))
			synctest.Wait()
			assert.Equal(t, []string{"a1", "a2", "a3", "a3"}, heard, name)
		})
	}
}

// feedingController hands each object on, from Process or from both functions.
func feedingController(lw cache.ListerWatcher, heard func(obj any), batches bool) cache.Controller {
	hearAll := func(deltas []cache.Delta, _ bool) error {
		for _, d := range deltas {
			if _, isObject := d.Object.(*corev1.Pod); isObject {
				heard(d.Object)
			}
		}
		return nil
	}
	config := &cache.Config{
		Queue:         cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
		ListerWatcher: lw,
		ObjectType:    &corev1.Pod{},
		Process:       func(obj any, initial bool) error { return hearAll(obj.(cache.Deltas), initial) },
	}
	if batches {
		config.ProcessBatch = hearAll
	}
	return cache.New(config)
}
