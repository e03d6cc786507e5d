// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/audit/internal/exact"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
)

const (
	// maxTries is how many snapshots are taken because the server cannot list the version of the
	// one before.
	maxTries = 3
	// tryPause is between two tries, and between the snapshots of a finding and of its
	// confirmation: what is merely late by then is not late, but missing. Between two tries at a
	// version that the server does not know it is door.AheadPause.
	tryPause = time.Second
	// newerPatience bounds the wait for a version that is newer than one that the server has
	// forgotten: servers send a bookmark each minute.
	newerPatience = 90 * time.Second
	// relistPatience bounds the wait for the answer to a relist, which may have to wait for its
	// turn, and for a server that is away.
	relistPatience = 5 * time.Minute
)

// errNoAnswer says that relistPatience has ended.
var errNoAnswer = errors.New("the state is not stored yet")

// Once compares what an informer has stored with what its server lists at the same version. What
// differs is compared once more, in a second snapshot, and repaired if Options.Repair says so: then
// Once waits until the answer to the relist is stored, for five minutes at most, and compares a
// third time. A report with findings is no error.
//
// An audit takes as long as its lists, and a second more if something differs. If the server does
// not know the version of the cache (Ahead) it takes a minute, because that is asked for three
// times, or about two with client-go, which repeats each such request for 43 seconds. If the server
// has forgotten the version it takes up to three minutes. A page of a list may take a minute. The
// audit ends with the informer.
//
// The errors: inspect.ErrForeign for what is no Informer; ErrUnsupported, ErrExpired,
// ErrUnvouched, ErrUnsynced and ErrEnded, wrapped; those of the ListerWatcher, or of Source; and
// that of ctx. With an error, Report.Equal is false. If the error comes after the first comparison,
// the report has its findings, and says how far they were confirmed and repaired.
//
// It works in the goroutine that calls it, any number of which may audit the same informer. It must
// not be called by a transform, an index function, or a handler of NewInformer, for which it would
// wait.
func Once(ctx context.Context, informer Informer, o Options) (Report, error) {
	known, err := known(informer)
	if err != nil {
		return Report{}, err
	}
	if err := o.check(); err != nil {
		return Report{}, err
	}
	a := &auditor{Informer: known, options: o, began: time.Now()}
	if known.Requests != nil { // else there is no state with which a list could be compared
		a.lists = exact.New(known.Requests())
	}
	a.report = Report{Informer: known.Named(known.Resource), Content: o.Content}
	running, cancel := whileRunning(ctx, known)
	defer cancel()
	err = a.audit(running)
	if ctx.Err() == nil {
		a.note(err)
	}
	if err == nil && !a.report.Equal() && o.Repair {
		err = a.repair(running)
	}
	a.report.Took = time.Since(a.began)
	if err != nil {
		err = fmt.Errorf("audit of %s: %w", a.report.Informer, err)
	}
	return a.report, err
}

// known returns what is known of an informer. The error is ErrForeign also for one whose store is the
// user's, and ErrUnvouched for one of package sources.
func known(informer Informer) (*door.Informer, error) {
	switch own := door.Of(informer); {
	case own == nil:
		return nil, fmt.Errorf("audit: %w", door.ErrForeign)
	case own.Applier == nil:
		return nil, fmt.Errorf("audit: %w", cmp.Or(own.Report.Status().Unfit, door.ErrForeign))
	case own.Parts != nil:
		return nil, fmt.Errorf("audit of %s: %w: audit each of its sources", own.Resource, ErrUnvouched)
	default:
		return own, nil
	}
}

// whileRunning returns a context that ends with ctx and, by ErrEnded, with the informer.
func whileRunning(ctx context.Context, known *door.Informer) (running context.Context, cancel func()) {
	running, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-known.Report.Ended:
			end(ErrEnded)
		case <-running.Done():
		}
	}()
	return running, func() { end(nil) }
}

// auditor is one audit.
type auditor struct {
	*door.Informer
	lists   *exact.Lister
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
	second := first
	if !first.ahead() { // else the server was asked three times
		if second, err = a.compareLater(ctx); err != nil {
			return fmt.Errorf("not confirmed: %w", err)
		}
	}
	if second.ahead() {
		first = second
		a.describe(first)
	}
	a.confirm(first, second)
	return nil
}

// compareLater compares after a pause.
func (a *auditor) compareLater(ctx context.Context) (*comparison, error) {
	if err := sleep(ctx, tryPause); err != nil {
		return nil, err
	}
	return a.compare(ctx)
}

// compare compares a snapshot, and others if the server cannot list the version of the first.
func (a *auditor) compare(ctx context.Context) (*comparison, error) {
	unknown := 0
	for try := 1; ; try++ {
		began, version := time.Now(), ""
		c, err := a.compareOnce(ctx)
		if c != nil {
			version, c.tries = c.state.Version(), try
		}
		if isUnknown(err) {
			unknown++
		}
		switch {
		case err == nil:
			return c, nil
		case unknown == maxTries:
			c.found(Finding{Kind: Ahead, Cached: version})
			return c, nil
		case !isPassing(err) || errors.Is(err, ErrUnvouched) && try == maxTries:
			return nil, err
		case try == maxTries:
			return nil, fmt.Errorf("%w: %w", ErrExpired, err)
		}
		if err := a.pause(ctx, err, version, began); err != nil {
			return nil, err
		}
	}
}

