// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/event"
)

// lookEvery is the time between two looks for new informers: the first audit of one begins no sooner
// after its start with the shortest RunOptions.Every.
const lookEvery = leastEvery / 2

// RunAll is Run for all informers and controllers of the process that inspect.All yields, for programs
// that have no variables of them, as with controller-runtime. Informers that start later are included
// within half a minute, and those that stop are left out. Each informer has a time of its own for its
// audits, which are random, so that they do not all happen at the same time.
//
// RunAll returns the cause of ctx's end when ctx ends, and leaves no goroutine behind. An informer that
// cannot be audited, for instance because its store is the user's, is skipped: OnReport is called once
// with the reason and a report that names the informer; without it, a warning is logged. Options.Source is
// refused. A panic of OnReport is handled by k8s.io/apimachinery/pkg/util/runtime.HandleCrash, as that of a
// handler: if the program goes on, so do the audits.
//
// A program should call RunAll once: two calls audit everything twice. Informers for which Run was
// called are audited by RunAll, too.
func RunAll(ctx context.Context, o RunOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.Source != nil {
		return errSourceOfSeveral
	}
	skip := o.OnReport
	if skip == nil {
		skip = func(r Report, err error) {
			event.Warn(klog.FromContext(ctx), 1, "An informer is not audited", "type", r.Informer, "err", err)
		}
	}
	o.OnReport, skip = guarded(ctx, o.reporter(ctx)), guarded(ctx, skip)
	var running sync.WaitGroup
	defer running.Wait()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for known := map[cache.Controller]bool{}; ; {
		current := map[cache.Controller]bool{}
		for informer := range inspect.All() {
			if current[informer] = true; !known[informer] {
				running.Go(func() { runOne(ctx, informer, o, skip) })
			}
		}
		known = current
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// runOne is Run for RunAll: it passes the error for an informer that cannot be audited to skip.
func runOne(ctx context.Context, informer cache.Controller, o RunOptions, skip func(Report, error)) {
	err := Run(ctx, informer, o)
	if ctx.Err() == nil && !errors.Is(err, ErrEnded) {
		skip(Report{Informer: nameOf(informer), Content: o.Content}, err)
	}
}

// guarded returns onReport for goroutines whose panics no caller can recover.
func guarded(ctx context.Context, onReport func(Report, error)) func(Report, error) {
	return func(r Report, err error) {
		defer utilruntime.HandleCrashWithContext(ctx)
		onReport(r, err)
	}
}
