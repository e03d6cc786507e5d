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

// watch is the phase watching: it opens a watch at the position unless one is open, and follows it
// to its end.
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
		r.reader.anew.begins(s.ordered)
		r.stream = s
		if err := r.connected(s); err != nil {
			r.dropStream()
			return r.watchNotOpened(ctx, r.options.Relister.because(ctx, err))
		}
		r.timers.outage.opens()
		r.state.succeeded(ctx, r.stream)
	}
	r.timers.hang.look(ctx)
	quiet := r.idleWatchdog()
	defer quiet.disarm()
	err := r.options.Relister.because(ctx, r.reader.follow(watching, r.stream, quiet, nil))
	r.noteWatchEnd(ctx, r.stream, err)
	r.dropStream()
	return r.watchEnded(ctx, err)
}

// idleWatchdog returns the watchdog that IdleTimeout asks for. It is armed by the first bookmark.
// Two looks without an event end the watch; two, so that the reflector was not busy during the
// second interval.
func (r *round) idleWatchdog() *silence {
	limit := r.options.IdleTimeout
	if limit <= 0 {
		return &silence{}
	}
	s := &silence{clock: r.options.Clock, step: limit / 2, limit: limit, armed: func() bool { return r.options.Journal.Status().Bookmarked }, err: errIdle}
	s.begin()
	return s
}

// expired is called when the version of a watch has expired. If the reflector was at that version
// before its list, another list at that version does not help: a server that lists in pages returns
// exactly the requested version while it has it, and the watch would expire again. The next list
// then asks for the most recent state.
func (r *round) expired() {
	if r.still != "" && r.still == r.state.Version() {
		r.state.refuse(true)
	}
}

// missed returns the outcome of a watch that the server did not serve. The watch is repeated,
// because a server that is back can often continue it, and a list is expensive. After watchMisses
// in a row the round ends: the server, or a proxy before it, may serve only lists.
func (r *round) missed(err error) outcome {
	if r.misses++; r.misses < watchMisses {
		return tryLater(Watching, err)
	}
	return endRound(err)
}

// watchNotOpened returns what follows a watch that could not be started: the same request later if
// the server is busy or out of reach, else another round after err was reported.
func (r *round) watchNotOpened(ctx context.Context, err error) outcome {
	r.state.again = againAfter(err)
	r.state.become(short, false)
	if errors.Is(err, errStopped) || isA[*resyncError](err) {
		return r.interrupted(ctx, err)
	}
	if errors.Is(err, errAsked) || r.doubted(ctx, err) {
		return endRound(nil)
	}
	r.options.Journal.write(func(p *journalState) { p.Unopened++ })
	r.failed(ctx, err)
	if isExpired(err) {
		r.expired()
	}
	switch {
	case isBusy(err):
		r.options.log(ctx, 4, "Watch failed, backing off", "err", err)
		return tryLater(Watching, err)
	case isOutOfReach(err):
		return r.missed(err)
	default:
		return endRound(err)
	}
}

// watchEnded returns what follows the end of an established watch. A watch that lost its server is
// opened again. An error is returned from the round only if the server has asked to wait, so that the
// next round waits. Without an error the next round shows whether something is wrong. An expired version
// does not yet mark the position as refused, because a list asks for a state at least as new as the
// version and may succeed; see expired.
func (r *round) watchEnded(ctx context.Context, err error) outcome {
	r.retryDeadline.After(err)
	switch {
	case errors.Is(err, errStopped):
		return goOn(Stopped)
	case errors.Is(err, errClosed):
		return goOn(Watching)
	case errors.Is(err, errIdle):
		r.options.warn(ctx, "The watch is silent, opening another one")
		r.options.Journal.write(func(p *journalState) { p.Silent = true })
		return goOn(Watching)
	case errors.Is(err, errAsked), errors.Is(err, errAnew), r.doubted(ctx, err):
		return endRound(nil)
	}
	r.failed(ctx, err)
	switch {
	case isExpired(err):
		r.expired()
		r.options.log(ctx, 4, "Watch expired", "err", err)
	case apierrors.IsTooManyRequests(err):
		r.options.log(ctx, 4, "Watch returned 429, backing off")
		return tryLater(Watching, err)
	case apierrors.IsInternalError(err) && !asksToWait(err) && r.retryDeadline.ShouldRetry():
		r.options.log(ctx, 2, "Watching again after an internal error", "err", err)
		return goOn(Watching)
	case isBroken(err):
		r.options.log(ctx, 4, "Watch lost, backing off", "err", err)
		if again := r.missed(err); again.next != "" {
			return again
		}
	default:
		r.options.warn(ctx, "Watch ended with an error", "err", err)
	}
	if asksToWait(err) {
		return endRound(err)
	}
	return endRound(nil)
}

func (r *round) noteWatchEnd(ctx context.Context, s *stream, err error) {
	took := r.options.Clock.Since(s.since)
	r.options.Journal.ended(Past{Kind: KindWatch, Took: took, Objects: s.received, Failed: !causeOf(err).ordinary, Reason: endReason(err)})
	r.state.again = againAfter(err)
	if s.understood > 0 && r.reader.anew.ends() {
		r.options.Journal.write(func(p *journalState) { p.Anew = false })
	}
	if s.understood > 0 || r.options.Clock.Since(cmp.Or(s.opened, s.since)) >= veryShortWatch {
		r.misses = 0
	}
	r.state.become(short, isA[*clientgo.VeryShortWatchError](err) && !r.state.is(short))
	r.options.log(ctx, 4, "Watch closed", "totalItems", s.understood, "duration", took, "reason", err)
}
