// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// openPipeline returns a pipeline over the store that tells nobody, and whose queue hands nothing
// on by itself.
func openPipeline(s *keyedStore, options queueOptions) *pipeline {
	p := newPipeline(s, &processFailures{}, func([]event.Change) {})
	options.logger = klog.Background()
	p.open(options)
	return p
}

// PipelineQueue has the methods of a Queue for a pipeline, as far as they put something.
type PipelineQueue struct {
	*queue.Queue
	pipeline *pipeline
}

func (q *PipelineQueue) core() *queue.Queue { return q.Queue }

func (q *PipelineQueue) Add(obj any) error { return q.Put(Added, obj) }

func (q *PipelineQueue) Update(obj any) error { return q.Put(Updated, obj) }

func (q *PipelineQueue) Delete(obj any) error { return q.Put(Deleted, obj) }

func (q *PipelineQueue) Replace(list []any, version string) error {
	next := q.pipeline.Stage(len(list), false)
	for _, obj := range list {
		if err := next.Put(obj); err != nil {
			return err
		}
	}
	return next.Publish(version)
}

// TestReflectorServesOthersWhileItIsHeldBack: neither a handler with OverflowBlock nor a full queue
// keeps the reflector from its resyncs, its watchdog and the end of its context.
func TestReflectorServesOthersWhileItIsHeldBack(t *testing.T) {
	for name, hold := range map[string]struct {
		options  []Option
		delivery Delivery
	}{
		"a handler with OverflowBlock": {delivery: Delivery{Overflow: OverflowBlock, Max: 1}},
		"a full queue":                 {options: []Option{WithQueueLimit(1)}, delivery: Delivery{Overflow: OverflowBlock, Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := testkit.NewScriptedWatch(0)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "5"))), OnWatch: testkit.Watches(stream)}
				informer := InformerFunc(hold.options...)(server, &corev1.Pod{}, time.Minute, nil).(*sharedIndexInformer)
				release, resyncs := make(chan struct{}), 0
				_, err := informer.AddEventHandler(Deliver(ResourceEventHandlerFuncs{
					UpdateFunc: func(_, obj any) {
						if testkit.NameAt(obj) == "a@6" {
							<-release
						}
					},
				}, hold.delivery))
				require.NoError(t, err)
				_, err = informer.AddEventHandler(ResourceEventHandlerFuncs{
					UpdateFunc: func(old, obj any) {
						if old == obj {
							resyncs++
						}
					},
				})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					informer.RunWithContext(ctx)
				}()
				synctest.Wait()
				stream.Events <- testkit.Modified("a", "6")
				synctest.Wait()
				select {
				case stream.Events <- testkit.Modified("a", "7"):
					t.Error("the watch is read although the handler has no room")
				case <-time.After(time.Second):
				}
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				assert.GreaterOrEqual(t, resyncs, 2)
				cancel()
				time.AfterFunc(time.Minute, func() { close(release) })
				synctest.Wait()
				status, err := StatusOf(informer)
				require.NoError(t, err)
				assert.Equal(t, PhaseStopped, status.Phase, "the end of the context is noticed at once")
				<-ended
			})
		})
	}
}

// TestAddIndexersHoldsNoLockOfTheInformer: an index function that AddIndexers calls may ask the
// informer, and others need not wait for it.
func TestAddIndexersHoldsNoLockOfTheInformer(t *testing.T) {
	informer := newSharedIndexInformer(&testkit.Server{}, &corev1.Pod{}, informerConfig{})
	require.NoError(t, informer.store.Add(testkit.PodAt("a", "1")))
	asked := 0
	require.NoError(t, informer.AddIndexers(Indexers{"asks": func(any) ([]string, error) {
		asked++
		_, err := StatusOf(informer)
		require.NoError(t, err)
		assert.False(t, informer.IsStopped() || informer.HasStarted())
		_, err = informer.AddEventHandler(ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		return nil, nil
	}}))
	assert.Equal(t, 1, asked)
}

// TestStageModel: whatever comes in whatever order, each kind of stage ends with the last state of
// each key.
func TestStageModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{})
		ours := p.Stage(0, true)
		store := &testkit.StoreLog{}
		theirs := reflector.Foreign(store).Stage(0, true)
		want := map[string]string{}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			pod := testkit.PodAt(rapid.StringMatching("[a-f]").Draw(t, "name"), fmt.Sprint(i))
			if kind := rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Added, watch.Deleted}).Draw(t, "kind"); kind == watch.Deleted {
				delete(want, pod.Name)
				require.NoError(t, ours.Remove(pod))
				require.NoError(t, theirs.Remove(pod))
			} else {
				want[pod.Name] = testkit.NameAt(pod)
				require.NoError(t, ours.Put(pod))
				require.NoError(t, theirs.Put(pod))
			}
		}
		var names []string
		for _, name := range want {
			names = append(names, name)
		}
		slices.Sort(names)

		require.NoError(t, theirs.Publish("99"))
		got := strings.Fields(strings.TrimPrefix(store.Entries()[0], "replace 99:"))
		slices.Sort(got)
		assert.ElementsMatch(t, names, got)

		require.NoError(t, ours.Publish("99"))
		require.NoError(t, p.queue.PopAll(p.handle))
		stored := map[string]string{}
		for _, obj := range p.contents.Table.List() {
			stored[obj.(*corev1.Pod).Name] = testkit.NameAt(obj)
		}
		require.Equal(t, want, stored)
	})
}

// TestUniqueKeysInTheBatchesOfNewInformer: they are as large as they can be.
func TestUniqueKeysInTheBatchesOfNewInformer(t *testing.T) {
	p := openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{})
	q := p.queue
	for _, pod := range []*corev1.Pod{testkit.PodAt("a", "1"), testkit.PodAt("b", "2"), testkit.PodAt("c", "3"), testkit.PodAt("b", "4"), testkit.PodAt("c", "5")} {
		assert.NoError(t, q.Put(Updated, pod))
	}
	assert.NoError(t, q.Bookmark("6"))
	next := p.Stage(1, false)
	assert.NoError(t, next.Put(testkit.PodAt("d", "7")))
	assert.NoError(t, next.Publish("7"))
	assert.NoError(t, q.Put(Updated, testkit.PodAt("d", "8")))
	var sizes []int
	for range 5 {
		assert.NoError(t, q.PopUnique(func(batch []event.Record, _ bool) error {
			sizes = append(sizes, len(batch))
			return nil
		}))
	}
	assert.Equal(t, []int{3, 2, 1, 1, 1}, sizes)
}
