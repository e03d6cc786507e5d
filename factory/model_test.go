// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/internal/testkit/draw"
)

var someResources = []schema.GroupVersionResource{podsResource, nodesResource, corev1.SchemeGroupVersion.WithResource("services")}

type modelStep struct {
	op       string
	resource schema.GroupVersionResource // of ForResource and Stop
	which    int                         // the start whose context ends, counted back from the last
}

func anyModelStep(t *draw.T) modelStep {
	return modelStep{
		op:       draw.Of(t, "for", "for", "start", "start", "end", "stop", "wait", "wait", "shutdown"),
		resource: draw.Of(t, someResources...),
		which:    draw.Int(t, 0, 2),
	}
}

type modeled struct {
	informer cache.SharedIndexInformer
	start    int // the number of the StartWithContext that has started it; 0: none
	stopped  bool
}

// model compares a ResourceFactory with its expected behavior. Informers of pods never sync, because
// the server refuses their requests.
type model struct {
	*assert.Assertions
	f        *factory.ResourceFactory
	members  map[schema.GroupVersionResource]*modeled
	starts   []context.CancelFunc // cancel the contexts of the calls of StartWithContext
	shutdown bool
}

func (m *model) play(step modelStep) {
	map[string]func(){
		"for": func() { m.ask(step.resource) }, "start": m.start, "end": func() { m.end(len(m.starts) - step.which) },
		"stop": func() { m.stop(step.resource) }, "wait": m.wait, "shutdown": m.shutDown,
	}[step.op]()
	m.check()
}

// ask gets an informer, which must stay the same until Stop.
func (m *model) ask(gvr schema.GroupVersionResource) {
	informer := m.f.ForResource(gvr).Informer()
	if known, ok := m.members[gvr]; ok {
		m.Same(known.informer, informer)
		return
	}
	m.members[gvr] = &modeled{informer: informer}
}

func (m *model) start() {
	ctx, cancel := context.WithCancel(context.Background())
	m.f.StartWithContext(ctx)
	m.starts = append(m.starts, cancel)
	for _, known := range m.members {
		if known.start == 0 && !m.shutdown {
			known.start = len(m.starts)
		}
	}
}

// end ends the context of the n-th start, if there is one.
func (m *model) end(n int) {
	if n < 1 {
		return
	}
	m.starts[n-1]()
	for _, known := range m.members {
		known.stopped = known.stopped || known.start == n
	}
}

func (m *model) stop(gvr schema.GroupVersionResource) {
	known, ok := m.members[gvr]
	m.Equal(ok, m.f.Stop(gvr))
	if ok {
		m.True(known.informer.IsStopped(), "at once")
		delete(m.members, gvr)
	}
}

// wait calls WaitForCacheSyncWithContext, with a context that has ended if the call would otherwise
// wait for pods.
func (m *model) wait() {
	synctest.Wait()
	want, complete, hopeful := map[schema.GroupVersionResource]bool{}, true, false
	for gvr, known := range m.members {
		if known.start == 0 {
			continue
		}
		want[gvr] = known.informer.HasSynced()
		m.True(want[gvr] == (gvr != podsResource) || known.stopped, "%v", gvr)
		complete = complete && want[gvr]
		hopeful = hopeful || !want[gvr] && !known.stopped
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if hopeful {
		cancel()
	}
	result := m.f.WaitForCacheSyncWithContext(ctx)
	got, err := result.Synced, result.Err
	m.Equal(want, got)
	m.Equal(complete, err == nil, "%v", err)
	m.Equal(hopeful, errors.Is(err, context.Canceled), "%v", err)
	m.NotErrorIs(err, context.DeadlineExceeded)
}

func (m *model) shutDown() {
	for n := range m.starts {
		m.end(n + 1)
	}
	m.f.Shutdown()
	m.shutdown = true
}

func (m *model) check() {
	synctest.Wait()
	for gvr, known := range m.members {
		started := known.informer.(interface{ HasStarted() bool }).HasStarted()
		m.Equal(known.start != 0, started, "%v", gvr)
		m.Equal(known.stopped, known.informer.IsStopped(), "%v", gvr)
	}
}

// TestResourceFactoryAgainstModel makes random calls.
func TestResourceFactoryAgainstModel(t *testing.T) { draw.Check(t, playResourceFactory) }

func playResourceFactory(d *draw.T) {
	steps := draw.Slice(d, 0, 20, func() modelStep { return anyModelStep(d) })
	synctest.Test(d.T, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		refusePods(&client.Fake)
		m := &model{assert.New(t), factory.Dynamic(client, 0), map[schema.GroupVersionResource]*modeled{}, nil, false}
		for _, step := range steps {
			m.play(step)
		}
		m.shutDown()
	})
}

// TestResourceFactoryConcurrently calls all methods concurrently, for the race detector, and for
// deadlocks.
func TestResourceFactoryConcurrently(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("ns", "a"))
	f := factory.Dynamic(client, 0)
	ctx, cancel := context.WithCancel(boundedContext(t))
	var callers sync.WaitGroup
	const rounds = 50
	for _, gvr := range someResources {
		callers.Go(func() {
			for range rounds {
				f.ForResource(gvr)
				f.StartWithContext(ctx)
				synced := f.WaitForCacheSyncWithContext(ctx).Synced // another goroutine may have stopped an informer
				assert.NotEmpty(t, slices.Collect(maps.Keys(synced)))
				assert.True(t, f.Stop(gvr))
			}
		})
	}
	callers.Wait()
	assert.NoError(t, ctx.Err())
	cancel()
	f.Shutdown()
}
