// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/kinformer/cache/internal/queue"
)

// Identifiers that the tests of package cache_test use.
var (
	ErrNilIndexFunc = errNilIndexFunc
	ErrNoKeyFunc    = errNoKeyFunc
	SinkOf          = sinkOf
)

// EngineOf returns the queue inside a queue of this package.
func EngineOf(q ReflectorStore) *queue.Queue { return sinkOf(q).(queueSink).queue }

// WrapDetector replaces the mutation detector of an informer that is not running yet.
func WrapDetector(informer SharedIndexInformer, wrap func(MutationDetector) MutationDetector) {
	s := informer.(*sharedIndexInformer)
	s.mutations.detector, s.mutations.enabled = wrap(s.mutations.detector), true
}

// DetectMutations runs the mutation detector of an informer, as Run does.
func DetectMutations(ctx context.Context, informer SharedIndexInformer) {
	informer.(*sharedIndexInformer).mutations.run(ctx)
}

// AtomicFIFO returns a queue like that of an informer, except for the store.
func AtomicFIFO() *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
}
