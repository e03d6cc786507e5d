// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrNotComparable says that a resourceVersion is not a decimal number without leading zeros, so that nothing is older or
// newer than it.
var ErrNotComparable = errNotComparable

// WaitForVersion waits until the store of an informer of this package shows the state at resourceVersion rv, or a newer
// one: for a controller that wants to see its own write, with the version that the write returned.
//
// What counts is the version that the server vouches for and the store has applied: a list, a watch event, a bookmark. The
// handlers may not have heard of it yet. rv must be of the same resource and cluster as the informer, else the answer
// means nothing. If nothing changes in what the informer selects, the wait lasts until the server's next bookmark, which
// may take a minute.
//
// Errors: ErrNotComparable at once, if rv is malformed, or as soon as the informer's own versions turn out to be;
// ErrNotSupported for informers of other packages and for controllers with a queue and store of the user's; the cause of
// the end of ctx, or of the informer, joined with the informer's last error, in a text that tells its status.
func WaitForVersion(ctx context.Context, informer interface{ HasSyncedChecker() DoneChecker }, rv string) error {
	own := inspect(informer)
	if own == nil || own.progress == nil {
		return ErrNotSupported
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %q", ErrNotComparable, rv)
	}
	defer own.progress.await()()
	for {
		changed := own.progress.next() // before the look, so that no change falls between look and wait
		if reached, err := own.reached(rv); reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-own.report.ended:
			if reached, err := own.reached(rv); reached || err != nil {
				return err // by the last that came
			}
			return own.notReached(rv, errNotReached)
		case <-ctx.Done():
			return own.notReached(rv, context.Cause(ctx))
		}
	}
}

var errNotReached = errors.New("the informer has stopped")

// reached reports whether the informer's store has come to rv.
func (i *inspection) reached(rv string) (bool, error) {
	return i.progress.reached(i.store.objects.table.RV, rv)
}

// notReached is an error that is cause and the informer's own, whose text the status gives.
func (i *inspection) notReached(rv string, cause error) error {
	text := fmt.Sprintf("waiting for version %s of %s, which is %v: %v", rv, i.HasSyncedChecker().Name(), i.status(), cause)
	return &toldError{text, errors.Join(cause, i.report.cause())}
}

// toldError is an error with a text of its own.
type toldError struct {
	text  string
	cause error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.cause }
