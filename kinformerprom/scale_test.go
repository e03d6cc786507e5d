// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/metrics"
	"github.com/kinformer/cache/internal/testkit"
)

// many runs informers with handlers.
func many(t testing.TB, informers, handlers int) {
	for range informers {
		follow(t, serving(testkit.PodAt("a", "1")), cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			func(informer cache.SharedIndexInformer) {
				for h := range handlers {
					handle(t, informer, fmt.Sprint("handler ", h), 0)
				}
			})
	}
}

// TestThousandInformers: all of 1000 informers with 4 handlers are there, and each has few values.
func TestThousandInformers(t *testing.T) {
	const most = 4*8 + 30 // handlers, and the rest
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{}))
		many(t, 1000, 4)
		synctest.Wait()
		families, err := registry.Gather()
		require.NoError(t, err)
		values, calls := 0, uint64(0)
		for _, family := range families {
			values += len(family.Metric)
			switch family.GetName() {
			case "kinformer_informers":
				assert.Equal(t, 1000.0, family.Metric[0].GetGauge().GetValue())
			case "kinformer_synced":
				assert.Len(t, family.Metric, 1000)
			case "kinformer_handler_call_duration_seconds":
				assert.Len(t, family.Metric, 4000)
				for _, m := range family.Metric {
					calls += m.GetHistogram().GetSampleCount()
				}
			}
		}
		assert.Equal(t, uint64(4000), calls)
		assert.LessOrEqual(t, values, 1000*most)
	})
}

// TestManyHandlers: an informer with 10^4 handlers, many indices and 10^5 values of an index has no
// more values than the bounds allow.
func TestManyHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{}))
		indexers := cache.Indexers{}
		for i := range 50 {
			indexers[fmt.Sprint("index ", i)] = func(any) ([]string, error) { return []string{"x"}, nil }
		}
		var values []string
		for v := range 100_000 {
			values = append(values, fmt.Sprint(v))
		}
		indexers["values"] = func(any) ([]string, error) { return values, nil }
		follow(t, serving(&corev1.Pod{}), indexers, func(informer cache.SharedIndexInformer) {
			for h := range 10_000 {
				handle(t, informer, fmt.Sprint("handler ", h), 0)
			}
		})
		synctest.Wait()
		families := parsed(t, exposition(t, registry))
		for name, most := range map[string]int{
			"kinformer_handler_pending": 33, "kinformer_handler_call_duration_seconds": 33, "kinformer_handler_state": 66,
			"kinformer_index_members": 17, "kinformer_index_bytes": 17, "kinformer_handlers": 1,
		} {
			assert.LessOrEqual(t, len(families[name].GetMetric()), most, name)
		}
		pods := 0.0
		for _, m := range families["kinformer_handler_calls_total"].Metric {
			pods += m.GetCounter().GetValue()
		}
		assert.Equal(t, 10_000.0, pods)
		assert.Equal(t, 10_000.0, families["kinformer_handlers"].Metric[0].GetGauge().GetValue())
	})
}

// BenchmarkScrape gathers 1000 informers with 4 handlers, and writes them as text.
func BenchmarkScrape(b *testing.B) {
	many(b, 1000, 4)
	for informer := range inspect.Informers() {
		require.NoError(b, cache.WaitForSync(b.Context(), informer))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector(Options{}))
	b.Run("gather", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := registry.Gather()
			require.NoError(b, err)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		c := NewCollector(Options{}).(*collector)
		for b.Loop() {
			c.reader.Read(func(metrics.Sample) {})
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		size := 0
		for b.Loop() {
			size = len(exposition(b, registry))
		}
		b.ReportMetric(float64(size), "bytes")
	})
}
