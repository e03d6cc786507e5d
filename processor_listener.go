// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/fanout"
)

// registration is the handle of a handler of a shared informer: as in client-go a pointer, that two
// registrations do not share.
type registration struct{ listener *fanout.Listener }

var _ MeasuredRegistration = (*registration)(nil)

// HasSynced reports whether the informer has synced and the handler has returned from the Adds of
// its initial list.
func (r *registration) HasSynced() bool { return IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (r *registration) HasSyncedChecker() DoneChecker { return r.listener.SyncedChecker() }

// ShutdownChan returns a channel that is closed when the handler was removed, or the informer
// stopped, and its last call has returned.
func (r *registration) ShutdownChan() <-chan struct{} { return r.listener.Shutdown() }

// Statistics implements MeasuredRegistration.
func (r *registration) Statistics() HandlerStatistics { return statisticsOf(r.listener.Figures()) }

var errNeverSyncs = errors.New("an event handler will never count as synced")

// neverSyncs returns a channel that is closed when the registration can no longer become synced.
func (r *registration) neverSyncs() <-chan struct{} { return r.listener.NeverSyncs() }

// whyUnsynced says what keeps the registration from being synced.
func (r *registration) whyUnsynced() error {
	name, known := r.HasSyncedChecker().Name(), r.Statistics()
	switch {
	case known.SyncError != nil:
		return fmt.Errorf("%s has not synced, and never will: %w", name, known.SyncError)
	case known.Pending == 0:
		return fmt.Errorf("%s has not synced (it waits for the informer)", name)
	default:
		return fmt.Errorf("%s has not synced (%s, %d calls outstanding, in one for %s)",
			name, known.State, known.Pending, known.Calling.Round(time.Millisecond))
	}
}
