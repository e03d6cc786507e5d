// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestNewInformerFollowsItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, seen := sourceInBubble(t), &testkit.Journal{}
		source.Add(testkit.Pod("a", "1"))
		byLabel := cache.Indexers{"v": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels["v"]}, nil }}
		indexer, c := cache.NewIndexerInformer(source, &corev1.Pod{}, 0, seen, byLabel)
		assert.Empty(t, c.LastSyncResourceVersion())
		runController(t, c)
		assert.True(t, c.HasSynced())
		assert.True(t, cache.IsDone(c.HasSyncedChecker()))
		source.Modify(testkit.Pod("a", "2"))
		source.Delete(testkit.Pod("a", "2"))
		source.Add(testkit.Pod("b", "3"))
		synctest.Wait()
		assert.Equal(t, []string{"initial a1", "update a1 a2", "delete a2", "add b3"}, seen.Take())
		assert.Equal(t, []string{"3"}, indexer.ListIndexFuncValues("v"))
		assert.Equal(t, "4", c.LastSyncResourceVersion())
	})
}

func TestNewInformerVariants(t *testing.T) {
	mark := func(obj any) (any, error) {
		marked := obj.(*corev1.Pod).DeepCopy()
		marked.Labels["v"] += "x"
		return marked, nil
	}
	for name, build := range map[string]func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller){
		"plain": func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewInformer(lw, &corev1.Pod{}, 0, h)
		},
		"transforming": func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewTransformingInformer(lw, &corev1.Pod{}, 0, h, mark)
		},
		"transforming, indexed": func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, h, cache.Indexers{}, mark)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			source, seen := sourceInBubble(t), &testkit.Journal{}
			store, c := build(source, seen)
			runController(t, c)
			source.Add(testkit.Pod("a", "1"))
			synctest.Wait()
			want := "a1"
			if name != "plain" {
				want = "a1x"
			}
			assert.Equal(t, []string{"add " + want}, seen.Take(), name)
			assert.Equal(t, want, testkit.Describe(store.List()[0]), name)
		})
	}
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

func TestNewInformerResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, seen := sourceInBubble(t), &testkit.Journal{}
		source.Add(testkit.Pod("a", "1"))
		_, c := cache.NewInformer(source, &corev1.Pod{}, time.Minute, seen)
		runController(t, c)
		seen.Take()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"update a1 a1", "update a1 a1"}, seen.Take())
	})
}

func TestPanicInTheOnlyHandlerLosesOneCall(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		source, seen := sourceInBubble(t), &testkit.Journal{}
		seen.On = func(line string) {
			if line == "add b1" {
				panic("cannot take it")
			}
		}
		_, c := cache.NewInformer(source, &corev1.Pod{}, 0, seen)
		runController(t, c)
		for _, name := range []string{"a", "b", "c"} {
			source.Add(testkit.Pod(name, "1"))
		}
		synctest.Wait()
		assert.Equal(t, []string{"add a1", "add b1", "add c1"}, seen.Take())
		assert.Equal(t, 1, panics())
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

func TestProcessErrorsAreReported(t *testing.T) {
	errs := reported(t)
	synctest.Test(t, func(t *testing.T) {
		source := sourceInBubble(t)
		failure := errors.New("cannot process")
		var processed []cache.DeltaType
		c := cache.New(&cache.Config{
			Queue:         cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{}),
			ListerWatcher: source,
			ObjectType:    &corev1.Pod{},
			Process: func(obj any, _ bool) error {
				for _, d := range obj.(cache.Deltas) {
					processed = append(processed, d.Type)
				}
				return failure
			},
		})
		runController(t, c)
		source.Add(testkit.Pod("a", "1"))
		source.Add(testkit.Pod("b", "1"))
		synctest.Wait()
		assert.Equal(t, []cache.DeltaType{cache.Added, cache.Added}, processed)
		require.Len(t, *errs, 2)
		assert.ErrorIs(t, (*errs)[0], failure)
	})
}

// TestProcessMayFeedTheSource: the process function has a goroutine of its own, so it may wait for
// what the reflector does.
func TestProcessMayFeedTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceInBubble(t)
		var seen []string
		handle := func(deltas cache.Deltas) {
			for _, d := range deltas {
				if d.Type == cache.Added || d.Type == cache.Updated {
					seen = append(seen, testkit.Describe(d.Object))
				}
				if d.Type == cache.Added {
					source.Modify(testkit.Pod("a", "2"))
					source.Delete(testkit.Pod("a", "2"))
				}
			}
		}
		c := cache.New(&cache.Config{
			Queue:         cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}),
			ListerWatcher: source,
			ObjectType:    &corev1.Pod{},
			Process:       func(obj any, _ bool) error { handle(obj.(cache.Deltas)); return nil },
			ProcessBatch:  func(deltas []cache.Delta, _ bool) error { handle(deltas); return nil },
		})
		runController(t, c)
		source.Add(testkit.Pod("a", "1"))
		synctest.Wait()
		assert.Equal(t, []string{"a1", "a2"}, seen)
	})
}

func TestPanickingProcessFunction(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		source := sourceInBubble(t)
		var calls atomic.Int64
		c := cache.New(&cache.Config{
			Queue:         cache.NewFIFO(cache.MetaNamespaceKeyFunc),
			ListerWatcher: source,
			ObjectType:    &corev1.Pod{},
			Process: func(any, bool) error {
				if calls.Add(1) == 1 {
					panic("cannot process")
				}
				return nil
			},
		})
		runController(t, c)
		source.Add(testkit.Pod("a", "1"))
		synctest.Wait()
		source.Add(testkit.Pod("b", "1"))
		time.Sleep(2 * time.Second)
		assert.EqualValues(t, 2, calls.Load(), "the loop goes on")
		assert.Equal(t, 1, panics())
	})
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
