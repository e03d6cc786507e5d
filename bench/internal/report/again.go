// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Again is a part of a document that was measured after the rest.
type Again struct {
	// Pattern is what its rows match.
	Pattern string `json:"pattern"`
	// Version is that of the second side.
	Version    string        `json:"version"`
	LoadBefore string        `json:"loadBefore"`
	Started    time.Time     `json:"started"`
	Took       time.Duration `json:"tookNanoseconds"`
}

var errOtherRun = errors.New("the earlier results are of another machine, or of other objects")

// TakeOver puts the rows of a newer document, which match the pattern, in the
// place of those of d. The rows are then in the order of names.
func (d *Document) TakeOver(newer *Document, pattern string, names []string) error {
	if d.Machine != newer.Machine || d.Objects != newer.Objects || d.Seed != newer.Seed || d.Quick != newer.Quick {
		return fmt.Errorf("%w: %+v, %d objects, seed %d", errOtherRun, d.Machine, d.Objects, d.Seed)
	}
	fresh := map[string]bool{}
	for i := range newer.Rows {
		fresh[newer.Rows[i].Name] = true
	}
	d.Rows = slices.DeleteFunc(d.Rows, func(r Row) bool { return fresh[r.Name] || !slices.Contains(names, r.Name) })
	d.Rows = append(d.Rows, newer.Rows...)
	slices.SortStableFunc(d.Rows, func(a, b Row) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
	d.Again = append(d.Again, Again{
		Pattern: pattern, Version: newer.Sides[1].Version, LoadBefore: newer.LoadBefore, Started: newer.Started, Took: newer.Took,
	})
	return nil
}
