// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// reflectorDecision says what to do about an error. The zero value: try again after the backoff.
type reflectorDecision struct {
	stop     bool          // for good
	after    time.Duration // until the next attempt; 0: the backoff
	expected bool          // a state to wait through, and nothing for the log but once
}

// decideOn asks what to do about an error, or nothing.
func (r *reflector) decideOn(ctx context.Context, err error) reflectorDecision {
	if err == nil || r.decide == nil {
		return reflectorDecision{}
	}
	decision := r.decide(ctx, err, r.report.attempts(), r.synced)
	r.waitsOut = r.waitsOut && decision.expected
	return decision
}

// announce tells who wants to know of an error that ends a round.
func (r *reflector) announce(ctx context.Context, err error, decision reflectorDecision) {
	if r.onError != nil {
		r.onError(ctx, r, err, decision.expected)
	}
	if decision.expected && !r.waitsOut {
		r.waitsOut = true
		klog.FromContext(ctx).Info("The server does not have it, as expected: asking again until it does", "reflector", r.name,
			"type", r.typeDescription, "period", decision.after, "err", err)
	}
}

// delayAfter returns how long to wait after an error, or nothing, until the next attempt. A longer delay that the server asks
// for goes before the backoff.
func (r *reflector) delayAfter(err error, decision reflectorDecision) time.Duration {
	if decision.after > 0 {
		return decision.after
	}
	suggested, _ := apierrors.SuggestsClientDelay(err)
	return max(r.delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter))
}

// giveUp makes it known that a decision has stopped the reflector.
func (r *reflector) giveUp(ctx context.Context, err error) {
	r.report.giveUp(err)
	utilruntime.HandleErrorWithContext(ctx, err, "The informer has stopped for good, as its error policy wants: what is cached stays as it is",
		"reflector", r.name, "type", r.typeDescription, "synced", r.synced)
	r.tellStopped(ctx, r.typeDescription, err)
}

// tellStopped tells the program, if it wants to know, that objects are followed no more, or never will be.
func (o *reflectorOptions) tellStopped(ctx context.Context, objects string, err error) {
	if o.onStop == nil {
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx) // and the reflector has stopped all the same
	o.onStop(ctx, fmt.Errorf("the informer of %s has stopped for good: %w", objects, err))
}
