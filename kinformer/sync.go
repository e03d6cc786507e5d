// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/store"
)

var errNeverSyncs = errors.New("an event handler will never count as synced")

// errStoppedUnsynced says that an informer stopped, or is one that cannot run, before its first
// list was in the store.
var errStoppedUnsynced = errors.New("an informer ended before it had synced")

// WaitForSync waits until the first list of each informer is in its store, and until the handler of
// each registration has returned from the calls of its initial list. It takes what has a
// HasSyncedChecker: informers and controllers, those of controller-runtime's caches too, and the
// registrations of handlers. It does not poll.
//
// It returns nil when all have synced. It returns an error when ctx ends, when an informer has
// stopped without having synced or cannot run, and when a registration can never count as synced.
// The error joins the cause of that with the name of each that has not synced, and what is known of
// the reason: what the informer does and for how long, what is wrong with it, and its last error,
// such as a 403, a missing resource or a refused connection; what a handler does; or the call in
// which it panicked. errors.Is and errors.As look into all of them, and so do apierrors.IsForbidden
// and its kin. Of informers and registrations of other packages only the names are known. An
// informer that has synced says nothing of its handlers.
func WaitForSync(ctx context.Context, informersAndRegistrations ...inspect.Syncer) error {
	if i := slices.Index(informersAndRegistrations, nil); i >= 0 {
		return fmt.Errorf("WaitForSync: argument %d of %d is nil", i+1, len(informersAndRegistrations))
	}
	waiting, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	results := make(chan error, len(informersAndRegistrations))
	for _, one := range informersAndRegistrations {
		go func() { results <- awaitSynced(waiting, one) }()
	}
	var ended error
	for range informersAndRegistrations {
		if err := <-results; err != nil && ended == nil {
			ended = err
			stopWaiting()
		}
	}
	if ended == nil {
		return nil
	}
	causes := []error{ended}
	for _, one := range informersAndRegistrations {
		if !clientgo.IsDone(one.HasSyncedChecker()) {
			causes = append(causes, whyUnsynced(one))
		}
	}
	if len(causes) == 1 {
		return nil // the last one synced after all
	}
	return errors.Join(causes...)
}

// awaitSynced returns nil once an informer or registration has synced, else why it does not wait
// any longer.
func awaitSynced(ctx context.Context, what inspect.Syncer) error {
	synced := what.HasSyncedChecker().Done()
	hopeless, why := neverSyncs(what)
	var err error
	select {
	case <-synced:
	case <-hopeless:
		err = why
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case <-synced:
		return nil
	default:
		return err
	}
}

// neverSyncs returns a channel that is closed when it is of no use to wait any longer, and the
// error that says why. Both are nil for an informer or a registration of another package.
func neverSyncs(what any) (<-chan struct{}, error) {
	if listener, ok := door.Held[*fanout.Listener](what); ok {
		return listener.NeverSyncs(), errNeverSyncs
	}
	if own := door.Of(what); own != nil {
		return own.Report.Ended, errStoppedUnsynced
	}
	return nil, nil
}

// whyUnsynced says what is known of what has not synced: for an informer what it does and for how
// long, and what is wrong.
func whyUnsynced(what inspect.Syncer) error {
	name := what.HasSyncedChecker().Name()
	if registration, ok := what.(clientgo.ResourceEventHandlerRegistration); ok {
		if handler, err := inspect.StatsOf(registration); err == nil {
			return whyNotCalled(name, &handler)
		}
	}
	own := door.Of(what)
	if own == nil {
		return fmt.Errorf("%s has not synced", name)
	}
	name = own.Named(name)
	status, _ := inspect.StatusOf(own.Controller)
	reasons := []string{door.Doing(status.Phase, status.PhaseSince, status.At.Sub(status.PhaseSince))}
	for _, problem := range status.Problems {
		reasons = append(reasons, problem.Text)
	}
	if status.Phase == inspect.PhaseWatching {
		reasons = append(reasons, "its first list is not in the store yet")
	}
	unsynced := fmt.Sprintf("%s has not synced: %s", name, strings.Join(reasons, ", "))
	if cause := causeOf(own); cause != nil {
		return fmt.Errorf("%s: %w", unsynced, cause)
	}
	return errors.New(unsynced)
}

// causeOf returns what keeps an informer from its work, or each of its sources; nil: nothing does.
func causeOf(own *door.Informer) error {
	if own.Parts == nil {
		return own.Report.Status().Cause()
	}
	causes := []error{own.Report.Status().Cause()}
	for _, part := range own.Parts() {
		causes = append(causes, causeOf(part))
	}
	return errors.Join(causes...)
}

// whyNotCalled says what keeps a registration from being synced.
func whyNotCalled(name string, handler *inspect.Handler) error {
	switch {
	case handler.SyncError != nil:
		return fmt.Errorf("%s has not synced, and never will: %w", name, handler.SyncError)
	case handler.Pending == 0:
		return fmt.Errorf("%s has not synced (it waits for the informer)", name)
	default:
		return fmt.Errorf("%s has not synced (%s, %d calls outstanding, in one for %s)",
			name, handler.State, handler.Pending, handler.Calling.Round(time.Millisecond))
	}
}

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
// turn out to be; inspect.ErrForeign for informers of other packages and for controllers with a
// queue and store of the user's; the cause of the end of ctx, or of the informer, joined with the
// informer's last error, in a text that has its status.
//
// Of an informer of package sources it waits for each of the sources that are there now, until it is
// removed, which means something if they are of one server.
func WaitForVersion(ctx context.Context, informer inspect.Syncer, rv string) error {
	own := door.Of(informer)
	if own == nil || own.Progress == nil {
		return inspect.ErrForeign
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %q", ErrNotComparable, rv)
	}
	if own.Parts == nil {
		return awaitVersion(ctx, own, rv)
	}
	for name, part := range own.Parts() {
		err := awaitVersion(ctx, part, rv)
		if now := own.Parts()[name]; err != nil && now != nil && now.Controller == part.Controller { // else it was removed
			return err
		}
	}
	return nil
}

// awaitVersion is WaitForVersion for one source.
func awaitVersion(ctx context.Context, own *door.Informer, rv string) error {
	progress := own.Progress
	defer progress.Await()()
	for {
		// before the look, so that no change falls between look and wait
		changed := progress.Next()
		if reached, err := progress.Reached(own.Applied, rv); reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-own.Report.Ended:
			if reached, err := progress.Reached(own.Applied, rv); reached || err != nil {
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
	return event.Told(text, errors.Join(cause, causeOf(own)))
}

// Relist makes an informer or controller of package cache request the whole state again, for when
// the cache is in doubt. It takes what inspect.StatusOf takes. Reads are served from the cache
// until the answer is complete. Then handlers are called, in order, for what is different,
// including objects with other content under the cached version. No handler is called for an object
// with the cached content and UID under the cached resourceVersion, unless that is empty. The open
// watch ends. The request, a list or a watch-list, follows after the usual pause between two such
// requests, which is a second at first.
//
// It may be called at any time, also from handlers, and returns at once. The request always begins
// after the call; several calls before it begins lead to one request. inspect.Inspection.Relists
// counts it under "asked". Before Run the call has no effect, because the first request is still to
// come.
//
// The state is not older than the cached one, unless the server says that it does not know the
// cached version.
//
// The error is inspect.ErrForeign for informers of other packages, and another one for an informer
// that has stopped.
func Relist(informer inspect.Syncer) error {
	own := door.Of(informer)
	if own == nil {
		return inspect.ErrForeign
	}
	return own.Relist()
}
