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

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/fanout"
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

// neverSyncs returns a channel that is closed when it is of no use to wait any longer, and the error
// that says why. Both are nil for an informer or a registration of another package.
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
	if !strings.Contains(name, own.Resource) {
		name += " of " + own.Resource
	}
	status, _ := inspect.StatusOf(own.Controller)
	reasons := []string{door.Doing(status.Phase, status.PhaseSince, status.At.Sub(status.PhaseSince))}
	for _, problem := range status.Problems {
		reasons = append(reasons, problem.Text)
	}
	if status.Phase == inspect.PhaseWatching {
		reasons = append(reasons, "its first list is not in the store yet")
	}
	unsynced := fmt.Sprintf("%s has not synced: %s", name, strings.Join(reasons, ", "))
	if cause := own.Report.Status().Cause(); cause != nil {
		return fmt.Errorf("%s: %w", unsynced, cause)
	}
	return errors.New(unsynced)
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
