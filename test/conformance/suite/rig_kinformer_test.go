// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 deprecated constructors have to conform as well

package suite

import (
	"os"

	"k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
)

func init() {
	implementations = append(implementations, implementation{
		name:      "kinformer",
		reference: os.Getenv("KINFORMER") == "off",
		stores: storeRig{
			store: func(key cache.KeyFunc, with storeFeatures) cache.Store {
				return kinformer.NewStore(key, storeOptions(with, kinformer.WithTransformer, kinformer.WithStoreMetrics)...)
			},
			indexer: func(key cache.KeyFunc, indexers cache.Indexers, with storeFeatures) cache.Indexer {
				return kinformer.NewIndexer(key, indexers, storeOptions(with, kinformer.WithTransformer, kinformer.WithStoreMetrics)...)
			},
			threadSafe: func(indexers cache.Indexers, with storeFeatures) cache.ThreadSafeStore {
				return kinformer.NewThreadSafeStore(indexers, kinformer.Indices{}, storeOptions(with, nil, kinformer.WithThreadSafeStoreMetrics)...)
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
