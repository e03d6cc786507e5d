// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/event"
)

// leastLoss is the least number of stored objects for which a loss is looked at.
const leastLoss = 20

// settles is how long a state waits for the earlier ones, so that it is compared with them. Batches take
// milliseconds, and longer with slow index functions. The handler of a NewInformer may take for ever, and
// meanwhile the list has its slot of Turns.
const settles = 30 * time.Second

// loss is what a state of the collection would remove from the store: more than half of its objects.
// Gateways, caching proxies and truncated answers look so, and a namespace that was really deleted.
// Therefore the state is dropped, the most recent one is listed, and the store gets what that answer says.
// A server that was restored, or another one, answers twice alike.
type loss struct{ removed, stored int }

func (l *loss) Error() string {
	return fmt.Sprintf("the answer would remove %d of %d objects", l.removed, l.stored)
}

// lossBy returns a *loss if a stage would remove too much.
func lossBy(stage Stage) error {
	kept, stored, err := stage.Keeps()
	if err != nil {
		return fmt.Errorf("unable to sync the result: %w", event.Redacted(err))
	}
	if removed := stored - kept; stored >= leastLoss && 2*removed > stored {
		return &loss{removed, stored}
	}
	return nil
}
