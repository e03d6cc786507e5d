// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kinformer/cache/internal/metrics"
)

// Options limit the metrics of an informer.
type Options struct {
	// MaxHandlers is the number of handler names of an informer that become values of the label
	// handler, and MaxIndices the number of index names that become values of the label index: the
	// first ones, while the informer runs. All others are summed under the value "other". 0 means 32
	// and 16; a negative number means none.
	MaxHandlers, MaxIndices int
}

// NewCollector returns a collector of the metrics of all informers of package cache that run in the
// process. Collecting takes about 15 microseconds for each informer, more with
// kinformer.Decoding.Whole, for which it looks at each object; between collections the collector costs
// nothing. Informers that have stopped have no metrics. The collector may be registered with several
// registries, and used by several goroutines.
//
// The package documentation explains the labels; docs/observability.md has all metrics.
func NewCollector(o Options) prometheus.Collector {
	c := &collector{reader: metrics.NewReader(metrics.Options{MaxHandlers: o.MaxHandlers, MaxIndices: o.MaxIndices}), descs: map[*metrics.Metric]*prometheus.Desc{}, bounds: metrics.Bounds()}
	for _, m := range metrics.All() {
		labels := m.Labels
		if !m.OfProcess {
			labels = append(append([]string{}, metrics.InformerLabels...), m.Labels...)
		}
		c.descs[m] = prometheus.NewDesc(m.Name, m.Help, labels, nil)
	}
	return c
}

type collector struct {
	reader *metrics.Reader
	descs  map[*metrics.Metric]*prometheus.Desc
	bounds []float64 // upper bounds of the buckets of call times, in seconds
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range metrics.All() {
		to <- c.descs[m]
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.reader.Read(func(s metrics.Sample) {
		m := &sample{desc: c.descs[s.Metric]}
		c.fill(&m.Metric, s)
		m.Label = pairsOf(s.Series)
		to <- m
	})
}

// fill sets the value of a metric to that of the sample.
func (c *collector) fill(to *dto.Metric, s metrics.Sample) {
	switch s.Metric.Kind {
	case metrics.Gauge:
		to.Gauge = &dto.Gauge{Value: &s.Value}
	case metrics.Counter:
		to.Counter = &dto.Counter{Value: &s.Value}
	case metrics.Summary:
		to.Summary = &dto.Summary{SampleCount: new(s.Times.Count), SampleSum: new(s.Times.Seconds)}
	case metrics.Histogram:
		to.Histogram = &dto.Histogram{
			SampleCount: new(s.Times.Count), SampleSum: new(s.Times.Seconds), Bucket: c.buckets(s.Times.Buckets),
		}
	}
}

// buckets returns cumulative counts, as Prometheus requires.
func (c *collector) buckets(counts []uint64) []*dto.Bucket {
	values, buckets, sum := make([]dto.Bucket, len(c.bounds)), make([]*dto.Bucket, len(c.bounds)), uint64(0)
	sums := make([]uint64, len(c.bounds))
	for i := range c.bounds {
		sum += counts[i]
		sums[i] = sum
		values[i].UpperBound, values[i].CumulativeCount = &c.bounds[i], &sums[i]
		buckets[i] = &values[i]
	}
	return buckets
}

// pairsOf returns the labels of a series, which must not be modified. They are cached in the series.
func pairsOf(s *metrics.Series) []*dto.LabelPair {
	if pairs, made := s.Form.([]*dto.LabelPair); made {
		return pairs
	}
	pairs := make([]*dto.LabelPair, len(s.Labels))
	for i := range s.Labels {
		pairs[i] = &dto.LabelPair{Name: &s.Labels[i].Name, Value: &s.Labels[i].Value}
	}
	s.Form = pairs
	return pairs
}

// sample is the value of a metric at one time.
type sample struct {
	desc *prometheus.Desc
	dto.Metric
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(to *dto.Metric) error {
	to.Label, to.Gauge, to.Counter, to.Summary, to.Histogram = s.Label, s.GetGauge(), s.GetCounter(), s.GetSummary(), s.GetHistogram()
	return nil
}
