// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/kinformer/cache/internal/queue"
)

// What package cache_test compares with, or steps by hand.
var (
	ErrAlreadyStarted  = errAlreadyStarted
	ErrAlreadyStopped  = errAlreadyStopped
	ErrNilIndexFunc    = errNilIndexFunc
	ErrNoKeyFunc       = errNoKeyFunc
	ErrNoListerWatcher = errNoListerWatcher
	SinkOf             = sinkOf
)

// EngineOf returns what is inside a queue of ours.
func EngineOf(q ReflectorStore) *queue.Queue { return sinkOf(q).(queueSink).queue }

// WrapDetector changes the mutation detector of an informer that does not run yet.
func WrapDetector(informer SharedIndexInformer, wrap func(MutationDetector) MutationDetector) {
	s := informer.(*sharedIndexInformer)
	s.mutations.detector = wrap(s.mutations.detector)
}

// DetectMutations runs the mutation detector of an informer, as Run does.
func DetectMutations(ctx context.Context, informer SharedIndexInformer) {
	informer.(*sharedIndexInformer).mutations.run(ctx)
}

// IndexesAreQuick reports whether the reflector may write to the informer's store itself.
func IndexesAreQuick(informer SharedIndexInformer) bool {
	return informer.(*sharedIndexInformer).store.contents.AllowsReader(1)
}

// AtomicFIFO returns a queue as informers have it, but for the store.
func AtomicFIFO() *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
}
