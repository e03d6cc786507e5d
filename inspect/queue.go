// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/queue"
)

// Queue describes a queue and the controller that empties it.
type Queue struct {
	// Depth is how many items wait: changes in a RealFIFO, objects in a DeltaFIFO. What is being
	// processed is not counted.
	Depth int
	// Limit is the bound of Depth, 0 for none. Pauses counts how often it held up the reading of
	// the watch, Paused is for how long in all, a pause that lasts included.
	Limit  int
	Pauses uint64
	Paused time.Duration

	// Untransformed is the number of objects whose newest version the transform function refused,
	// so that an older one, or none, is cached. Anything but 0 means that the cache does not show
	// what the server has.
	Untransformed int
	// TransformErrors counts the calls of the transform function that failed or panicked,
	// LastTransformError is the last.
	TransformErrors    uint64
	LastTransformError error

	// ProcessErrors counts the items and batches that the process function failed or panicked on,
	// LastProcessError is the last. They are 0 and nil for a queue on its own.
	ProcessErrors    uint64
	LastProcessError error
}

// QueueOf describes a RealFIFO or a DeltaFIFO, or the queue of what StatusOf takes, at any time and
// from any goroutine. The error is ErrForeign for anything else. Before Run an informer has no
// queue, and Queue is zero. Of a controller whose Queue is foreign only the process errors are known.
func QueueOf(queueOrInformer any) (Queue, error) {
	if own := door.QueueOf(queueOrInformer); own != nil {
		return queueFrom(own), nil
	}
	own := door.Of(queueOrInformer)
	if own == nil {
		return Queue{}, ErrForeign
	}
	return queueOf(own), nil
}

// queueOf describes the queue of an informer.
func queueOf(own *door.Informer) (q Queue) {
	if own.Queue != nil {
		q = queueFrom(own.Queue)
	}
	q.ProcessErrors, q.LastProcessError = own.ProcessErrors()
	return q
}

func queueFrom(q *queue.Queue) Queue {
	depths := q.Depths()
	all := Queue{Depth: depths.Waiting, Limit: depths.Limit, Pauses: depths.Pauses, Paused: depths.Paused}
	all.Untransformed, all.TransformErrors, all.LastTransformError = q.Reader.Transform.Counts()
	return all
}
