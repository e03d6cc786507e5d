// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// round is one way of a reflector from asking for the whole state up to where only the whole state
// helps, again and again: the work in its phases leads to outcomes. Requests run in goroutines of
// their own, and every wait goes through await or follow, which also serve the timers.
type round struct {
	state   *memory
	reader  *reader  // of state
	options *Options // of reader
	timers  *timers  // of reader

	// What follows is reset at the end of the round.

	stream        *stream                    // the open watch, in watching only; nil: one has to be opened
	retryDeadline clientgo.RetryWithDeadline // decides about internal errors of watches
	strikes       int                        // consecutive streams that ended without their end mark
	markless      int                        // those of them that had stayed open
	misses        int                        // consecutive watches that the server did not serve
	still         string                     // the version of a list that was not newer than the reflector was before; "": it was
}

// failed notes a request, or the following of a watch, that ended with err.
func (r *round) failed(ctx context.Context, err error) {
	if r.options.Journal.failed(err); !r.timers.outage.note(ctx, err) {
		r.state.degraded(ctx, causeOf(err).word)
	}
}

// asks notes that the whole state is asked for, again if there is a reason.
func (r *round) asks(ctx context.Context, mode Mode, again string) {
	r.options.Journal.write(func(p *pages) {
		if p.LeftNow = 0; again != "" {
			count(&p.Relists, again, 1)
		}
	})
	if told := string(mode) + " " + again; again != againFailed && told != r.state.told { // else no change
		r.state.told = told
		r.options.tell(ctx, stateListing, "how", mode, "again", again)
	}
}

// emptyWatch is the type of what client-go returns where it got no connection, or not in time.
var emptyWatch = reflect.TypeOf(watch.NewEmptyWatch())

// connected takes notice of a watch that was opened. The error says that no server did that.
func (r *round) connected(s *stream) error {
	if reflect.TypeOf(s.watch) == emptyWatch {
		return ErrNoConnection
	}
	r.timers.outage.late()
	r.timers.outage.answered()
	return nil
}

// begins notes that a request for the whole state begins. If somebody wants that, what is cached is
// not trusted to be right under its version; if the most recent state is wanted, the version itself
// is not.
func (r *round) begins() {
	wanted, newest := r.options.Relister.begins()
	if wanted {
		r.state.distrust(true)
	}
	if newest {
		r.state.newest = true
	}
}

// takeTurn waits until the whole state may be taken over in the phase. The caller gives the turn
// back by done; what hangs has given it back before.
func (r *round) takeTurn(ctx context.Context, phase Phase) (done func(), err error) {
	if r.options.Turns == nil {
		return func() {}, nil
	}
	select {
	case <-r.options.Turns:
	default:
		r.options.Journal.enter(Waiting)
		r.options.tell(ctx, stateWaiting)
		if _, err := await(ctx, r.timers, r.options.Turns); err != nil {
			return nil, err
		}
		r.options.Journal.enter(phase)
	}
	r.timers.hang.slot = r.options.Turns
	return r.timers.hang.giveBack, nil
}

// open starts a watch, as a request of that kind. The caller has to stop it. The request's context
// ends with the stream, not before.
func (r *round) open(ctx context.Context, kind string, options metav1.ListOptions) (s *stream, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if s == nil {
			cancel()
		}
	}()
	since := r.options.Clock.Now() // before the request: some proxies hold back the headers until the first event
	return requestOf(ctx, r.timers, kind, func(ctx context.Context) (*stream, error) {
		r.options.Journal.write(func(p *pages) { p.Status.Watches++ })
		w, err := r.state.lists.WatchWithContext(ctx, options)
		if err != nil {
			return nil, event.DiscreetAnswer(err)
		}
		if event.IsNil(w) {
			return nil, errNoStream
		}
		r.warnOfClient(ctx)
		return &stream{watch: w, events: w.ResultChan(), cancel: cancel, since: since, opened: r.options.Clock.Now()}, nil
	}, (*stream).stop)
}

// warnOfClient logs, once, why the client decodes, if a transport of package direct was made and the user
// has not turned direct decoding off.
func (r *round) warnOfClient(ctx context.Context) {
	if d := r.options.Journal.Status().Decoding; d.IsUnexpected() && !r.state.indirect {
		r.state.indirect = true
		r.options.say(ctx, 0, "Warning: the client decodes, although the program uses direct.Transport", "reason", d.Why)
	}
}

// beginWatching is the transition from a published state to watching.
func (r *round) beginWatching(ctx context.Context) outcome {
	r.state.synced, r.state.unserved, r.state.told = true, false, ""
	r.options.tell(ctx, stateSynced)
	r.retryDeadline = clientgo.NewRetryWithDeadline(r.options.MaxInternalErrorRetry, internalErrorReset, apierrors.IsInternalError, r.options.Clock)
	r.timers.resync.begin()
	return goOn(Watching)
}

// interrupted is where a wait that await cut short leads: to stopped when the context ended, else,
// after a failed resync, to the end of the round.
func (r *round) interrupted(ctx context.Context, err error) outcome {
	if errors.Is(err, errStopped) {
		return goOn(Stopped)
	}
	r.options.say(ctx, 0, "Warning: watching given up", "err", err)
	return endRound(nil)
}

// close releases what the round holds. It may be called again and again.
func (r *round) close() {
	r.dropStream()
	r.timers.resync.alarm.disarm()
	r.reader.collected.drop()
	r.state.unserved = r.misses == watchMisses
	r.strikes, r.markless, r.misses, r.still = 0, 0, 0, ""
}

func (r *round) dropStream() {
	if s := r.stream; s != nil {
		r.stream = nil // before: a Stop that panics is not called again
		s.stop()
	}
}
