// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
)

// Run audits an informer repeatedly. It returns the cause of ctx's end when ctx ends, and a wrapped
// ErrEnded when the informer has stopped: at once, even if the server does not answer. For invalid
// options it returns an error at once, and inspect.ErrForeign for an informer that is foreign or has the
// user's queue. It may be called before the informer runs. A failed audit does not change the time of the
// next one. Each informer needs a Run of its own, in a goroutine of its own. The first audit begins after
// a random wait, so that informers do not audit at the same time.
func Run(ctx context.Context, informer inspect.Syncer, o RunOptions) error {
	own, err := informerOf(informer)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	onReport := o.reporter(ctx)
	for {
		if own, err = waitDue(ctx, own, jittered(cmp.Or(o.Every, defaultEvery))); err != nil {
			return err
		}
		report, err := Once(ctx, informer, o.Options)
		if ctx.Err() == nil {
			onReport(report, err)
		}
	}
}

// waitDue waits until the next audit is due, or returns the reason why none is. If the informer is a source
// that is replaced meanwhile, it returns the present session.
func waitDue(ctx context.Context, own *door.Informer, wait time.Duration) (*door.Informer, error) {
	due := time.NewTimer(wait)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return own, context.Cause(ctx)
		case <-own.Report.Ended:
			next := own.Replaced()
			if next == nil {
				return own, fmt.Errorf("audit of %s: %w", own.Resource, ErrEnded)
			}
			own = next
		case <-due.C:
			return own, nil
		}
	}
}

// reporter returns OnReport, or a function that logs.
func (o *RunOptions) reporter(ctx context.Context) func(Report, error) {
	if o.OnReport != nil {
		return o.OnReport
	}
	return func(r Report, err error) { log(ctx, r, err) }
}

// jittered returns a random wait with the given mean.
func jittered(mean time.Duration) time.Duration { return mean/2 + rand.N(max(mean, 1)) }

// log logs differences as warnings, and other reports at V(2).
func log(ctx context.Context, r Report, err error) {
	logger := klog.FromContext(ctx)
	switch {
	case err != nil && len(r.Found) == 0:
		logger.V(2).Info("The audit of an informer has failed", "type", r.Informer, "err", err)
	case err != nil:
		event.Warn(logger, 1, "An audit has found something, and could not be finished", "audit", r.String(), "err", err)
	case r.Repaired:
		event.Warn(logger, 1, "The cache was not what its server has, and was repaired", "audit", r.String())
	case !r.Equal():
		event.Warn(logger, 1, "The cache is not what its server has", "audit", r.String())
	default:
		logger.V(2).Info("Audited an informer", "audit", r.String())
	}
}
