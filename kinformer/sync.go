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
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/switched"
)

var errNeverSyncs = errors.New("an event handler will never count as synced")

var (
	// errStoppedUnsynced reports that an informer stopped, or cannot run, before its first list was stored.
	errStoppedUnsynced = errors.New("an informer ended before it had synced")
	// errSourceUnsynced reports that of a source that the HasSynced of an informer waits for.
	errSourceUnsynced = errors.New("a source of an informer ended before it had synced")
)

// WaitForSync waits until the first list of each informer is in its store, and until the handler of
// each registration has returned from the calls of its initial list. Its arguments are values with a
// HasSyncedChecker: informers and controllers, including those of controller-runtime's caches, and
// registrations of handlers. It does not poll.
//
// It returns nil when all have synced. It returns an error when ctx ends, when an informer, or a source
// that it waits for, has stopped without having synced or cannot run, and when a registration can never
// count as synced. The error joins that cause with one error for each argument that has not synced. This
// names the argument and states the known reasons: for an informer its phase and the duration of the
// phase, its problems, and its last error, such as a 403, a missing resource or a refused connection; for
// a handler its state, or the call in which it panicked. errors.Is, errors.As and functions like
// apierrors.IsForbidden search all of them. For informers and registrations of other packages only the
// names are known. An informer that has synced does not imply that its handlers have. Without arguments
// WaitForSync returns nil.
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
		return nil // the last one has synced meanwhile
	}
	return errors.Join(causes...)
}

