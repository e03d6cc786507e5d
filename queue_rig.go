// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/rig"
)

func init() {
	rig.NewQueue = func() rig.Queue {
		p := newPipeline(newStore(MetaNamespaceKeyFunc, nil), &processFailures{}, nil)
		p.open(queueOptions{logger: klog.Background()})
		p.queue.reader.keys.known = nil
		g := &rigQueue{queue: p.queue}
		g.count = func(batch []record, _ bool) error {
			g.taken = len(batch)
			return nil
		}
		return g
	}
}

// rigQueue shows an informer's queue to the benchmark.
type rigQueue struct {
	queue *recordQueue
	batch []record
	count processFunc
	taken int
}

func (g *rigQueue) Update(objects []any) error {
	g.batch = g.batch[:0]
	for _, obj := range objects {
		version, _ := objectVersion(obj)
		g.batch = append(g.batch, record{typ: Updated, object: obj, version: version})
	}
	for _, refused := range g.queue.putBatch(g.batch) {
		return refused.err
	}
	return nil
}

func (g *rigQueue) Take() (int, error) {
	err := g.queue.popAll(g.count)
	return g.taken, err
}
