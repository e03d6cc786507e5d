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
// many errors there were since the last success, this one included. It is called by the goroutine that lists and watches,
// after the watch-error handler, and must not wait. See WithErrorPolicy.
type ErrorPolicy func(ctx context.Context, err error, attempts int) ErrorDecision

// ErrorDecision is what an ErrorPolicy wants. The zero value: try again after the informer's backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer: its Run returns, as if its context had ended, and the error is the LastError of its Status.
	// What WaitForSync and WaitForVersion still wait for fails with it. An informer never starts again.
	Stop bool
	// After, if positive, is how long to wait before the next attempt instead of the informer's backoff.
	After time.Duration
}

// StopOnForbidden is an ErrorPolicy that stops the informer when the server says 403: for programs that should rather fail
// than run without a permission.
func StopOnForbidden(_ context.Context, err error, _ int) ErrorDecision {
	return ErrorDecision{Stop: apierrors.IsForbidden(err)}
}

// WaitForResource returns an ErrorPolicy for a resource that may not be installed yet, as that of a
// CustomResourceDefinition: as long as the server does not know it, the informer asks again every period, without the
// backoff that would let it notice late. The resource gone is like the resource not there yet: what is cached stays until
// it is back. For other errors the backoff applies. A period of 0 means 5 s.
func WaitForResource(period time.Duration) ErrorPolicy {
	const cheap = 5 * time.Second // one cheap request: a 404 is answered without touching storage
	if period <= 0 {
		period = cheap
	}
	return func(_ context.Context, err error, _ int) ErrorDecision {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return ErrorDecision{After: period}
		}
		return ErrorDecision{}
	}
}
