// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// implementation is everything that the suite knows of one side. All types that cross the border
// are client-go's own; ours are aliases of them.
type implementation struct {
	// name is the subtest's name.
	name string
	// reference says that this is client-go: where the sides differ on purpose, the first
	// expectation is its.
	reference bool
	stores    storeRig
	queues    queueRig
	informers informerRig
}

// storeFeatures stands for the store options, whose types each implementation has for itself.
type storeFeatures struct {
	// transformer is passed on when not nil.
	transformer cache.TransformFunc
	// identifier and provider are passed on when provider is not nil.
	identifier cache.InformerNameAndResource
	provider   cache.InformerMetricsProvider
}

// storeRig makes stores.
type storeRig struct {
	store      func(cache.KeyFunc, storeFeatures) cache.Store
	indexer    func(cache.KeyFunc, cache.Indexers, storeFeatures) cache.Indexer
	threadSafe func(cache.Indexers, storeFeatures) cache.ThreadSafeStore
}

// queueRig makes queues.
type queueRig struct {
	delta func(cache.DeltaFIFOOptions) cache.Queue
	real  func(cache.RealFIFOOptions) cache.QueueWithBatch
	fifo  func(cache.KeyFunc) cache.Queue
	// The constructors with positional parameters.
	plainDelta func(cache.KeyFunc, cache.KeyListerGetter) cache.Queue
	plainReal  func(cache.KeyFunc, cache.KeyListerGetter, cache.TransformFunc) cache.QueueWithBatch
}

// informerRig makes informers and the controllers under them.
type informerRig struct {
	shared     func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	informer   func(cache.InformerOptions) (cache.Store, cache.Controller)
	controller func(*cache.Config) cache.Controller
	// The constructors with positional parameters.
	plainShared              func(cache.ListerWatcher, runtime.Object, time.Duration) cache.SharedInformer
	plainSharedIndex         func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer
	plainInformer            func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler) (cache.Store, cache.Controller)
	plainIndexer             func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.Indexers) (cache.Indexer, cache.Controller)
	plainTransforming        func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.TransformFunc) (cache.Store, cache.Controller)
	plainTransformingIndexer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.ResourceEventHandler, cache.Indexers, cache.TransformFunc) (cache.Indexer, cache.Controller)
}

// implementations is what the suite runs on, the reference first.
var implementations []implementation

// storeCase and queueCase are behaviors that need no time.
type (
	storeCase struct {
		name string
		run  func(*testing.T, implementation)
	}
	queueCase = storeCase
)

// onEach runs the cases on every implementation.
func onEach(t *testing.T, cases []storeCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					reported.reset()
					c.run(t, impl)
				})
			}
		})
	}
}

// informerCase is a behavior of an informer or controller, run in a bubble once for each source
// mode.
type informerCase struct {
	name string
	run  func(*testing.T, *stage)
	// only restricts the case to one source mode.
	only sourceMode
}

// onStage runs the cases on every implementation with either source.
func onStage(t *testing.T, cases []informerCase) {
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, mode := range []sourceMode{byList, byStream} {
				t.Run(string(mode), func(t *testing.T) {
					for _, c := range cases {
						if c.only != "" && c.only != mode {
							continue
						}
						t.Run(c.name, func(t *testing.T) { inBubble(t, impl, mode, c.run) })
					}
				})
			}
		})
	}
}

func inBubble(t *testing.T, impl implementation, mode sourceMode, run func(*testing.T, *stage)) {
	synctest.Test(t, func(t *testing.T) {
		reported.reset()
		s := &stage{impl: impl, source: newSource(mode)}
		defer s.close()
		run(t, s)
	})
}

// differs chooses between what the reference does and what ours does on purpose, and prints why.
func differs[T any](t *testing.T, impl implementation, reason string, clientgo, ours T) T {
	t.Helper()
	if impl.reference {
		return clientgo
	}
	t.Logf("differs: %s", reason)
	return ours
}
