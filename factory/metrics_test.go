// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// askedFor is the provider of the whole process: the first one that is set stays.
var askedFor recorder

// recorder is a provider that counts what is published, by name and resource, and by metric.
type recorder struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

// published returns how often each metric of "name resource" was set since the last call.
func (r *recorder) published(informer string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts[informer]
	delete(r.counts, informer)
	return counts
}

func (r *recorder) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return metric{r, id, "depth"}
}

func (r *recorder) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	return metric{r, id, "latency"}
}

func (r *recorder) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return metric{r, id, "version"}
}

// metric publishes only while its identity is reserved.
type metric struct {
	to   *recorder
	id   cache.InformerNameAndResource
	name string
}

func (m metric) Observe(value float64) { m.Set(value) }

func (m metric) Set(float64) {
	if !m.id.Reserved() {
		return
	}
	m.to.mu.Lock()
	defer m.to.mu.Unlock()
	informer := m.id.Name() + " " + m.id.GroupVersionResource().Resource
	if m.to.counts == nil {
		m.to.counts = map[string]map[string]int{}
	}
	if m.to.counts[informer] == nil {
		m.to.counts[informer] = map[string]int{}
	}
	m.to.counts[informer][m.name]++
}

// TestInformerNameByOption: metrics carry the name of the option, and of a resource what
// client-go's informers call it.
func TestInformerNameByOption(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-option")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(boundedContext(t))
	typed := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), factory.WithInformerName(name))
	typed.Networking().V1().NetworkPolicies().Informer()
	generic := resourceFactories(t, factory.WithInformerName(name))["dynamic"]
	generic.ForResource(podsResource)
	typed.StartWithContext(ctx)
	generic.StartWithContext(ctx)
	synced := typed.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, synced.AsError())
	_, err = generic.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, err)
	cancel()
	typed.Shutdown()
	generic.Shutdown()
	assert.Contains(t, askedFor.published("factory-test-option networkpolicys"), "depth")
	assert.Contains(t, askedFor.published("factory-test-option pods"), "depth")
	again, err := cache.NewInformerName("factory-test-option")
	require.NoError(t, err, "Shutdown has released the name")
	again.Release()
}

// TestMetricsGoOnAfterStop: the next informer of a resource publishes under the same name as the
// one that was stopped.
func TestMetricsGoOnAfterStop(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-stop")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(boundedContext(t))
	f := resourceFactories(t, factory.WithInformerName(name))["dynamic"]
	for range 3 {
		f.ForResource(podsResource)
		f.ForResource(nodesResource)
		f.StartWithContext(ctx)
		_, err = f.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, err)
		assert.True(t, f.Stop(podsResource))
		published := askedFor.published("factory-test-stop pods")
		for _, metric := range []string{"depth", "latency", "version"} {
			assert.Positive(t, published[metric], metric)
		}
	}
	cancel()
	f.Shutdown()
	again, err := cache.NewInformerName("factory-test-stop")
	require.NoError(t, err, "Shutdown has released the name")
	again.Release()
}

// TestNameIsNotReservedForAConstructor: informers that the name does not reach leave their
// resources to others.
func TestNameIsNotReservedForAConstructor(t *testing.T) {
	name, err := cache.NewInformerName("factory-test-constructor")
	require.NoError(t, err)
	defer name.Release()
	for _, f := range resourceFactories(t, factory.WithInformerName(name), factory.WithConstructor(cache.NewSharedIndexInformer)) {
		f.ForResource(podsResource)
	}
	assert.True(t, name.WithResource(podsResource).Reserved())
}
