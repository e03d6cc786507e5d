// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import clientgo "k8s.io/client-go/tools/cache"

// Gauges is a provider of metrics that keeps what was published last.
type Gauges struct{ Depth, Version, Latencies Gauge }

// Gauge is a metric. As a histogram it counts.
type Gauge struct{ Last float64 }

func (g *Gauge) Set(v float64)   { g.Last = v }
func (g *Gauge) Observe(float64) { g.Last++ }

func (p *Gauges) NewQueuedItemMetric(clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	return &p.Depth
}

func (p *Gauges) NewStoreResourceVersionMetric(clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	return &p.Version
}

func (p *Gauges) NewProcessingLatencyMetric(clientgo.InformerNameAndResource) clientgo.HistogramMetric {
	return &p.Latencies
}
