// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// watch is the phase watching: open a watch at the position unless one is open, and follow it to
// its end.
func (r *round) watch(ctx context.Context) outcome {
	watching, done := r.options.Relister.interruptible(ctx)
	defer done()
	if r.stream == nil {
		if r.options.Relister.isWanted() {
			return r.watchNotOpened(ctx, errAsked)
		}
		options := metav1.ListOptions{ResourceVersion: r.state.Version(), AllowWatchBookmarks: true, TimeoutSeconds: r.options.watchTimeout()}
		kind := KindWatch
		if r.reader.opensLate {
			kind = ""
		}
		s, err := r.open(watching, kind, options)
		if err != nil {
			return r.watchNotOpened(ctx, r.options.Relister.because(ctx, err))
		}
		s.ordered = options.ResourceVersion != "" && options.ResourceVersion != "0"
		r.stream = s
		if err := r.connected(s); err != nil {
			r.dropStream()
			return r.watchNotOpened(ctx, r.options.Relister.because(ctx, err))
		}
		r.timers.outage.opens()
		r.state.succeeded(ctx)
	}
	r.timers.hang.look(ctx)
	quiet := r.idleWatchdog()
	defer quiet.disarm()
	err := r.options.Relister.because(ctx, r.reader.follow(watching, r.stream, quiet, nil))
	r.noteWatchEnd(ctx, r.stream, err)
	r.dropStream()
	return r.watchEnded(ctx, err)
}

// idleWatchdog watches over a watch, if the user wants that, from the first bookmark on. Two looks
// without an event end it: the second one had the reflector's full attention.
func (r *round) idleWatchdog() *silence {
	limit := r.options.IdleTimeout
	if limit <= 0 {
		return &silence{}
	}
	s := &silence{clock: r.options.Clock, step: limit / 2, limit: limit, armed: func() bool { return r.options.Journal.Status().Bookmarked }, err: errIdle}
	s.begin()
	return s
}

// expired is told that the version of a watch has expired. If that is the version that the
// reflector was at before it listed, such a list will not help: a server that lists in pages gives
// exactly the version that it is asked for, as long as it has it, and the watch would expire for
// ever. The next list is then for the newest.
func (r *round) expired() {
	if r.still != "" && r.still == r.state.Version() {
		r.state.refuse(true)
	}
}

// missed is the outcome of a watch that the server has not served: the same again, because a server
// that is back may well go on where it was, and a list costs it much. After some in a row the whole
// state is asked for at once, since there may be a server, or a proxy before it, that serves only
// that.
func (r *round) missed(err error) outcome {
	if r.misses++; r.misses < watchMisses {
		return tryLater(Watching, err)
	}
	return endRound(err)
}

// watchNotOpened decides what follows a watch that could not be started: the same again later if
// the server is busy or out of reach, else another round, and its caller hears of the error.
func (r *round) watchNotOpened(ctx context.Context, err error) outcome {
	r.state.again, r.state.short = againAfter(err), false
	if errors.Is(err, errStopped) || isA[*resyncError](err) {
		return r.interrupted(ctx, err)
	}
	if errors.Is(err, errAsked) || r.doubted(ctx, err) {
		return endRound(nil)
	}
	r.failed(ctx, err)
	if isExpired(err) {
		r.expired()
	}
	switch {
	case isBusy(err):
		r.options.say(ctx, 4, "Watch failed, backing off", "err", err)
		return tryLater(Watching, err)
	case isOutOfReach(err):
		return r.missed(err)
	default:
		return endRound(err)
	}
}

// watchEnded decides what follows an established watch. One that has lost the server is opened
// again. None of the errors leaves the round: the next one shows whether anything is wrong. An
// expired version in particular does not yet mark the position as refused, because a list at that
// version asks for something at least as new and may well succeed; see expired.
func (r *round) watchEnded(ctx context.Context, err error) outcome {
	r.retryDeadline.After(err)
	switch {
	case errors.Is(err, errStopped):
		return goOn(Stopped)
	case errors.Is(err, errClosed):
		return goOn(Watching)
	case errors.Is(err, errIdle):
		r.options.say(ctx, 0, "Warning: the watch is silent, opening it anew")
		r.options.Journal.write(func(p *pages) { p.Silent = true })
		return goOn(Watching)
	case errors.Is(err, errAsked), r.doubted(ctx, err):
		return endRound(nil)
	}
	r.failed(ctx, err)
	switch {
	case isExpired(err):
		r.expired()
		r.options.say(ctx, 4, "Watch expired", "err", err)
	case apierrors.IsTooManyRequests(err):
		r.options.say(ctx, 4, "Watch returned 429, backing off")
		return tryLater(Watching, err)
	case apierrors.IsInternalError(err) && r.retryDeadline.ShouldRetry():
		r.options.say(ctx, 2, "Watching again after an internal error", "err", err)
		return goOn(Watching)
	case isBroken(err):
		r.options.say(ctx, 4, "Watch lost, backing off", "err", err)
		if again := r.missed(err); again.next != "" {
			return again
		}
	default:
		r.options.say(ctx, 0, "Warning: watch ended with an error", "err", err)
	}
	return endRound(nil)
}

func (r *round) noteWatchEnd(ctx context.Context, s *stream, err error) {
	took := r.options.Clock.Since(s.since)
	r.options.Journal.ended(Past{Kind: KindWatch, Took: took, Objects: s.received, Failed: !causeOf(err).ordinary, Reason: endReason(err)})
	r.state.again = againAfter(err)
	if s.understood > 0 || r.options.Clock.Since(cmp.Or(s.opened, s.since)) >= veryShortWatch {
		r.misses = 0
	}
	r.state.short = isA[*clientgo.VeryShortWatchError](err) && !r.state.short
	r.options.say(ctx, 4, "Watch closed", "totalItems", s.understood, "duration", took, "reason", err)
}
