// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/queue"
)

// Queue describes a queue and the controller that empties it.
type Queue struct {
	// Depth is the number of waiting items: changes in a RealFIFO, objects in a DeltaFIFO. Items
	// that are being processed are not counted.
	Depth int
	// Limit is the bound of Depth; 0 means none. Pauses is the number of times that it stopped the
	// reading of the watch, and Paused the total time, including a current pause.
	Limit  int
	Pauses uint64
	Paused time.Duration

	// Untransformed is the number of objects whose newest version the transform function refused,
	// so that an older one, or none, is cached. If it is not 0, the cache differs from the server.
	Untransformed int
	// TransformErrors is the number of calls of the transform function that failed or panicked, and
	// LastTransformError the last error.
	TransformErrors    uint64
	LastTransformError error

	// ProcessErrors is the number of items and batches for which the process function failed or
	// panicked, and LastProcessError the last error. They are zero for a queue on its own.
	ProcessErrors    uint64
	LastProcessError error
}

var errQueueOfSource = errors.New("a source of package sources has no queue of its own: ask for the queue of its informer")

// QueueOf describes a RealFIFO, a DeltaFIFO, or the queue of an informer as for StatusOf. It may be
// called at any time by any goroutine. The error is ErrForeign for other values, and another one for a
// source of package sources: it uses the queue of its informer. Before Run an informer has no queue,
// and Queue is zero. For a controller with a foreign Queue only the process errors are set.
func QueueOf(queueOrInformer any) (Queue, error) {
	if own := door.QueueOf(queueOrInformer); own != nil {
		return queueFrom(own), nil
	}
	own := door.Of(queueOrInformer)
	switch {
	case own == nil:
		return Queue{}, ErrForeign
	case own.Part != nil:
		return Queue{}, errQueueOfSource
	}
	return queueOfAll(own), nil
}

// queueOf describes the queue of an informer.
func queueOf(own *door.Informer) (q Queue) {
	if own.Queue != nil {
		q = queueFrom(own.Queue)
	}
	q.ProcessErrors, q.LastProcessError = own.ProcessErrors()
	return q
}

// queueOfAll is queueOf with what the sources of an informer have counted.
func queueOfAll(own *door.Informer) (q Queue) {
	if own.Together == nil {
		return queueOf(own)
	}
	own.Together(func(parts map[string]*door.Informer) {
		q = queueOf(own)
		for _, part := range parts {
			q.add(part)
		}
	})
	return q
}

func queueFrom(q *queue.Queue) Queue {
	depths := q.Depths()
	all := Queue{Depth: depths.Waiting, Limit: depths.Limit, Pauses: depths.Pauses, Paused: depths.Paused}
	all.Untransformed, all.TransformErrors, all.LastTransformError = q.Reader.Transform.Counts()
	return all
}
