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

// What Check finds, wrapped with the row that it concerns.
var (
	// ErrBelow says that a ratio is below its floor.
	ErrBelow = errors.New("the ratio is below its floor")
	// ErrUnknown says that there is no such row or measure.
	ErrUnknown = errors.New("the floors name what the benchmark does not have")
	// ErrMissing says that a row was not run.
	ErrMissing = errors.New("the row has a floor and was not run")
	// ErrUnguarded says that a quick run has a row of which no floor tells.
	ErrUnguarded = errors.New("the row has no floor; one that is to have none is listed with a dash")
)

// Floors are the lowest ratios that pass. They are kept in a file, so that a change that makes
// something much slower is noticed.
type Floors struct {
	ratios map[place]float64
	// rows are all rows that are listed, also those without a floor.
	rows map[string]bool
}

// place is a measure of a row; the measure is written "name, unit".
type place struct{ row, measure string }

// ParseFloors reads floors: a line each, "row | measure, unit | ratio", or "row | -"
// for a row that has none. A row may be a pattern as of path.Match for rows of a
// quick run. Empty lines and those that begin with # are left out.
func ParseFloors(text string) (*Floors, error) {
	f := &Floors{ratios: map[place]float64{}, rows: map[string]bool{}}
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

func (f *Floors) add(line string) error {
	fields := strings.Split(line, "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if len(fields) == 2 && fields[1] == "-" {
		f.rows[fields[0]] = true
		return nil
	}
	if len(fields) != 3 {
		return fmt.Errorf("%q is not \"row | measure, unit | ratio\"", line)
	}
	ratio, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return fmt.Errorf("ratio: %w", err)
	}
	at := place{fields[0], fields[1]}
	if _, twice := f.ratios[at]; twice {
		return fmt.Errorf("a second floor for %s, %s", at.row, at.measure)
	}
	f.ratios[at], f.rows[at.row] = ratio, true
	return nil
}

// Check returns an error for each floor that the results do not reach or do
// not show, and for each row of a quick run that the floors leave out. known
// are all rows that there are; its values say which of them a quick run has.
// Nil Floors accept everything. A noisy measure is below its floor if even its best ratio is.
func (f *Floors) Check(results []Row, known map[string]bool) error {
	if f == nil {
		return nil
	}
	ran := map[string]*Row{}
	for i := range results {
		ran[results[i].Name] = &results[i]
	}
	var found []error
	listed := map[string]bool{}
	for pattern := range f.rows {
		names := matching(pattern, known)
		if len(names) == 0 {
			found = append(found, fmt.Errorf("%s: %w", pattern, ErrUnknown))
		}
		for _, name := range names {
			listed[name] = true
		}
	}
	for name, quick := range known {
		if quick && !listed[name] {
			found = append(found, fmt.Errorf("%s: %w", name, ErrUnguarded))
		}
	}
	for at, floor := range f.ratios {
		for _, name := range matching(at.row, known) {
			found = append(found, place{name, at.measure}.check(ran[name], floor))
		}
	}
	slices.SortFunc(found, func(a, b error) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return errors.Join(slices.CompactFunc(found, func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })...)
}

// matching are the rows of that name, or those of a quick run that the pattern matches.
func matching(pattern string, known map[string]bool) (names []string) {
	if _, there := known[pattern]; there {
		return []string{pattern}
	}
	for name, quick := range known {
		if matches, err := path.Match(pattern, name); quick && matches && err == nil {
			names = append(names, name)
		}
	}
	return names
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
		if verdict.Noisy { // and a median says little
			ratio = verdict.Best
		}
		if !(ratio >= floor) {
			return fmt.Errorf("%s, %s: %s is less than %s: %w", p.row, p.measure, Format(ratio), Format(floor), ErrBelow)
		}
		return nil
	}
	return fmt.Errorf("%s, %s: %w", p.row, p.measure, ErrUnknown)
}
