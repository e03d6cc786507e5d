// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrNotComparable tells that a resourceVersion is not a decimal number without leading zeros, so that nothing is older or
// newer than it.
var ErrNotComparable = errors.New("resourceVersion is not comparable")

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
	if own == nil || own.fresh == nil {
		return ErrNotSupported
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %q", ErrNotComparable, rv)
	}
	own.fresh.waiting.Add(1)
	defer own.fresh.waiting.Add(-1)
	for {
		changed := own.fresh.next() // before the look, so that no change falls between look and wait
		if reached, err := own.fresh.reached(own.store.RV(), rv); reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-own.report.ended:
			if reached, err := own.fresh.reached(own.store.RV(), rv); reached || err != nil {
				return err // by the last that came
			}
			return own.notReached(rv, errNotReached)
		case <-ctx.Done():
			return own.notReached(rv, context.Cause(ctx))
		}
	}
}

var errNotReached = errors.New("the informer has stopped")

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

// freshness tells which version the server vouches for has arrived in an informer's store. The consumer of the queue
// notes what it has applied; while nobody waits that costs a look at each record's type.
type freshness struct {
	// vouched is false while the store's version may come from synthetic Added events, which a watch without a version
	// begins with in any order: until one that is not Added comes.
	vouched atomic.Bool
	waiting atomic.Int32

	mu struct {
		sync.Mutex
		changed chan struct{} // closed at the next change; nil until somebody asks
	}
}

// note follows what has just been applied to the store.
func (f *freshness) note(batch []record) {
	for i := range batch {
		switch batch[i].typ {
		case ReplacedAll, Bookmark, Updated, Deleted:
			if vouches := batch[i].version != "" && batch[i].version != "0"; vouches != f.vouched.Load() {
				f.vouched.Store(vouches)
			}
		}
	}
	if f.waiting.Load() > 0 {
		f.wake()
	}
}

func (f *freshness) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.changed != nil {
		close(f.mu.changed)
		f.mu.changed = nil
	}
}

// next returns a channel that is closed when something was applied after this call.
func (f *freshness) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.changed == nil {
		f.mu.changed = make(chan struct{})
	}
	return f.mu.changed
}

// reached tells whether the store, which is at applied, has come to rv.
func (f *freshness) reached(applied, rv string) (bool, error) {
	if !f.vouched.Load() {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(applied, rv)
	if err != nil {
		return false, fmt.Errorf("%w: the informer is at %q", ErrNotComparable, applied)
	}
	return order >= 0, nil
}
