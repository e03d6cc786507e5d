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
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
)

const (
	// maxTries is the largest number of snapshots for one comparison. Further ones are taken if the
	// server cannot list the version of the one before.
	maxTries = 3
	// tryPause is the pause between two tries, and between the snapshots of a finding and of its
	// confirmation: an event that is merely late has arrived by then. Between two tries at a
	// version that the server does not know the pause is beside.AheadPause.
	tryPause = time.Second
	// newerPatience bounds the wait for a version newer than one that the server no longer has:
	// servers send a bookmark each minute.
	newerPatience = 90 * time.Second
	// relistPatience bounds the wait for the result of a relist, which may have to wait for a slot,
	// and for a server that is out of reach.
	relistPatience = 5 * time.Minute
)

// errNoAnswer means that relistPatience has passed.
var errNoAnswer = errors.New("the state is not stored yet")

// Once compares an informer's store with the server's list at the same version. The informer is one of
// package cache that has a store, with or without wrappers (see inspect.StatusOf), or a source of package
// sources. Of an informer of several sources Once audits each, up to eight at a time, and returns the sum
// of their reports. Differences are compared again with a second snapshot and, if Options.Repair is set,
// repaired: Once then waits until the result of the relist is stored, for five minutes at most, and
// compares a third time. A report with findings is not an error.
//
// An audit takes as long as its lists, and a second more if there are differences. If the server
// does not know the version of the cache (Ahead) it takes a minute, because it requests that
// version three times, or about two with client-go, which repeats each such request for 43 seconds.
// If the server no longer has the version it takes up to three minutes. A page of a list may take a
// minute. The audit ends with the informer.
//
// The errors are inspect.ErrForeign for a foreign informer; ErrUnsupported, ErrExpired,
// ErrUnvouched, ErrUnsynced and ErrEnded, wrapped; those of the ListerWatcher, or of Source; and
// that of ctx. The error for several sources wraps those of all of them, and names eight. With an error,
// Report.Equal is false. If the error occurs after the first comparison, the report has its findings, and
// says how far they were confirmed and repaired.
//
// Once works in the calling goroutine, and for several sources in others, which have ended when it
// returns. Any number of goroutines may audit the same informer. Once must not be called by a transform,
// an index function, or a handler of NewInformer, because it would wait for its caller.
func Once(ctx context.Context, informer inspect.Syncer, o Options) (Report, error) {
	report := Report{Informer: nameOf(informer), Content: o.Content}
	own, err := informerOf(informer)
	if err == nil {
		err = o.check()
	}
	switch {
	case err != nil:
		return report, err
	case own.Parts != nil:
		err = report.auditSources(ctx, own, o)
	default:
		report, err = onceNow(ctx, own, o)
	}
	if err != nil {
		err = fmt.Errorf("audit of %s: %w", report.Informer, err)
	}
	return report, err
}

// onceNow is Once for an informer with one source, or for a source, of which it audits the present
// session.
func onceNow(ctx context.Context, own *door.Informer, o Options) (Report, error) {
	for {
		report, err := once(ctx, own, o)
		next := own.Replaced()
		if err == nil || next == nil || ctx.Err() != nil {
			return report, err
		}
		own = next
	}
}

// once is Once for an informer with one source, or for a session of a source. Its errors do not name the
// informer.
func once(ctx context.Context, own *door.Informer, o Options) (Report, error) {
	a := &auditor{Informer: own, options: o, began: time.Now()}
	if own.Requests != nil { // else there is no state to compare with a list
		a.lists = exact.New(own.Requests())
	}
	a.report = Report{Informer: beside.Named(own, own.Resource), Content: o.Content}
	running, cancel := whileRunning(ctx, own)
	defer cancel()
	err := a.audit(running)
	if ctx.Err() == nil {
		a.note(err)
	}
	if err == nil && !a.report.Equal() && o.Repair {
		err = a.repair(running)
	}
	a.report.Took = time.Since(a.began)
	return a.report, err
}

// nameOf returns the name of an informer for reports.
func nameOf(informer inspect.Syncer) string {
	if own := door.Of(informer); own != nil {
		return beside.Named(own, own.Resource)
	}
	return fmt.Sprintf("%T", informer)
}

// informerOf returns the door.Informer of an informer. The error is ErrForeign, also if the store is the
// user's.
func informerOf(informer inspect.Syncer) (*door.Informer, error) {
	switch own := door.Of(informer); {
	case own == nil:
		return nil, fmt.Errorf("audit: %w", door.ErrForeign)
	case own.Applier == nil:
		return nil, fmt.Errorf("audit of %s, whose queue is the program's: %w", own.Resource, cmp.Or(own.Report.Status().Unfit, door.ErrForeign))
	default:
		return own, nil
	}
}

// whileRunning returns a context that ends with ctx and, with the cause ErrEnded, with the
// informer.
func whileRunning(ctx context.Context, own *door.Informer) (running context.Context, cancel func()) {
	running, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-own.Report.Ended:
			end(ErrEnded)
		case <-running.Done():
		}
	}()
	return running, func() { end(nil) }
}

// auditor runs one audit.
type auditor struct {
	*door.Informer
	lists   *exact.Lister
	options Options
	began   time.Time
	report  Report
}

// audit compares, and confirms differences.
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
	if !first.ahead() { // else the server was asked three times already
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

// compare compares a snapshot, and further ones if the server cannot list the version of the first.
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

// compareOnce compares a snapshot. It also returns the comparison, with a closed snapshot, if the
// list fails.
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

// isPassing reports whether another snapshot may succeed.
func isPassing(err error) bool {
	return isExpired(err) || isUnknown(err) || errors.Is(err, ErrUnvouched)
}

// isExpired reports whether the server no longer has the version.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isUnknown reports whether the server does not know the version: not yet, or no longer, because a
// backup was restored.
func isUnknown(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// pause waits until another try may succeed. last is the error of the last try, version its
// version, and began its start: some clients themselves repeat a request for most of a minute if
// the server does not know the version.
func (a *auditor) pause(ctx context.Context, last error, version string, began time.Time) error {
	switch {
	case isUnknown(last):
		return sleep(ctx, time.Until(began.Add(beside.AheadPause)))
	case isExpired(last):
		_, err := await(ctx, newerPatience, func() bool { return a.Applied() != version })
		return err
	}
	return sleep(ctx, tryPause)
}

// await polls so after each tryPause, until it returns true or patience has passed, and returns its
// last result.
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

// describe sets the report's fields for the first comparison.
func (a *auditor) describe(first *comparison) {
	r := &a.report
	r.Tries, r.Metadata, r.Digest = first.tries, first.metadata, first.digest
	r.Refused, r.Foreign = first.refused, first.foreign
	r.Findings, r.Found, r.looks = first.findings, first.counts(), 1
}

// confirm marks the differences that both comparisons have found.
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

// note adds the audit to the history of the informer.
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

// repair requests a relist, unless the last one was recent, and checks the result.
func (a *auditor) repair(ctx context.Context) error {
	if !historyOf(&a.Observed.Audits).mayRepair(time.Now(), repairPause) {
		a.report.TooSoon = true
		return nil
	}
	stored, err := beside.RelistNewest(a.Informer)
	if err != nil {
		return err
	}
	a.report.Relisted = true
	if err := a.repaired(ctx, stored); err != nil {
		return fmt.Errorf("a relist was asked for, and whether that has helped is not known: %w", err)
	}
	return nil
}

// repaired compares again when the result of the relist is stored.
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
