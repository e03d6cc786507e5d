// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

// round lists (or streams) the collection and watches it until only a new list can help. Its
// methods do the work of the phases and return outcomes. Requests run in goroutines of their own.
// Every wait goes through await or follow, which also serve the timers.
type round struct {
	state   *persistentState
	reader  *watchReader // of state
	options *Options     // of reader
	timers  *timers      // of reader

	// The following fields are reset at the end of the round.

	stream        *stream                    // the open watch, while watching; nil if none is open
	retryDeadline clientgo.RetryWithDeadline // limits retries after internal errors of watches
	strikes       int                        // consecutive watch-lists that ended without their end mark
	markless      int                        // the ones among strikes that had stayed open
	misses        int                        // consecutive watches that the server did not serve
	still         string                     // the version of the list, if it was the reflector's version before; else ""
}

// failed records that a request, or a watch, ended with err.
func (r *round) failed(ctx context.Context, err error) {
	r.state.undefined(err)
	if r.options.Journal.failed(err); !r.timers.outage.note(ctx, err) {
		r.state.degraded.begin(ctx, r.options, time.Now(), stateDegraded, causeOf(err).word)
	}
}

// asks records that a list begins. again is the reason for a relist, or "".
func (r *round) asks(ctx context.Context, mode Mode, again string) {
	r.options.Journal.write(func(p *journalState) {
		if p.LeftNow = 0; again != "" {
			count(&p.Relists, again, 1)
		}
	})
	if logged := string(mode) + " " + again; again != againFailed && logged != r.state.loggedList { // else nothing has changed
		r.state.loggedList = logged
		r.options.logState(ctx, stateListing, "how", mode, "again", again)
	}
}

// connected records an opened watch. It returns ErrNoConnection if no server opened it.
func (r *round) connected(s *stream) error {
	if tap.IsEmpty(s.watch) {
		return ErrNoConnection
	}
	r.timers.outage.late()
	r.timers.outage.answered()
	return nil
}

// begins records that a list begins. If a relist was requested, cached objects are not trusted to
// match their versions. If the most recent state was requested, the reflector's version is not
// trusted either.
func (r *round) begins() {
	wanted, mostRecent := r.options.Relister.begins()
	if wanted {
		r.state.distrust(true)
	}
	if mostRecent {
		r.state.become(newest, true)
	}
}

// takeTurn blocks until a list may begin, if the number of concurrent lists is limited. The caller
// must call done to release the turn. A request that hangs releases it early.
func (r *round) takeTurn(ctx context.Context, phase Phase) (done func(), err error) {
	if r.options.Turns == nil {
		return func() {}, nil
	}
	select {
	case <-r.options.Turns:
	default:
		r.options.Journal.enter(Waiting)
		r.options.logState(ctx, stateWaiting)
		if _, err := await(ctx, r.timers, r.options.Turns); err != nil {
			return nil, err
		}
		r.options.Journal.enter(phase)
	}
	r.timers.hang.slot = r.options.Turns
	return r.timers.hang.giveBack, nil
}

// open starts a watch, as a request of that kind. The caller must stop the stream. The request's
// context ends with the stream, not before.
func (r *round) open(ctx context.Context, kind string, options metav1.ListOptions) (s *stream, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if s == nil {
			cancel()
		}
	}()
	since := r.options.Clock.Now() // before the request: some proxies hold back the headers until the first event
	return requestOf(ctx, r.timers, kind, func(ctx context.Context) (*stream, error) {
		r.options.Journal.write(func(p *journalState) {
			p.Status.Watches++
			p.follow(false) // the watch before has ended
		})
		w, err := r.state.lists.WatchWithContext(ctx, options)
		if err != nil {
			return nil, event.RedactedAnswer(err)
		}
		if event.IsNil(w) {
			return nil, errNoStream
		}
		r.warnOfClient(ctx)
		s := &stream{watch: w, events: w.ResultChan(), pruned: tap.IsPruned(w), cancel: cancel, since: since, opened: r.options.Clock.Now()}
		s.lasts = time.Duration(*options.TimeoutSeconds)*time.Second + outlives
		s.due = s.opened.Add(s.lasts)
		return s, nil
	}, (*stream).stop)
}

// warnOfClient logs once why the client decodes although a transport of package direct was made, or
// objects were to share parts. It does not log if the user has turned direct decoding off.
func (r *round) warnOfClient(ctx context.Context) {
	d := r.options.Journal.Status().Decoding
	if !d.IsUnexpected() || r.state.explained.Swap(true) {
		return
	}
	although := "The client decodes, although ShareParts is set"
	if tap.InUse.Load() {
		although = "The client decodes, although the program uses direct.Transport"
	}
	r.options.warn(ctx, although, "reason", d.Why)
}

// beginWatching leads from a published state to watching.
func (r *round) beginWatching(ctx context.Context) outcome {
	r.state.become(published, true)
	r.state.become(unserved, false)
	r.state.loggedList = ""
	r.options.logState(ctx, stateSynced)
	r.retryDeadline = clientgo.NewRetryWithDeadline(r.options.MaxInternalErrorRetry, internalErrorReset, apierrors.IsInternalError, r.options.Clock)
	r.timers.resync.begin()
	return goOn(Watching)
}

// interrupted returns the outcome of a wait that await cut short: stopped if the context ended, and
// the end of the round after a failed resync.
func (r *round) interrupted(ctx context.Context, err error) outcome {
	if errors.Is(err, errStopped) {
		return goOn(Stopped)
	}
	r.options.warn(ctx, "Watching given up", "err", err)
	return endRound(nil)
}

// close releases what the round holds. It may be called more than once.
func (r *round) close() {
	r.dropStream()
	r.timers.resync.alarm.disarm()
	r.reader.collected.drop()
	r.state.become(unserved, r.misses == watchMisses)
	r.strikes, r.markless, r.misses, r.still = 0, 0, 0, ""
}

func (r *round) dropStream() {
	if s := r.stream; s != nil {
		r.stream = nil // first, so that a Stop that panics is not called again
		s.stop()
	}
}
