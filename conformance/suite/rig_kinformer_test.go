// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 deprecated constructors have to conform as well

package suite

import (
	"k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
)

func init() {
	implementations = append(implementations, implementation{
		name: "kinformer",
		stores: storeRig{
			store: func(key cache.KeyFunc, with storeFeatures) cache.Store {
				return kinformer.NewStore(key, kinformerOptions(with)...)
			},
			indexer: func(key cache.KeyFunc, indexers cache.Indexers, with storeFeatures) cache.Indexer {
				return kinformer.NewIndexer(key, indexers, kinformerOptions(with)...)
			},
			threadSafe: func(indexers cache.Indexers, with storeFeatures) cache.ThreadSafeStore {
				if with.provider == nil {
					return kinformer.NewThreadSafeStore(indexers, kinformer.Indices{})
				}
				return kinformer.NewThreadSafeStore(indexers, kinformer.Indices{},
					kinformer.WithThreadSafeStoreMetrics(with.identifier, with.provider))
			},
		},
		queues: queueRig{
			delta: func(opts cache.DeltaFIFOOptions) cache.Queue { return kinformer.NewDeltaFIFOWithOptions(opts) },
			real:  func(opts cache.RealFIFOOptions) cache.QueueWithBatch { return kinformer.NewRealFIFOWithOptions(opts) },
			fifo:  func(key cache.KeyFunc) cache.Queue { return kinformer.NewFIFO(key) },

			plainDelta: func(key cache.KeyFunc, known cache.KeyListerGetter) cache.Queue {
				return kinformer.NewDeltaFIFO(key, known)
			},
			plainReal: func(key cache.KeyFunc, known cache.KeyListerGetter, transform cache.TransformFunc) cache.QueueWithBatch {
				return kinformer.NewRealFIFO(key, known, transform)
			},
		},
		informers: informerRig{
			shared:     kinformer.NewSharedIndexInformerWithOptions,
			informer:   kinformer.NewInformerWithOptions,
			controller: kinformer.New,

			plainShared:              kinformer.NewSharedInformer,
			plainInformer:            kinformer.NewInformer,
			plainIndexer:             kinformer.NewIndexerInformer,
			plainTransforming:        kinformer.NewTransformingInformer,
			plainTransformingIndexer: kinformer.NewTransformingIndexerInformer,
		},
	})
}

func kinformerOptions(with storeFeatures) []kinformer.StoreOption {
	var opts []kinformer.StoreOption
	if with.transformer != nil {
		opts = append(opts, kinformer.WithTransformer(with.transformer))
	}
	if with.provider != nil {
		opts = append(opts, kinformer.WithStoreMetrics(with.identifier, with.provider))
	}
	return opts
}
