// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// ErrNotComparable says that a resourceVersion is not a decimal number without leading zeros, so
// that nothing is older or newer than it.
var ErrNotComparable = store.ErrNotComparable

// WaitForVersion waits until the store of an informer of package cache shows the state at
// resourceVersion rv, or a newer one: for a controller that wants to see its own write, with the
// version that the write returned.
//
// What counts is the version that the server vouches for and the store has applied: a list, a watch
// event, a bookmark. The handlers may not have been called for it yet. rv must be of the same
// resource and cluster as the informer, else the answer means nothing. If nothing changes in what
// the informer selects, the wait lasts until the server's next bookmark, which may take a minute.
//
// When a backup of the server is put back, versions begin again. A version of before means nothing
// then: as long as the cache is ahead of the server WaitForVersion may return at once, although the
// write is gone. Once the informer has listed again (package audit sees to that) the store's
// version is an older one, and the wait lasts until the server has come to rv again, by other
// writes.
//
// Errors: ErrNotComparable at once, if rv is malformed, or as soon as the informer's own versions
// turn out to be; inspect.ErrForeign for informers of other packages and for controllers with a queue
// and store of the user's; the cause of the end of ctx, or of the informer, joined with the
// informer's last error, in a text that has its status.
func WaitForVersion(ctx context.Context, informer inspect.Syncer, rv string) error {
	own := door.Of(informer)
	if own == nil || own.Applier == nil {
		return inspect.ErrForeign
	}
	progress := &own.Applier.Progress
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %q", ErrNotComparable, rv)
	}
	defer progress.Await()()
	for {
		// before the look, so that no change falls between look and wait
		changed := progress.Next()
		if reached, err := progress.Reached(own.Table.RV, rv); reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-own.Report.Ended:
			if reached, err := progress.Reached(own.Table.RV, rv); reached || err != nil {
				return err // by the last that came
			}
			return notReached(own, rv, errNotReached)
		case <-ctx.Done():
			return notReached(own, rv, context.Cause(ctx))
		}
	}
}

var errNotReached = errors.New("the informer has stopped")

// notReached is an error that is cause and the informer's own, whose text the status gives.
func notReached(own *door.Informer, rv string, cause error) error {
	status, _ := inspect.StatusOf(own.Controller)
	text := fmt.Sprintf("waiting for version %s of %s, which is %v: %v", rv, own.HasSyncedChecker().Name(), status, cause)
	return event.Told(text, errors.Join(cause, own.Report.Status().Cause()))
}
