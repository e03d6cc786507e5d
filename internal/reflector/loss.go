// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"

	"github.com/kinformer/cache/internal/event"
)

// leastLoss is the least number of stored objects for which a loss is looked at.
const leastLoss = 20

// loss is what a state of the collection would remove from the store: more than half of its objects.
// Gateways, caching proxies and truncated answers look so, and a namespace that was really deleted.
// Therefore the state is dropped, the most recent one is listed, and the store gets what that answer says.
// A server that was restored, or another one, answers twice alike.
type loss struct{ removed, stored int }

func (l *loss) Error() string {
	return fmt.Sprintf("the answer would remove %d of %d objects", l.removed, l.stored)
}

// lossBy returns a *loss if a stage at version would remove too much. The first state of an informer
// removes nothing, and versions are needed to tell a server from a fake with canned answers.
func (r *round) lossBy(state Stage, version string) error {
	counting, ok := state.(interface {
		Keeps() (kept, stored int, err error)
	})
	if !ok || !r.state.synced || version == "" || r.state.Version() == "" {
		return nil
	}
	kept, stored, err := counting.Keeps()
	if err != nil {
		return fmt.Errorf("unable to sync the result: %w", event.Redacted(err))
	}
	if removed := stored - kept; stored >= leastLoss && 2*removed > stored {
		return &loss{removed, stored}
	}
	return nil
}

// confirm lists the most recent state, in pages, because an earlier answer was not believed.
func (r *round) confirm(ctx context.Context) (fetched, error) {
	why := r.state.confirms
	r.state.confirms = nil
	r.asks(ctx, ByList, againLoss)
	r.options.warn(ctx, "An answer would remove most objects, so they are listed once more", "removed", why.removed, "stored", why.stored)
	got, err := r.fetchTrusted(ctx, r.pager(""), "")
	if err != nil {
		return fetched{}, fmt.Errorf("%w, and the list that was to confirm it failed: %w", why, err)
	}
	r.state.refuse(false)
	return got, nil
}
