// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/event"
)

// decideOn asks what to do about an error, or nothing.
func (m *memory) decideOn(ctx context.Context, err error) Decision {
	if err == nil || m.Decide == nil {
		return Decision{}
	}
	decision := m.Decide(ctx, err, m.Journal.Status().Failures, m.synced)
	m.waitsOut = m.waitsOut && decision.Expected
	if decision.Expected {
		m.Journal.write(func(p *pages) { p.FailingSince = time.Time{} })
	}
	return decision
}

// announce tells who wants to know of an error that ends a round.
func (m *memory) announce(ctx context.Context, err error, decision Decision) {
	if m.OnError != nil {
		m.OnError(ctx, Failure{Err: err, Expected: decision.Expected, Of: &m.Options, Version: m.Version()})
	}
	if decision.Expected && !m.waitsOut {
		m.waitsOut = true
		m.say(ctx, 0, "The server does not have the resource, as expected; asking again until it does", "period", decision.After, "err", err)
	}
}

// delayAfter returns how long to wait after an error, or nothing, until the next attempt, and
// whether that comes sooner if the server answers another reflector. A server that was out of reach
// and has answered is there: the next request follows at once, spread over a while. A longer delay
// that the server asks for goes before the backoff.
func (m *memory) delayAfter(err error, decision Decision) (length time.Duration, wakes bool) {
	suggested, asked := apierrors.SuggestsClientDelay(err)
	switch {
	case decision.After > 0:
		return decision.After, false
	case m.outage.err == nil && !asked && m.outage.returns():
		if m.outage.member.woken.Load() { // which has spread it
			return 0, false
		}
		return m.spread(), false
	case m.outage.err == nil || asked || apierrors.IsTooManyRequests(err):
		return max(m.Delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter)), false
	default:
		return m.outage.delay(m.synced), true
	}
}

// GiveUp makes it known that a decision has stopped the reflector.
func (m *memory) giveUp(ctx context.Context, err error) {
	kept := event.Kept(err)
	m.Journal.enter(Stopped)
	m.Journal.write(func(p *pages) { p.Err, p.Stopped = kept, true })
	event.Report(ctx, err, "The informer has stopped for good, because its error policy says so; its cache does not change any more",
		"state", stateStopped.word, "reflector", m.Name, "type", m.TypeDescription, "synced", m.synced)
	m.TellStopped(ctx, m.TypeDescription, err)
}

// TellStopped tells the program, if it wants to know, that objects are followed no more, or never
// will be.
func (o *Options) TellStopped(ctx context.Context, objects string, err error) {
	if o.OnStop == nil {
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx) // and the reflector has stopped all the same
	o.OnStop(ctx, fmt.Errorf("the informer of %s has stopped for good: %w", objects, err))
}
