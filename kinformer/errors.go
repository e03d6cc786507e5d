// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache/internal/reflector"
)

// Errors says what an informer does about errors of its lists and watches.
type Errors struct {
	// Policy is asked after each error after which the informer would wait. Without one the informer
	// tries again with backoff, for ever. See StopOnForbidden and ExpectNotFound.
	Policy ErrorPolicy
	// OnStop is called when the informer stops for good by itself: because its policy says so, or
	// because its options are invalid. The error names the informer's objects and wraps the reason.
	// The function may end the program, for instance by canceling the context of its manager. A
	// goroutine of Run calls it, after its status says that the informer has stopped and before Run
	// returns, so it must not wait for Run. It is not called when Run's context ends.
	OnStop func(ctx context.Context, err error)
}

// ErrorPolicy decides what an informer does after an error of a list or watch, before the informer
// waits. Attempts is the number of errors since the last success, including this one; a watch-list
// and the list that replaces it count as one. The goroutine that lists and watches calls it, before
// the watch-error handler, so it must not wait.
type ErrorPolicy func(ctx context.Context, err error, attempts int) ErrorDecision

// ErrorDecision is what an ErrorPolicy returns. The zero value tries again after the informer's
// backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer, at any time or only before its first list.
	//
	// An informer that was stopped never starts again. Its Run returns, as if its context had
	// ended, and the error is the LastError of its inspect.Status. What WaitForSync and
	// WaitForVersion still wait for fails with it. That it has stopped is reported to
	// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers, and to Errors.OnStop.
	Stop Stop
	// After, if positive, is how long to wait before the next attempt instead of the informer's
	// backoff.
	After time.Duration
	// Expected says that the error is normal. It is logged once, at info, until requests succeed or
	// fail in another way. A watch-error handler, if one is set, is called each time.
	Expected bool
}

// Stop says when an error ends an informer. The zero value is never.
type Stop string

const (
	// StopUnsynced ends an informer that does not have its first list yet. It is for programs that
	// should fail at their start instead of waiting. An informer that has its first list goes on,
	// after its backoff or ErrorDecision.After: it is in use, and the error may pass in seconds.
	StopUnsynced Stop = "unsynced"
	// StopAlways ends an informer at any time. Readers of its store go on reading the last state,
	// which is never updated again: the program has to end, or to start another informer in its
	// place. See Errors.OnStop.
	StopAlways Stop = "always"
)

// StopOnForbidden is an ErrorPolicy that stops the informer when the server answers 403 before the
// first list has arrived. It is for programs that should fail at their start instead of waiting for
// a permission. After a later 403, for instance while roles are rewritten, the informer waits and
// tries again. WaitForSync returns as soon as the informer has stopped. A framework that waits in
// its own way, as controller-runtime does for two minutes, needs an Errors.OnStop that ends it.
func StopOnForbidden(_ context.Context, err error, _ int) ErrorDecision {
	if apierrors.IsForbidden(err) {
		return ErrorDecision{Stop: StopUnsynced}
	}
	return ErrorDecision{}
}

// ExpectNotFound returns an ErrorPolicy for a resource that may not be installed yet, such as that
// of a CustomResourceDefinition. While the server does not know the resource, the informer asks
// again every period instead of backing off, and logs one line. The same holds for a resource that
// is removed later: the cache stays as it is until the resource is back. For other errors the
// backoff applies. A period of 0 means 5 s.
func ExpectNotFound(period time.Duration) ErrorPolicy {
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

func (e Errors) set(o *reflector.Options) {
	o.OnStop = e.OnStop
	if e.Policy == nil {
		return
	}
	o.Decide = func(ctx context.Context, err error, attempts int, synced bool) reflector.Decision {
		d := e.Policy(ctx, err, attempts)
		stop := d.Stop == StopAlways || d.Stop == StopUnsynced && !synced
		return reflector.Decision{Stop: stop, After: d.After, Expected: d.Expected}
	}
}
