// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"fmt"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
)

// LimitQueue bounds a RealFIFO or a DeltaFIFO of package cache, or a type that embeds one: while n items
// wait, a reflector of that package does not read its watch. If the server ends the watch meanwhile,
// the reflector later opens another from the last resourceVersion. A limit of 0 or less means no limit,
// the default but for a RealFIFO with UnlockWhileProcessing, whose limit is 2000. The error is
// inspect.ErrForeign for any other queue. LimitQueue may be called at any time, from any goroutine;
// inspect.QueueOf returns the depth and the pauses.
//
// The limit applies only to the reflectors of package cache. Items that other callers put, lists,
// resyncs, and bookmarks of a full queue exceed it. Items that are being processed do not count.
func LimitQueue(queue cache.Queue, n int) error {
	own := door.QueueOf(queue)
	if own == nil {
		return fmt.Errorf("limit of a %T: %w", queue, door.ErrForeign)
	}
	own.SetLimit(n)
	return nil
}
