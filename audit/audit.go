// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/audited"
	"github.com/kinformer/cache/internal/reflector"
)

const (
	// maxTries is how many snapshots are taken because the server cannot list the version of the
	// one before.
	maxTries = 3
	// tryPause is between two tries, and between the snapshots of a finding and of its
	// confirmation: what is merely late by then is not late, but missing.
	tryPause = time.Second
	// newerPatience bounds the wait for a version that is newer than one that the server has
	// forgotten: servers send a bookmark each minute.
	newerPatience = 90 * time.Second
)

// Once compares what an informer has stored with what its server lists at the same version. What
// differs is compared once more, in a second snapshot, and repaired if Options.Repair says so. A
// report with findings is no error.
//
// The errors: cache.ErrNotSupported for what is no Informer; ErrUnsupported and ErrExpired,
// wrapped; those of the ListerWatcher, or of Source; that of ctx; and others for an informer that
// has not synced, or has stopped. With an error that comes after the first comparison, its findings
// are reported, unconfirmed.
//
// It works in the goroutine that calls it, any number of which may audit the same informer. It must
// not be called by a transform, an index function, or a handler of NewInformer, for which it would
// wait.
func Once(ctx context.Context, informer Informer, o Options) (Report, error) {
	known, err := audited.Of(informer)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	if err := o.check(); err != nil {
		return Report{}, err
	}
	a := &auditor{Informer: known, options: o, began: time.Now()}
	a.report = Report{Informer: known.Name, Depth: o.Depth}
	err = a.audit(ctx)
	a.report.Took = time.Since(a.began)
	if ctx.Err() == nil {
		a.note(err)
	}
	if err == nil && !a.report.Equal() && o.Repair == Relist {
		err = a.repair(informer)
	}
	if err != nil {
		err = fmt.Errorf("audit of %s: %w", known.Name, err)
	}
	return a.report, err
}

// auditor is one audit.
type auditor struct {
	*audited.Informer
	options Options
	began   time.Time
	report  Report
}

// audit compares, and confirms what differs.
func (a *auditor) audit(ctx context.Context) error {
	first, err := a.compare(ctx)
	if err != nil {
		return err
	}
	a.describe(first)
	if len(first.kinds) == 0 {
		return nil
	}
	if err := sleep(ctx, tryPause); err != nil {
		return err
	}
	second, err := a.compare(ctx)
	if err != nil {
		return fmt.Errorf("not confirmed: %w", err)
	}
	a.confirm(first, second)
	return nil
}

// compare compares a snapshot, and others if the server cannot list the version of the first.
func (a *auditor) compare(ctx context.Context) (*comparison, error) {
	var last error
	version := ""
	for try := 1; try <= maxTries; try++ {
		if try > 1 {
			if err := a.pause(ctx, last, version); err != nil {
				return nil, err
			}
		}
		c, err := a.compareOnce(ctx)
		if c != nil {
			version = c.state.ResourceVersion()
		}
		if err == nil {
			c.tries = try
			return c, nil
		}
		if !isPassing(err) {
			return nil, err
		}
		last = err
	}
	return nil, fmt.Errorf("%w: %w", ErrExpired, last)
}

// compareOnce compares a snapshot, which is returned, closed, with an error as well.
func (a *auditor) compareOnce(ctx context.Context) (*comparison, error) {
	state, err := stateOf(ctx, a.Informer)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	c := a.begin(state)
	if a.options.Depth == Content {
		c.foreign, err = a.List(ctx, state.ResourceVersion(), c.take)
	} else {
		c.foreign, err = a.ListIdentities(ctx, a.options.Source, state.ResourceVersion(), c.take)
	}
	if err != nil {
		if inexact := (*reflector.Inexact)(nil); errors.As(err, &inexact) {
			err = fmt.Errorf("%w: %w", ErrUnsupported, inexact.Why)
		}
		return c, err
	}
	c.end()
	return c, nil
}

// isPassing reports whether another snapshot may do better.
func isPassing(err error) bool { return isExpired(err) || isEarly(err) }

// isExpired reports whether the server has forgotten the version.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isEarly reports whether the server will know the version soon.
func isEarly(err error) bool {
	return errors.Is(err, audited.ErrUnvouched) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// pause waits until the next try may do better than the last, which was of that version.
func (a *auditor) pause(ctx context.Context, last error, version string) error {
	for end := time.Now().Add(newerPatience); ; {
		if err := sleep(ctx, tryPause); err != nil {
			return err
		}
		select {
		case <-a.Ended:
			return audited.ErrEnded
		default:
		}
		if !isExpired(last) || a.Version() != version || !time.Now().Before(end) {
			return nil
		}
	}
}

// describe has the report tell of the first comparison.
func (a *auditor) describe(first *comparison) {
	r := &a.report
	r.Tries, r.Metadata, r.Digest = first.tries, first.metadata, first.digest
	r.Refused, r.Foreign = first.refused, first.foreign
	r.Findings, r.Found = first.findings, first.counts()
}

// confirm marks what differs in both.
func (a *auditor) confirm(first, second *comparison) {
	a.report.Confirmed = map[Kind]int{}
	for key, kind := range first.kinds {
		if _, again := second.kinds[key]; again {
			a.report.Confirmed[kind]++
		}
	}
	for i := range a.report.Findings {
		f := &a.report.Findings[i]
		_, f.Confirmed = second.kinds[f.Key]
	}
}

// note adds the audit to what is known of the informer.
func (a *auditor) note(err error) {
	done := audited.Audit{Outcome: audited.Equal, At: time.Now(), Version: a.report.Digest.ResourceVersion, Took: a.report.Took}
	passing := 0
	switch {
	case errors.Is(err, ErrUnsupported):
		done.Outcome = audited.Unsupported
	case errors.Is(err, ErrExpired):
		done.Outcome = audited.Expired
	case err != nil:
		done.Outcome = audited.Failed
	default:
		done.Found = map[string]int{}
		for kind, n := range a.report.Found {
			passing += n - a.report.Confirmed[kind]
		}
		for kind, n := range a.report.Confirmed {
			done.Outcome, done.Found[string(kind)] = audited.Differs, n
		}
	}
	a.History.Note(done, passing)
}

// repair asks for a relist, unless one was asked for a short time ago.
func (a *auditor) repair(informer Informer) error {
	if !a.History.MayRepair(time.Now(), repairPause) {
		a.report.TooSoon = true
		return nil
	}
	err := cache.Relist(informer)
	a.report.Relisted = err == nil
	return err
}
