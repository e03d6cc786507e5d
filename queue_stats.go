// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

// QueueStats is how a queue, and the controller that empties it, are doing. See QueueStatsOf.
type QueueStats struct {
	// Depth is how many items wait: changes in a RealFIFO, objects in a DeltaFIFO. What is being processed is not counted.
	Depth int
	// Limit is the bound of Depth, 0 for none. Pauses counts how often it held up the reading of the watch, Paused is for
	// how long in all, a pause that lasts included.
	Limit  int
	Pauses uint64
	Paused time.Duration
	// Compacted counts the deltas that DeltaFIFO.SetMaxHistory has dropped.
	Compacted uint64

	// Untransformed is the number of objects whose newest version the transform function refused, so that an older one, or
	// none, is cached. Anything but 0 means that the cache does not show what the server has.
	Untransformed int
	// TransformErrors counts the calls of the transform function that failed or panicked, LastTransformError is the last.
	TransformErrors    uint64
	LastTransformError error

	// ProcessErrors counts the items and batches that the process function failed or panicked on, LastProcessError is the
	// last. They are 0 and nil for a queue on its own.
	ProcessErrors    uint64
	LastProcessError error
}

// QueueStatsOf returns the statistics of a RealFIFO, a DeltaFIFO, a Controller of New or NewInformer*, or a shared informer
// of this package, however it is handed out (see StatusOf), at any time and from any goroutine. It reports false for anything
// else, for a controller whose Queue is foreign, and for an informer that was not started.
func QueueStatsOf(queueOrController any) (QueueStats, bool) {
	counted := unwrapped(queueOrController)
	if own := recordsOf(counted); own != nil {
		return statsOf(own), true
	}
	if controller, own := counted.(interface{ queueStats() (QueueStats, bool) }); own {
		return controller.queueStats()
	}
	return QueueStats{}, false
}

// recordsOf returns what a queue of ours, or a type that embeds one, is made of, and nil for others.
func recordsOf(what any) *recordQueue {
	switch own := what.(type) {
	case *recordQueue:
		return own
	case interface{ core() *recordQueue }:
		return own.core()
	default:
		return nil
	}
}

func statsOf(q *recordQueue) QueueStats {
	depths := q.depths()
	stats := QueueStats{
		Depth: depths.waiting, Limit: depths.limit, Pauses: depths.pauses, Paused: depths.paused, Compacted: depths.compacted,
	}
	stats.Untransformed, stats.TransformErrors, stats.LastTransformError = q.reader.transform.counts()
	return stats
}

func (c *controller) queueStats() (QueueStats, bool) {
	stats, ok := QueueStatsOf(c.queue)
	c.failures.addTo(&stats)
	return stats, ok
}

func (s *sharedIndexInformer) queueStats() (QueueStats, bool) {
	if c := s.started(); c != nil {
		return c.queueStats()
	}
	return QueueStats{}, false
}

// started returns the informer's controller, or nil before the start.
func (s *sharedIndexInformer) started() *controller {
	s.life.Lock()
	defer s.life.Unlock()
	return s.life.controller
}

// transformer returns what transforms on the way into the controller's queue, nil for a foreign queue.
func (c *controller) transformer() *transformer {
	if own := recordsOf(c.queue); own != nil {
		return &own.reader.transform
	}
	return nil
}

func (s *sharedIndexInformer) transformer() *transformer {
	if c := s.started(); c != nil {
		return c.transformer()
	}
	return nil
}
