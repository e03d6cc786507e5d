// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelmetric "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/metrics"
	"github.com/kinformer/cache/internal/testkit"
)

// collected is what a reader has, by name and attributes: "name{key=value,...}".
func collected(t *testing.T, reader metric.Reader) map[string]float64 {
	t.Helper()
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &got))
	values := map[string]float64{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				addPoints(values, m.Name, data.DataPoints)
			case metricdata.Sum[float64]:
				addPoints(values, m.Name, data.DataPoints)
			case metricdata.Sum[int64]:
				addPoints(values, m.Name, data.DataPoints)
			default:
				t.Errorf("%s is %T", m.Name, data)
			}
		}
	}
	return values
}

func addPoints[N int64 | float64](to map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		to[name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = float64(p.Value)
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		provider := metric.NewMeterProvider(metric.WithReader(reader))
		registration, err := RegisterMetrics(provider, Options{MaxHandlers: 1})
		require.NoError(t, err)
		assert.Equal(t, map[string]float64{"kinformer.informers{}": 0}, collected(t, reader))

		server := failingFirst(serving(testkit.PodAt("a", "1"), testkit.PodAt("b", "2")), 2*time.Second, 1)
		stop := follow(t, server, func(informer cache.SharedIndexInformer) {
			handle(t, informer, "h", 20*time.Millisecond)
			handle(t, informer, "i", 0)
			handle(t, informer, "j", 0)
		}, cache.WithObjectDescription("my pods"), cache.WithBackoff(*testkit.Second()))
		time.Sleep(10 * time.Second)
		const of = "ordinal=0,resource=my pods}"
		got := collected(t, reader)
		for name, want := range map[string]float64{
			"kinformer.objects{" + of: 2, "kinformer.synced{" + of: 1, "kinformer.phase_age{ordinal=0,phase=watching,resource=my pods}": 5,
			"kinformer.lists{mode=list,ordinal=0,resource=my pods,result=error}": 1, "kinformer.list.duration.sum{mode=list," + of: 4,
			"kinformer.list.duration.count{mode=list," + of: 2, "kinformer.handlers{" + of: 3,
			"kinformer.handler.calls{handler=h," + of: 2, "kinformer.handler.calls{handler=other," + of: 4,
			"kinformer.handler.call_duration.sum{handler=h," + of: .04, "kinformer.handler.call_duration.count{handler=h," + of: 2,
			"kinformer.handler.call_duration.bucket{handler=h,le=0.01," + of: 0, "kinformer.handler.call_duration.bucket{handler=h,le=0.1," + of: 2,
			"kinformer.handler.call_duration.bucket{handler=h,le=+Inf," + of: 2, "kinformer.index.members{index=namespace," + of: 2,
		} {
			assert.Contains(t, got, name)
			assert.InDelta(t, want, got[name], 1e-9, name)
		}
		assert.Positive(t, got["kinformer.memory.size{ordinal=0,part=objects,resource=my pods}"])

		stop()
		assert.Equal(t, map[string]float64{"kinformer.informers{}": 0}, collected(t, reader), "nothing of what has stopped")
		require.NoError(t, registration.Unregister())
		assert.Empty(t, collected(t, reader))
	})
}

// TestMetricsOfMany: each of many informers and handlers is there.
func TestMetricsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		_, err := RegisterMetrics(metric.NewMeterProvider(metric.WithReader(reader), metric.WithCardinalityLimit(0)), Options{})
		require.NoError(t, err)
		for range 100 {
			defer follow(t, serving(testkit.PodAt("a", "1")), func(informer cache.SharedIndexInformer) {
				for h := range 40 {
					handle(t, informer, fmt.Sprint(h, "\xff"), 0)
				}
			})()
		}
		got, calls := collected(t, reader), 0.0
		for name, value := range got {
			if strings.HasPrefix(name, "kinformer.handler.calls{") {
				calls += value
			}
		}
		assert.Equal(t, 4000.0, calls)
		assert.LessOrEqual(t, len(got), 100*(33*16+60))
	})
}

func TestInstrumentNames(t *testing.T) {
	names := map[string]bool{}
	for _, m := range metrics.All() {
		name := instrumentName(m)
		assert.False(t, names[name], name)
		names[name] = true
		assert.Regexp(t, `^kinformer(\.[a-z]+(_[a-z]+)*)+$`, name)
	}
	sorted := slices.Sorted(maps.Keys(names))
	assert.Subset(t, sorted, []string{
		"kinformer.objects", "kinformer.handler.oldest_pending", "kinformer.memory.size", "kinformer.queue.paused", "kinformer.shared_texts",
		"kinformer.shared_texts.limit.size", "kinformer.decode.verified", "kinformer.last_event_age", "kinformer.watch.ends",
	})
}

// refusing is a provider whose meters make no gauges.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...otelmetric.MeterOption) otelmetric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

func (refusingMeter) Float64ObservableGauge(string, ...otelmetric.Float64ObservableGaugeOption) (otelmetric.Float64ObservableGauge, error) {
	return nil, errors.New("no gauges")
}

func TestProviderRefuses(t *testing.T) {
	_, err := RegisterMetrics(refusing{}, Options{})
	assert.ErrorContains(t, err, "no gauges")
}
