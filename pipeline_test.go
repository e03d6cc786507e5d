// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/testkit"
)

// openPipeline returns a pipeline over the store that tells nobody, and whose queue hands nothing on by itself.
func openPipeline(s *keyedStore, options queueOptions) *pipeline {
	p := newPipeline(s, &processFailures{}, func([]event.Change) {})
	options.logger = klog.Background()
	p.open(options)
	return p
}

// coalescedQueue is the queue of an informer WithCoalescedQueue.
func coalescedQueue() *queue.Queue {
	return openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{queueConfig: queueConfig{coalesced: true}}).queue
}

// pipelineQueue has the methods of a Queue for a pipeline, as far as they put something.
type pipelineQueue struct {
	*queue.Queue
	pipeline *pipeline
}

func queueOf(p *pipeline) pipelineQueue { return pipelineQueue{p.queue, p} }

func (q pipelineQueue) core() *queue.Queue { return q.Queue }

func (q pipelineQueue) Add(obj any) error { return q.Put(Added, obj) }

func (q pipelineQueue) Update(obj any) error { return q.Put(Updated, obj) }

func (q pipelineQueue) Delete(obj any) error { return q.Put(Deleted, obj) }

func (q pipelineQueue) Replace(list []any, version string) error {
	next := q.pipeline.Stage(len(list), false)
	for _, obj := range list {
		if err := next.Put(obj); err != nil {
			return err
		}
	}
	return next.Publish(version)
}

// TestReflectorServesOthersWhileItIsHeldBack: neither a handler with OverflowBlock nor a full queue keeps the reflector from its
// resyncs, its watchdog and the end of its context.
func TestReflectorServesOthersWhileItIsHeldBack(t *testing.T) {
	for name, hold := range map[string]struct {
		options  []Option
		delivery Delivery
	}{
		"a handler with OverflowBlock": {delivery: Delivery{Overflow: OverflowBlock, Max: 1}},
		"a full queue":                 {options: []Option{WithQueueLimit(1), WithCoalescedQueue()}, delivery: Delivery{Overflow: OverflowBlock, Max: 1}},
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

// TestAddIndexersHoldsNoLockOfTheInformer: an index function that AddIndexers calls may ask the informer, and others need not
// wait for it.
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
