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

// Errors configures how an informer handles errors of its lists and watches.
type Errors struct {
	// Policy is called for each error after which the informer would wait. Without a Policy the
	// informer always tries again, with backoff. See StopOnForbidden and ExpectNotFound.
	Policy ErrorPolicy
	// OnStop is called when the informer stops by itself, because of its Policy or of invalid options.
	// The error names the informer's objects and wraps the reason. The function may end the program,
	// for instance by canceling the context of its manager. A goroutine of Run calls OnStop after the
	// informer's status reports the stop and before Run returns, so OnStop must not wait for Run. It is
	// not called when Run's context ends.
	OnStop func(ctx context.Context, err error)
}

// ErrorPolicy decides how an informer continues after an error of a list or watch, before the informer
// waits. It is called before the watch-error handler, by the goroutine that lists and watches, so it
// must not block.
type ErrorPolicy func(ctx context.Context, failure Failure) ErrorDecision

// Failure is an error of a list or watch.
type Failure struct {
	Err error
	// Attempts is the number of errors since the last success, including this one; a watch-list and the
	// list that replaces it count as one.
	Attempts int
	// Synced reports whether the informer has its first list. An informer that has it is in use, so a
	// policy should not stop it for an error that may be temporary.
	Synced bool
}

// ErrorDecision is the result of an ErrorPolicy. With the zero value the informer tries again after its
// backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer, which never starts again: the program has to end, or to start another
	// informer. Its Run returns as if its context had ended, its store stays readable, and the error is
	// the LastError of its inspect.Status. Pending calls of WaitForSync and WaitForVersion return it.
	// The stop is reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers and to Errors.OnStop.
	Stop bool
	// After, if positive, is the delay before the next attempt instead of the informer's backoff.
	After time.Duration
	// Expected marks the error as normal. It is logged once, at info, until requests succeed or fail in
	// another way. A watch-error handler, if one is set, is called each time.
	Expected bool
}

// StopOnForbidden is an ErrorPolicy that stops the informer if the server answers 403 before the first
// list has arrived. It is for programs that should fail at start instead of waiting for a permission.
// After a later 403, for instance while roles are rewritten, the informer waits and tries again.
// WaitForSync returns as soon as the informer has stopped. A framework that waits by other means, as
// controller-runtime does for two minutes, needs an Errors.OnStop that ends it.
func StopOnForbidden(_ context.Context, failure Failure) ErrorDecision {
	return ErrorDecision{Stop: !failure.Synced && apierrors.IsForbidden(failure.Err)}
}

// ExpectNotFound returns an ErrorPolicy for a resource that may not be installed yet, such as that of a
// CustomResourceDefinition. While the server does not know the resource, the informer repeats the
// request every period instead of backing off, and logs one line. If the resource is removed later, the
// informer does the same, and the cache keeps its content until the resource is back. Other errors
// follow the backoff. A period of 0 means 5 s.
func ExpectNotFound(period time.Duration) ErrorPolicy {
	const cheap = 5 * time.Second // a 404 is a cheap response: the server does not access its storage
	if period <= 0 {
		period = cheap
	}
	return func(_ context.Context, failure Failure) ErrorDecision {
		if apierrors.IsNotFound(failure.Err) || meta.IsNoMatchError(failure.Err) {
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
		return reflector.Decision(e.Policy(ctx, Failure{Err: err, Attempts: attempts, Synced: synced}))
	}
}
