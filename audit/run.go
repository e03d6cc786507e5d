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
)

// Run audits an informer again and again. It returns when ctx ends, with the cause of that, or when
// the informer has stopped, with ErrEnded, wrapped: at once, whatever the server does. It may be
// called before the informer runs. After an audit that fails, the next one follows when it is due.
// Each informer needs a Run of its own, in a goroutine of its own. The first audit begins after a
// random wait, so that informers do not audit at the same time.
func Run(ctx context.Context, informer Informer, o RunOptions) error {
	known, err := known(informer)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	told := o.OnReport
	if told == nil {
		told = func(r Report, err error) { log(ctx, r, err) }
	}
	for {
		due := time.NewTimer(jittered(cmp.Or(o.Every, defaultEvery)))
		select {
		case <-ctx.Done():
			due.Stop()
			return context.Cause(ctx)
		case <-known.Report.Ended:
			due.Stop()
			return fmt.Errorf("audit of %s: %w", known.Resource, ErrEnded)
		case <-due.C:
		}
		report, err := Once(ctx, informer, o.Options)
		if ctx.Err() == nil {
			told(report, err)
		}
	}
}

// jittered returns a wait of that mean.
func jittered(mean time.Duration) time.Duration { return mean/2 + rand.N(max(mean, 1)) }

// log tells the log what is not as it should be, and what may not be.
func log(ctx context.Context, r Report, err error) {
	logger := klog.FromContext(ctx)
	switch {
	case err != nil && len(r.Found) == 0:
		logger.V(2).Info("The audit of an informer has failed", "type", r.Informer, "err", err)
	case err != nil:
		logger.Info("Warning: an audit has found something, and could not be finished", "audit", r.String(), "err", err)
	case r.Repaired:
		logger.Info("Warning: the cache was not what its server has, and was repaired", "audit", r.String())
	case !r.Equal():
		logger.Info("Warning: the cache is not what its server has", "audit", r.String())
	default:
		logger.V(2).Info("Audited an informer", "audit", r.String())
	}
}
