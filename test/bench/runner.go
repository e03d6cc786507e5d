// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/test/bench/internal/report"
)

// roundLimit bounds one round of one side, including the start with a million objects. If
// an event is lost, the round fails at this limit instead of hanging.
const roundLimit = 10 * time.Minute

// fileName makes names of rows and sides fit to be part of a file name.
var fileName = strings.NewReplacer("/", "-", " ", "-")

// runner runs rows on both sides in turns.
type runner struct {
	env      *env
	sides    [2]side
	rounds   int
	more     int       // rounds of a row whose sides are close, if more than rounds
	progress io.Writer // one line for each row that is done
}

// run runs the rows that the pattern selects, those with light objects first, and returns the results
// in the order of the rows.
func (r *runner) run(ctx context.Context, all []row, pattern *regexp.Regexp) ([]report.Row, error) {
	results := make([]report.Row, len(all))
	for _, light := range []bool{true, false} {
		for i, w := range all {
			if w.light != light || !pattern.MatchString(w.name) {
				continue
			}
			start := time.Now()
			var err error
			if results[i], err = r.runRow(ctx, w); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if err := r.report(results[i], time.Since(start)); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(results, func(r report.Row) bool { return len(r.Measures) == 0 }), nil
}

func (r *runner) runRow(ctx context.Context, w row) (result report.Row, err error) {
	result = report.Row{Group: w.group, Name: w.name, Title: w.title}
	r.env.use(w.light)
	defer func() { err = errors.Join(err, r.env.release()) }()
	try, err := w.setup(ctx, r.env)
	if err != nil {
		return result, fmt.Errorf("setup: %w", err)
	}
	rounds := r.rounds
	if w.rounds > 0 {
		rounds = min(rounds, w.rounds)
	}
	for round := range rounds {
		if err := r.runRound(ctx, try, round, &result); err != nil {
			return result, err
		}
	}
	return result, r.runMore(ctx, w, try, &result)
}

// moreTime bounds the additional rounds of a row whose sides are close. The current round is always
// completed.
const moreTime = time.Minute

// runMore runs additional rounds if the first measure shows the sides close to each other. It does
// nothing for rows that limit their rounds.
func (r *runner) runMore(ctx context.Context, w row, try trial, result *report.Row) error {
	if w.rounds > 0 || !result.Measures[0].Verdict().Close() {
		return nil
	}
	start := time.Now()
	for round := r.rounds; round < r.more && time.Since(start) < moreTime; round++ {
		if err := r.runRound(ctx, try, round, result); err != nil {
			return err
		}
	}
	return nil
}

// runRound runs both sides once. The side that begins alternates from round to round.
func (r *runner) runRound(ctx context.Context, try trial, round int, result *report.Row) error {
	var checks [2]check
	for turn := range r.sides {
		s := r.sides[(turn+round)%len(r.sides)]
		r.env.region = fmt.Sprintf("%s.%s.%d", fileName.Replace(result.Name), fileName.Replace(s.name), round+1)
		out, err := tryWithin(ctx, try, s)
		if err != nil {
			return fmt.Errorf("%s, round %d: %w", s.name, round+1, err)
		}
		checks[s.index] = out.check
		record(result, s.index, out)
	}
	if checks[0] != checks[1] {
		return fmt.Errorf("%s, round %d: %w: %+v and %+v", result.Name, round+1, errDiffer, checks[0], checks[1])
	}
	return nil
}

func record(result *report.Row, side int, out outcome) {
	for _, v := range out.samples {
		result.Record(side, v.name, v.unit, v.value)
	}
}

func tryWithin(ctx context.Context, try trial, s side) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, roundLimit, fmt.Errorf("not done after %s", roundLimit))
	defer cancel()
	return try(ctx, s)
}

// report writes the row's first measure while the run goes on.
func (r *runner) report(done report.Row, took time.Duration) error {
	m := done.Measures[0]
	both := m.Summaries()
	_, err := fmt.Fprintf(r.progress, "%-36s %-22s %12s %12s   %-18s %s\n", done.Name, m.Name+", "+m.Unit,
		report.Format(both[0].Median), report.Format(both[1].Median), m.Verdict(), took.Round(10*time.Millisecond))
	if err != nil {
		return fmt.Errorf("write progress: %w", err)
	}
	return nil
}
