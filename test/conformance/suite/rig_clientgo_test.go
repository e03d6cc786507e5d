// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 deprecated constructors have to conform as well

package suite

import "k8s.io/client-go/tools/cache"

func init() {
	implementations = append([]implementation{{
		name:      clientGo,
		reference: true,
		stores: storeRig{
			store: func(key cache.KeyFunc, with storeFeatures) cache.Store {
				return cache.NewStore(key, storeOptions(with, cache.WithTransformer, cache.WithStoreMetrics)...)
			},
			indexer: func(key cache.KeyFunc, indexers cache.Indexers, with storeFeatures) cache.Indexer {
				return cache.NewIndexer(key, indexers, storeOptions(with, cache.WithTransformer, cache.WithStoreMetrics)...)
			},
			threadSafe: func(indexers cache.Indexers, with storeFeatures) cache.ThreadSafeStore {
				return cache.NewThreadSafeStore(indexers, cache.Indices{}, storeOptions(with, nil, cache.WithThreadSafeStoreMetrics)...)
			},
		},
		queues: queueRig{
			delta: func(opts cache.DeltaFIFOOptions) cache.Queue { return cache.NewDeltaFIFOWithOptions(opts) },
			real:  func(opts cache.RealFIFOOptions) cache.QueueWithBatch { return cache.NewRealFIFOWithOptions(opts) },
			fifo:  func(key cache.KeyFunc) cache.Queue { return cache.NewFIFO(key) },

			plainDelta: func(key cache.KeyFunc, known cache.KeyListerGetter) cache.Queue {
				return cache.NewDeltaFIFO(key, known)
			},
			plainReal: func(key cache.KeyFunc, known cache.KeyListerGetter, transform cache.TransformFunc) cache.QueueWithBatch {
				return cache.NewRealFIFO(key, known, transform)
			},
		},
		informers: informerRig{
			shared:     cache.NewSharedIndexInformerWithOptions,
			informer:   cache.NewInformerWithOptions,
			controller: cache.New,

			plainShared:              cache.NewSharedInformer,
			plainInformer:            cache.NewInformer,
			plainIndexer:             cache.NewIndexerInformer,
			plainTransforming:        cache.NewTransformingInformer,
			plainTransformingIndexer: cache.NewTransformingIndexerInformer,
		},
	}}, implementations...)
}