// compareOnce compares a snapshot, which is returned, closed, with an error as well.
func (a *auditor) compareOnce(ctx context.Context) (*comparison, error) {
	state, err := stateOf(ctx, a.Informer)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	c := a.begin(state)
	if a.options.Content {
		c.foreign, err = a.lists.List(ctx, state.Version(), c.take)
	} else {
		c.foreign, err = a.lists.ListIdentities(ctx, a.options.Source, state.Version(), c.take)
	}
	if err != nil {
		if inexact := (*exact.Inexact)(nil); errors.As(err, &inexact) {
			err = fmt.Errorf("%w: %w", ErrUnsupported, inexact.Why)
		}
		if isUnknown(err) {
			c.digest = digestOf(state)
		}
		return c, err
	}
	c.end()
	return c, nil
}

// isPassing reports whether another snapshot may do better.
func isPassing(err error) bool {
	return isExpired(err) || isUnknown(err) || errors.Is(err, ErrUnvouched)
}

// isExpired reports whether the server has forgotten the version.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isUnknown reports whether the server does not know the version: not yet, or not any more, because
// a backup was put back.
func isUnknown(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// pause waits until the next try may do better than the last, which was of that version, and began
// then: some clients ask again of themselves, for most of a minute, if a server does not know it.
func (a *auditor) pause(ctx context.Context, last error, version string, began time.Time) error {
	switch {
	case isUnknown(last):
		return sleep(ctx, time.Until(began.Add(door.AheadPause)))
	case isExpired(last):
		_, err := await(ctx, newerPatience, func() bool { return a.Applied() != version })
		return err
	}
	return sleep(ctx, tryPause)
}

// await waits until it is so, which it looks at after each tryPause, and reports whether it is.
func await(ctx context.Context, patience time.Duration, so func() bool) (bool, error) {
	for end := time.Now().Add(patience); ; {
		if err := sleep(ctx, tryPause); err != nil {
			return false, err
		}
		if is := so(); is || !time.Now().Before(end) {
			return is, nil
		}
	}
}

// describe has the report tell of the first comparison.
func (a *auditor) describe(first *comparison) {
	r := &a.report
	r.Tries, r.Metadata, r.Digest = first.tries, first.metadata, first.digest
	r.Refused, r.Foreign = first.refused, first.foreign
	r.Findings, r.Found, r.looks = first.findings, first.counts(), 1
}

// confirm marks what differs in both.
func (a *auditor) confirm(first, second *comparison) {
	a.report.Confirmed, a.report.looks = map[Kind]int{}, 2
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
	done := inspect.AuditResult{
		Outcome: outcomeEqual, At: time.Now(), Took: time.Since(a.began), ResourceVersion: a.report.Digest.ResourceVersion,
	}
	passing, found := 0, map[Kind]int(nil)
	switch {
	case errors.Is(err, ErrUnsupported):
		done.Outcome = outcomeUnsupported
	case errors.Is(err, ErrExpired):
		done.Outcome = outcomeExpired
	case errors.Is(err, ErrUnvouched):
		done.Outcome = outcomeUnvouched
	case err != nil:
		done.Outcome = outcomeFailed
	default:
		if found = a.report.Confirmed; len(found) > 0 {
			done.Outcome = outcomeDifferent
		}
		for kind, n := range a.report.Found {
			passing += n - found[kind]
		}
	}
	historyOf(&a.Observed.Audits).note(done, found, passing)
}

// repair asks for a relist, unless one was asked for a short time ago, and finds out what came of
// it.
func (a *auditor) repair(ctx context.Context) error {
	if !historyOf(&a.Observed.Audits).mayRepair(time.Now(), repairPause) {
		a.report.TooSoon = true
		return nil
	}
	stored, err := a.RelistNewest()
	if err != nil {
		return err
	}
	a.report.Relisted = true
	if err := a.repaired(ctx, stored); err != nil {
		return fmt.Errorf("a relist was asked for, and whether that has helped is not known: %w", err)
	}
	return nil
}

// repaired compares once more when the answer to a relist is stored.
func (a *auditor) repaired(ctx context.Context, stored func() bool) error {
	is, err := await(ctx, relistPatience, stored)
	if err == nil && !is {
		err = errNoAnswer
	}
	if err != nil {
		return err
	}
	third, err := a.compare(ctx)
	if err != nil {
		return err
	}
	if a.report.Repaired = len(third.kinds) == 0; a.report.Repaired {
		historyOf(&a.Observed.Audits).noteRepaired()
	}
	return nil
}
