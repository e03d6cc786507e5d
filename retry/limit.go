// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"fmt"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
)

// SetLimit bounds a RealFIFO or a DeltaFIFO of package cache, or a type that embeds one: once n items
// wait, a reflector of that package reads no further from its watch until some are taken. The server
// may end the watch meanwhile; it then goes on later from the last resourceVersion. 0 or less is no
// bound, the default. The error is inspect.ErrForeign for any other queue. It may be called at any
// time, from any goroutine; inspect.QueueOf returns the depth and the pauses.
//
// The limit applies to the reflectors of package cache only. Items that others put, lists, resyncs,
// and bookmarks of a full queue exceed it. Items that are being processed do not count.
func SetLimit(queue cache.Queue, n int) error {
	own := door.QueueOf(queue)
	if own == nil {
		return fmt.Errorf("limit of a %T: %w", queue, door.ErrForeign)
	}
	own.SetLimit(n)
	return nil
}