// awaitSynced returns nil when an informer or registration has synced, or the reason to stop waiting.
func awaitSynced(ctx context.Context, syncer inspect.Syncer) error {
	for {
		synced, hopeless := syncer.HasSyncedChecker(), hopeOf(syncer)
		var err error
		select {
		case <-synced.Done():
		case <-hopeless.handler:
			err = errNeverSyncs
		case <-hopeless.source:
			err = errSourceUnsynced
		case <-hopeless.ended:
			if hopeless.own != nil && hopeless.own.Replaced() != nil {
				continue
			}
			err = errStoppedUnsynced
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if clientgo.IsDone(synced) {
			return nil
		}
		return err
	}
}

// hopes are the channels of which one is closed when waiting is futile. They are nil for an informer or a
// registration of another package.
type hopes struct {
	own                    *door.Informer
	handler, source, ended <-chan struct{}
}

func hopeOf(syncer any) (of hopes) {
	if listener, ok := door.HeldBy[*fanout.Listener](syncer); ok {
		of.handler = listener.NeverSyncs()
	} else if e := switched.Of(syncer); e != nil {
		of.ended = e.Ended
	} else if of.own = door.Of(syncer); of.own != nil {
		of.ended = of.own.Report.Ended
		if of.own.Follower != nil {
			of.source = of.own.Follower.NeverSyncs()
		}
	}
	return of
}

// whyUnsynced describes why an informer or a registration has not synced: for an informer with its
// phase, the duration of the phase, and its problems.
func whyUnsynced(syncer inspect.Syncer) error {
	name := syncer.HasSyncedChecker().Name()
	if registration, ok := syncer.(clientgo.ResourceEventHandlerRegistration); ok {
		if handler, err := inspect.HandlerOf(registration); err == nil {
			return whyNotCalled(name, &handler)
		}
	}
	own := door.Of(syncer)
	if own == nil {
		return fmt.Errorf("%s has not synced", name)
	}
	name = beside.Named(own, name)
	status, _ := inspect.StatusOf(own.Controller)
	reasons := []string{beside.DescribePhase(status.Phase, status.PhaseSince, status.At.Sub(status.PhaseSince))}
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

// causeOf returns the current errors of an informer and of its sources, or nil.
func causeOf(own *door.Informer) error {
	if own.Parts == nil {
		return own.Report.Status().Cause()
	}
	var causes []error
	if cause := own.Report.Status().Cause(); cause != nil {
		causes = append(causes, cause)
	}
	for _, part := range own.Parts() {
		if cause := causeOf(part); cause != nil {
			causes = append(causes, cause)
		}
	}
	if len(causes) == 0 {
		return nil
	}
	return someOf(causes)
}

// someOf is errors of which the text has eight at most. errors.Is and errors.As find all.
type someOf []error

func (s someOf) Unwrap() []error { return s }

func (s someOf) Error() string {
	const most = 8
	text := errors.Join(s[:min(len(s), most)]...).Error()
	if len(s) > most {
		text += fmt.Sprintf("\nand %d more errors", len(s)-most)
	}
	return text
}

// whyNotCalled describes why a registration has not synced.
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

// ErrNotComparable reports that a resourceVersion is not a decimal number without leading zeros, so it
// is neither older nor newer than another one.
var ErrNotComparable = store.ErrNotComparable

// WaitForVersion waits until the store of an informer of package cache has the state at resourceVersion
// rv, or a newer one. It is for a controller that must see its own write, with the version that the
// write returned.
//
// The version of the store is the last one that the server has confirmed, with a list, a watch event or
// a bookmark, and that is applied to the store. The handlers may not have been called for it yet. rv
// must be of the same resource and cluster as the informer, otherwise the result is meaningless. If the
// objects that the informer selects do not change, the wait lasts until the server's next bookmark,
// which may take a minute.
//
// When a server is restored from a backup, its versions start again, and earlier versions are
// meaningless: while the cache is ahead of the server, WaitForVersion may return at once although the
// write is lost. After the informer has listed again (package audit causes that), the store's version
// is an older one, and the wait lasts until the server has reached rv again with other writes.
//
// Errors: ErrNotComparable at once if rv is malformed, or as soon as the informer's own versions turn
// out to be; inspect.ErrForeign for informers of other packages and for controllers with the user's
// queue and store; the cause of the end of ctx or of the informer, joined with the informer's last
// error, in a text that includes its status.
//
// For an informer of package sources it waits for each of the current sources until that is reached or
// removed, which is meaningful only if they are of one server. A source has reached a version when a list
// of its present request has, so that of a source which is replaced the wait goes on. Without sources the
// store has no version, and WaitForVersion returns an error at once.
func WaitForVersion(ctx context.Context, informer inspect.Syncer, rv string) error {
	own := door.Of(informer)
	if own == nil || own.Progress == nil {
		return inspect.ErrForeign
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %q", ErrNotComparable, rv)
	}
	if own.Parts == nil {
		return awaitVersionOf(ctx, own, rv)
	}
	parts := own.Parts()
	if len(parts) == 0 {
		return notReached(own, rv, errNoSources)
	}
	for name, part := range parts {
		err := awaitVersionOf(ctx, part, rv)
		if now := own.Parts()[name]; err != nil && now != nil && now.Controller == part.Controller { // else it was removed
			return err
		}
	}
	return nil
}

// awaitVersionOf is WaitForVersion for an informer with one source, or for a source, which may be replaced
// meanwhile.
func awaitVersionOf(ctx context.Context, own *door.Informer, rv string) error {
	for {
		err := awaitVersion(ctx, own, rv)
		next := own.Replaced()
		if next == nil || err != nil && ctx.Err() != nil {
			return err
		}
		own = next
	}
}

// awaitVersion is WaitForVersion for an informer with one source, or for a session of a source.
func awaitVersion(ctx context.Context, own *door.Informer, rv string) error {
	progress := own.Progress
	defer progress.Await()()
	for {
		// Get the channel before the check, so that no change between them is missed.
		changed := progress.Next()
		if reached, err := progress.Reached(own.Applied, rv); reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-own.Report.Ended:
			if reached, err := progress.Reached(own.Applied, rv); reached || err != nil {
				return err // by the last change
			}
			return notReached(own, rv, errNotReached)
		case <-ctx.Done():
			return notReached(own, rv, context.Cause(ctx))
		}
	}
}

var (
	errNotReached = errors.New("the informer has stopped")
	errNoSources  = errors.New("the informer has no sources")
)

// notReached returns an error that joins cause and the informer's own, with the status in its text.
func notReached(own *door.Informer, rv string, cause error) error {
	status, _ := inspect.StatusOf(own.Controller)
	text := fmt.Sprintf("waiting for version %s of %s, which is %v: %v", rv, own.HasSyncedChecker().Name(), status, cause)
	return event.WithText(text, errors.Join(cause, causeOf(own)))
}

// Relist makes an informer or controller of package cache request the collection again, for when the
// cache is in doubt. It accepts the same arguments as inspect.StatusOf. Reads are served from the cache
// until the response is complete. Then handlers are called, in order, for the differences, including
// objects with other content under the cached resourceVersion. No handler is called for an object with
// the cached content, UID and resourceVersion, unless that resourceVersion is empty, or the object has
// values that never count as equal: functions, channels, values of package sync, and so messages of
// protobuf's second API, as in the types of Istio. The open watch ends. The request, a list or a
// watch-list, follows after the usual pause between two such requests, initially a second.
//
// Relist may be called at any time, also by handlers, and returns at once. The request always begins
// after the call; several calls before it begins cause one request. inspect.Inspection.Relists counts
// the request under "asked". Before Run the call has no effect, because the first request is still to
// be made.
//
// The new state is not older than the cached one, unless the server reports that it does not know the
// cached version.
//
// Relist returns inspect.ErrForeign for informers of other packages, and another error for an informer
// that has stopped.
func Relist(informer inspect.Syncer) error {
	own := door.Of(informer)
	if own == nil {
		return inspect.ErrForeign
	}
	return beside.Relist(own)
}
