// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// nameInformers returns a function that makes identities with one informer name. It also resets the
// warnings that other tests have caused.
func nameInformers(t *testing.T) func(resource string) clientgo.InformerNameAndResource {
	t.Helper()
	t.Cleanup(clientgo.ResetInformerNamesForTesting)
	warned.Clear()
	name, err := clientgo.NewInformerName(t.Name())
	require.NoError(t, err)
	return func(resource string) clientgo.InformerNameAndResource {
		return name.WithResource(schema.GroupVersionResource{Resource: resource})
	}
}

// No test here sets a provider for the process: test/e2e/metrics is a program in which an import does.

// saidOnce checks that one line of the log is about metrics that are missing, names the informer and
// the function that sets a provider, and contains why.
func saidOnce(t *testing.T, lines *testkit.Logged, why string) {
	t.Helper()
	said := testkit.About("no metrics", lines.Take())
	require.Len(t, said, 1)
	for _, part := range []string{why, "SetInformerMetricsProvider", t.Name()} {
		assert.Contains(t, said[0], part)
	}
}

// TestNameWithoutAProviderIsLoggedOnce: a nil provider, which client-go accepts, and which makes its
// next named informer panic, is none.
func TestNameWithoutAProviderIsLoggedOnce(t *testing.T) {
	named, lines := nameInformers(t), testkit.CaptureLog(t)
	for _, resource := range []string{"a", "b"} {
		id := named(resource)
		if publish := OfStore(id, nil); minor.Since38 {
			publish("1") // client-go has a gauge that asks for the provider's at the first version
		} else {
			assert.Nil(t, publish)
		}
		depth, latency := OfQueue(id, nil)
		assert.Nil(t, depth)
		assert.Nil(t, latency)
		Set(nil)
	}
	saidOnce(t, lines, "no provider is set")
}

func TestNoWarningWithoutMetricsName(t *testing.T) {
	id, provider, lines := nameInformers(t)("a"), &testkit.Gauges{}, testkit.CaptureLog(t)
	assert.Nil(t, OfStore(clientgo.InformerNameAndResource{}, nil))
	depth, latency := OfQueue(clientgo.InformerNameAndResource{}, nil)
	assert.Nil(t, depth)
	assert.Nil(t, latency)
	assert.NotNil(t, OfStore(id, provider))
	depth, latency = OfQueue(id, provider)
	assert.Same(t, &provider.Depth, depth)
	assert.Same(t, &provider.Latencies, latency)
	assert.Empty(t, testkit.About("metrics", lines.Take()))
}

// TestUnknownClientGoIsLoggedOnce: a later client-go may keep its metrics elsewhere.
func TestUnknownClientGoIsLoggedOnce(t *testing.T) {
	id, lines := nameInformers(t)("a"), testkit.CaptureLog(t)
	moved := &struct {
		metrics struct{ renamed clientgo.GaugeMetric }
	}{}
	for range 2 {
		assert.Nil(t, clientGoMetric[clientgo.GaugeMetric](id, moved, "metrics", "numberOfQueuedItem"))
	}
	saidOnce(t, lines, "not known for this version")
}

func TestHiddenField(t *testing.T) {
	type inner struct {
		gauge   clientgo.GaugeMetric
		nothing clientgo.GaugeMetric
		number  int
	}
	set := &testkit.Gauge{}
	owner := &struct {
		pointer *inner
		direct  inner
		missing *inner
	}{pointer: &inner{gauge: set, nothing: nil, number: 0}, direct: inner{gauge: set}}
	for name, tc := range map[string]struct {
		owner any
		path  []string
		found bool
	}{
		"behind a pointer":      {owner, []string{"pointer", "gauge"}, true},
		"of a struct":           {owner, []string{"direct", "gauge"}, true},
		"no such field":         {owner, []string{"direct", "gouge"}, false},
		"no such struct":        {owner, []string{"elsewhere", "gauge"}, false},
		"of another type":       {owner, []string{"direct", "number"}, false},
		"not a struct":          {owner, []string{"direct", "number", "gauge"}, false},
		"nil":                   {owner, []string{"direct", "nothing"}, false},
		"behind a nil pointer":  {owner, []string{"missing", "gauge"}, false},
		"of no pointer":         {*owner, []string{"direct", "gauge"}, false},
		"of nothing":            {nil, []string{"gauge"}, false},
		"the owner is no field": {owner, nil, false},
	} {
		field, ok := hiddenField[clientgo.GaugeMetric](tc.owner, tc.path...)
		assert.Equal(t, tc.found, ok, name)
		if tc.found {
			assert.Same(t, set, field, name)
		}
	}
}

// TestClientGoKeepsItsMetricsWhereWeLook fails if an upgrade of client-go moves the fields.
func TestClientGoKeepsItsMetricsWhereWeLook(t *testing.T) {
	id, provider := nameInformers(t)("a"), &testkit.Gauges{}
	queue := clientgo.NewRealFIFOWithOptions(clientgo.RealFIFOOptions{AtomicEvents: true, Identifier: id, MetricsProvider: provider})
	store := clientgo.NewThreadSafeStore(nil, nil, clientgo.WithThreadSafeStoreMetrics(id, provider))
	depth, _ := hiddenField[clientgo.GaugeMetric](queue, "metrics", "numberOfQueuedItem")
	assert.Same(t, &provider.Depth, depth)
	latency, _ := hiddenField[clientgo.HistogramMetric](queue, "metrics", "processingLatency")
	assert.Same(t, &provider.Latencies, latency)
	version, _ := hiddenField[clientgo.GaugeMetric](store, "metrics", "storeResourceVersion")
	version.Set(7)
	assert.Equal(t, 7.0, provider.Version.Last)
}

func TestPublishedVersion(t *testing.T) {
	for rv, want := range map[string]float64{"": 0, "12": 12, "9123456789012345678": 789012345678 + 456*1e12, "x": -1} {
		g := testkit.Gauge{Last: -1}
		publishVersion(&g, rv)
		assert.Equal(t, want, g.Last, rv)
	}
}
