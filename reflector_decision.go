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

// decideOn asks what to do about an error, or nothing.
func (m *memory) decideOn(ctx context.Context, err error) reflectorDecision {
	if err == nil || m.decide == nil {
		return reflectorDecision{}
	}
	decision := m.decide(ctx, err, m.report.attempts(), m.synced)
	m.waitsOut = m.waitsOut && decision.expected
	return decision
}

// announce tells who wants to know of an error that ends a round.
func (m *memory) announce(ctx context.Context, err error, decision reflectorDecision) {
	if m.onError != nil {
		m.onError(ctx, reflectorFailure{err: err, expected: decision.expected, of: &m.reflectorOptions, version: m.position.version()})
	}
	if decision.expected && !m.waitsOut {
		m.waitsOut = true
		klog.FromContext(ctx).Info("The server does not have it, as expected: asking again until it does", "reflector", m.name,
			"type", m.typeDescription, "period", decision.after, "err", err)
	}
}

// delayAfter returns how long to wait after an error, or nothing, until the next attempt. A longer delay that the server asks
// for goes before the backoff.
func (m *memory) delayAfter(err error, decision reflectorDecision) time.Duration {
	if decision.after > 0 {
		return decision.after
	}
	suggested, _ := apierrors.SuggestsClientDelay(err)
	return max(m.delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter))
}

// giveUp makes it known that a decision has stopped the reflector.
func (m *memory) giveUp(ctx context.Context, err error) {
	m.report.giveUp(err)
	utilruntime.HandleErrorWithContext(ctx, err, "The informer has stopped for good, as its error policy wants: what is cached stays as it is",
		"reflector", m.name, "type", m.typeDescription, "synced", m.synced)
	m.tellStopped(ctx, m.typeDescription, err)
}

// tellStopped tells the program, if it wants to know, that objects are followed no more, or never will be.
func (o *reflectorOptions) tellStopped(ctx context.Context, objects string, err error) {
	if o.onStop == nil {
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx) // and the reflector has stopped all the same
	o.onStop(ctx, fmt.Errorf("the informer of %s has stopped for good: %w", objects, err))
}
