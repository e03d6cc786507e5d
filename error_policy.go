// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// ErrorPolicy decides what an informer does about an error of a list or watch after which it would wait: attempts is how
// many errors there were since the last success, this one included; those of requests that fail one right after the other are
// one. It is called by the goroutine that lists and watches, before the watch-error handler, and must not wait. See
// WithErrorPolicy.
type ErrorPolicy func(ctx context.Context, err error, attempts int) ErrorDecision

// ErrorDecision is what an ErrorPolicy wants. The zero value: try again after the informer's backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer if it has not got its first list yet, as a program does that would rather fail at its start
	// than wait. An informer that has it goes on, with its backoff, or after After: it is in use, and what is wrong now may
	// be right again in seconds.
	//
	// An informer that was stopped never starts again. Its Run returns, as if its context had ended, and the error is the
	// LastError of its Status. What WaitForSync and WaitForVersion still wait for fails with it. That it has stopped is
	// reported to k8s.io/apimachinery/pkg/util/runtime.HandleError, and to the handler of WithStopHandler.
	Stop bool
	// StopEvenIfSynced ends the informer at any time, as Stop does before the first list. Who reads the store of one that
	// had synced goes on reading its last state, which is never brought up to date: the program has to end, or to put another
	// informer in its place. See WithStopHandler.
	StopEvenIfSynced bool
	// After, if positive, is how long to wait before the next attempt instead of the informer's backoff.
	After time.Duration
	// Expected says that the error is a state to wait through, and nothing for the log but once, at info, until requests
	// succeed or fail otherwise. Only a watch-error handler that was set hears of it each time.
	Expected bool
}

// stops reports whether an informer that has, or has not, got its first list is to end.
func (d ErrorDecision) stops(synced bool) bool { return d.StopEvenIfSynced || d.Stop && !synced }

// StopOnForbidden is an ErrorPolicy that stops the informer when the server says 403 before the first list is there: for
// programs that should rather fail at their start than wait for a permission. A 403 that comes later, as while somebody
// rewrites the rules, is waited through, with the backoff. Who waits in WaitForSync is told at once; a framework that waits in
// its own way, as controller-runtime does for two minutes, is to be ended by the handler of WithStopHandler.
func StopOnForbidden(_ context.Context, err error, _ int) ErrorDecision {
	return ErrorDecision{Stop: apierrors.IsForbidden(err)}
}

// WaitForResource returns an ErrorPolicy for a resource that may not be installed yet, as that of a
// CustomResourceDefinition: as long as the server does not know it, the informer asks again every period, without the
// backoff that would let it notice late, and without more than one line in the log. The resource gone is like the resource not
// there yet: what is cached stays until it is back. For other errors the backoff applies. A period of 0 means 5 s.
func WaitForResource(period time.Duration) ErrorPolicy {
	const cheap = 5 * time.Second // one cheap request: a 404 is answered without touching storage
	if period <= 0 {
		period = cheap
	}
	return func(_ context.Context, err error, _ int) ErrorDecision {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return ErrorDecision{After: period, Expected: true}
		}
		return ErrorDecision{}
	}
}

// decisionsBy returns a policy as a reflector asks for it, nil for none.
func decisionsBy(policy ErrorPolicy) func(ctx context.Context, err error, attempts int, synced bool) reflectorDecision {
	if policy == nil {
		return nil
	}
	return func(ctx context.Context, err error, attempts int, synced bool) reflectorDecision {
		d := policy(ctx, err, attempts)
		return reflectorDecision{stop: d.stops(synced), after: d.After, expected: d.Expected}
	}
}
