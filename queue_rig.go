// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/rig"
)

func init() {
	rig.NewQueue = func() rig.Queue {
		p := newPipeline(newStore(MetaNamespaceKeyFunc, nil), &processFailures{}, nil)
		p.open(queueOptions{logger: klog.Background()})
		p.queue.Reader.Keys.Known = nil
		g := &rigQueue{queue: p.queue}
		g.count = func(batch []event.Record, _ bool) error {
			g.taken = len(batch)
			return nil
		}
		return g
	}
}

// rigQueue shows an informer's queue to the benchmark.
type rigQueue struct {
	queue *queue.Queue
	batch []event.Record
	count queue.ProcessFunc
	taken int
}

func (g *rigQueue) Update(objects []any) error {
	g.batch = g.batch[:0]
	for _, obj := range objects {
		version, _ := event.VersionOf(obj)
		g.batch = append(g.batch, event.Record{Type: Updated, Object: obj, Version: version})
	}
	for _, refused := range g.queue.PutBatch(g.batch) {
		return refused.Err
	}
	return nil
}

func (g *rigQueue) Take() (int, error) {
	err := g.queue.PopAll(g.count)
	return g.taken, err
}
