// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
)

const (
	// sourcesAtOnce is the number of sources of an informer that are audited at the same time. An audit
	// of a cache that is ahead takes a minute or two, and a program may have hundreds of sources, whose
	// server should not get hundreds of lists at once.
	sourcesAtOnce = 8
	// shownErrors is the largest number of sources that an error names.
	shownErrors = 8
)

// parts counts the sources of which a report is the sum.
type parts struct {
	several    bool // whether the informer has several sources, or none
	compared   int
	failed     int  // could not be compared
	unrepaired bool // whether confirmed findings of a source were not repaired
}

// auditSources audits the sources of an informer, and adds up their reports. The errors do not name
// the informer.
func (r *Report) auditSources(ctx context.Context, whole *door.Informer, o Options) error {
	if o.Source != nil {
		return errSourceOfSeveral
	}
	if err := unready(whole); err != nil {
		return err
	}
	began, sources := time.Now(), whole.Parts()
	audited := eachOf(ctx, sources, o)
	var failed sourceErrors
	now := whole.Parts()
	r.parts.several, r.looks = true, 2
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if err := audited[name].err; err != nil {
			if is := now[name]; is == nil || is.Controller != sources[name].Controller { // it was removed
				continue
			}
			failed = append(failed, fmt.Errorf("source %s: %w", name, err))
		}
		r.add(name, &audited[name].report)
	}
	if r.parts.compared == 0 && r.parts.failed > 0 {
		r.looks = 0
	}
	r.Took = time.Since(began)
	return failed.reason(ctx, whole)
}

// result is the result of the audit of a source.
type result struct {
	report Report
	err    error
}

// eachOf audits all sources, a few at a time.
func eachOf(ctx context.Context, sources map[string]*door.Informer, o Options) map[string]*result {
	audited := make(map[string]*result, len(sources))
	turns := make(chan struct{}, sourcesAtOnce)
	var running sync.WaitGroup
	for name, source := range sources {
		of := &result{}
		audited[name] = of
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			of.report, of.err = onceNow(ctx, source, o)
		})
	}
	running.Wait()
	return audited
}

// add adds the report of a source.
func (r *Report) add(source string, part *Report) {
	if part.looks == 0 {
		r.parts.failed++
		return
	}
	r.parts.compared++
	r.Metadata, r.Relisted, r.TooSoon = r.Metadata || part.Metadata, r.Relisted || part.Relisted, r.TooSoon || part.TooSoon
	r.Refused, r.Foreign, r.Tries = r.Refused+part.Refused, r.Foreign+part.Foreign, max(r.Tries, part.Tries)
	d, of := &r.Digest, &part.Digest
	d.Objects, d.Sum[0], d.Sum[1] = d.Objects+of.Objects, d.Sum[0]+of.Sum[0], d.Sum[1]+of.Sum[1]
	if len(part.Found) == 0 {
		return
	}
	for _, f := range part.Findings[:min(len(part.Findings), maxFindings-len(r.Findings))] {
		f.Source = source
		r.Findings = append(r.Findings, f)
	}
	r.Found, r.Confirmed, r.looks = sums(r.Found, part.Found), sums(r.Confirmed, part.Confirmed), min(r.looks, part.looks)
	r.parts.unrepaired = r.parts.unrepaired || len(part.Confirmed) > 0 && !part.Repaired
	r.Repaired = (r.Repaired || part.Repaired) && !r.parts.unrepaired
}

// sums adds the counts of part to those of all. Either may be nil.
func sums(all, part map[Kind]int) map[Kind]int {
	for kind, n := range part {
		if all == nil {
			all = map[Kind]int{}
		}
		all[kind] += n
	}
	return all
}

// sourceErrors are the errors of sources. The text names the first ones, and counts the others.
type sourceErrors []error

func (all sourceErrors) Error() string {
	var texts []string
	for _, err := range all[:min(len(all), shownErrors)] {
		texts = append(texts, err.Error())
	}
	if more := len(all) - shownErrors; more > 0 {
		texts = append(texts, fmt.Sprintf("and %s more", beside.Counted(int64(more), "source")))
	}
	return strings.Join(texts, "; ")
}

func (all sourceErrors) Unwrap() []error { return all }

// reason returns the reason for the errors: the end of ctx or of the informer, which ends the audits of
// all sources, or else the errors themselves. It returns nil if there are none.
func (all sourceErrors) reason(ctx context.Context, whole *door.Informer) error {
	switch {
	case len(all) == 0:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case whole.Report.HasEnded():
		return ErrEnded
	default:
		return all
	}
}
