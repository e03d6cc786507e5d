// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// stream is an open watch.
type stream struct {
	watch  watch.Interface
	events <-chan watch.Event
	cancel context.CancelFunc // ends the request's context
	since  time.Time          // when it was asked for, or taken over by watching

	lastRead time.Time // when the last batch began
	busy     bool      // this batch follows the last one closely

	staged bool // what it brings goes to a stage, up to the end mark

	received   int // events since then, of any kind
	understood int // those of them that were applied

	// ordered tells that the versions of the events grow: not so for the synthetic Added events at the beginning of a
	// watch that was started without a version.
	ordered bool
}

// stop ends the watch. Exactly one call for each stream.
func (s *stream) stop() {
	defer s.cancel()
	s.watch.Stop()
}

// busyGap is between batches of a stream whose sender may well be about to send again.
const busyGap = 200 * time.Microsecond

// beginBatch notes that an event has come.
func (s *stream) beginBatch(now time.Time) {
	s.busy = now.Sub(s.lastRead) < busyGap
	s.lastRead = now
}

// handOver starts the stream's count anew when it passes from streaming to watching.
func (s *stream) handOver(now time.Time) {
	s.since, s.received, s.understood, s.ordered, s.staged = now, 0, 0, true, false
}
