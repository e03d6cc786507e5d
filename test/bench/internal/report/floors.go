// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The errors of Check, wrapped with the name of the row.
var (
	// ErrBelow is the error of a ratio below its floor.
	ErrBelow = errors.New("the ratio is below its floor")
	// ErrUnknown is the error of a floor without a row or measure.
	ErrUnknown = errors.New("the benchmark has no such row or measure")
	// ErrMissing is the error of a row with a floor that was not run.
	ErrMissing = errors.New("the row has a floor and was not run")
	// ErrUnguarded is the error of a row without a floor.
	ErrUnguarded = errors.New("the row has no floor")
)

// Floors are the lowest ratios that pass. They are kept in a file, so that a change that makes a
// workload much slower fails a check.
type Floors map[place]float64

// place is a measure of a row, in the form "name, unit".
type place struct{ row, measure string }

// ParseFloors parses floors, one in a line: "row | measure, unit | ratio". A row may be a pattern of
// path.Match. Empty lines and lines that begin with # are ignored.
func ParseFloors(text string) (Floors, error) {
	f := Floors{}
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f.add(line); err != nil {
			return nil, fmt.Errorf("floors, line %d: %w", number+1, err)
		}
	}
	return f, nil
}

func (f Floors) add(line string) error {
	fields := strings.Split(line, "|")
	if len(fields) != 3 {
		return fmt.Errorf("%q is not \"row | measure, unit | ratio\"", line)
	}
	ratio, err := strconv.ParseFloat(strings.TrimSpace(fields[2]), 64)
	if err != nil {
		return fmt.Errorf("ratio: %w", err)
	}
	at := place{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])}
	if _, twice := f[at]; twice {
		return fmt.Errorf("a second floor for %s, %s", at.row, at.measure)
	}
	f[at] = ratio
	return nil
}

// Check returns an error for each floor that the results do not reach or do not contain, and for
// each row without a floor. known are the names of all rows. Nil Floors accept all results. A noisy
// measure is below its floor only if its best ratio is.
func (f Floors) Check(results []Row, known []string) error {
	if f == nil {
		return nil
	}
	ran := map[string]*Row{}
	for i := range results {
		ran[results[i].Name] = &results[i]
	}
	var found []error
	guarded := map[string]bool{}
	for at, floor := range f {
		names := matching(at.row, known)
		if len(names) == 0 {
			found = append(found, fmt.Errorf("%s: %w", at.row, ErrUnknown))
		}
		for _, name := range names {
			guarded[name] = true
			found = append(found, place{name, at.measure}.check(ran[name], floor))
		}
	}
	for _, name := range known {
		if !guarded[name] {
			found = append(found, fmt.Errorf("%s: %w", name, ErrUnguarded))
		}
	}
	slices.SortFunc(found, func(a, b error) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return errors.Join(slices.CompactFunc(found, func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })...)
}

// matching returns the names that a pattern matches.
func matching(pattern string, names []string) (matched []string) {
	for _, name := range names {
		if matches, err := path.Match(pattern, name); matches && err == nil {
			matched = append(matched, name)
		}
	}
	return matched
}

// check compares one measure. The row is nil if it was not run.
func (p place) check(row *Row, floor float64) error {
	if row == nil {
		return fmt.Errorf("%s: %w", p.row, ErrMissing)
	}
	for _, m := range row.Measures {
		if m.Name+", "+m.Unit != p.measure {
			continue
		}
		verdict := m.Verdict()
		ratio := verdict.Ratio
		if verdict.Noisy { // the ratio of the medians means little
			ratio = verdict.Best
		}
		if !(ratio >= floor) {
			return fmt.Errorf("%s, %s: %s is less than %s: %w", p.row, p.measure, Format(ratio), Format(floor), ErrBelow)
		}
		return nil
	}
	return fmt.Errorf("%s, %s: %w", p.row, p.measure, ErrUnknown)
}
