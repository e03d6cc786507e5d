// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kinformer/cache/bench/internal/stats"
)

// Picture is one that can be drawn from a document. Exactly one of Bars and Lines is set.
type Picture struct {
	// Group is the heading under which it stands.
	Group string
	// File is its name, without a folder.
	File  string
	Title string
	// Says is what the picture shows, with the unit.
	Says string
	// Sides are the names of both.
	Sides [2]string
	// Bars compare the sides.
	Bars []Bar
	// Lines are drawn over the same axes.
	Lines []Line
	// Log says that the values are to be on a logarithmic axis.
	Log bool
}

// Bar is a measure of the second side as a share of the first one's.
type Bar struct {
	Label string
	// Color is the number of the side, as in FigureLine.
	Color int
	// Share is the second side's median over the first one's.
	Share float64
	// Figures are both medians, as they are written in the table.
	Figures string
}

// Line is a curve of one side.
type Line struct {
	Side  int
	Curve *Curve
}

// Pictures are what the results of the document allow, in the order of its rows.
func (d *Document) Pictures() []Picture {
	var all []Picture
	for i := range d.Rows {
		if i == 0 || d.Rows[i].Group != d.Rows[i-1].Group {
			all = append(all, d.bars(d.Rows[i].Group)...)
		}
		all = append(all, d.curves(&d.Rows[i])...)
	}
	return all
}

const (
	// fewest and most bound the rows of a picture with bars: fewer are as quickly read in the
	// table, and of more a reader sees none.
	fewest, most = 3, 12

	// tapped begins the names of measures of informers that decode directly, and Direct is the
	// color of their bars.
	tapped = "tapped, "
	Direct = 2
)

// shown are the rows that are drawn of a group that has too many. The others, of fewer objects or
// by other ways over HTTP, are in the table.
var shown = regexp.MustCompile(`^size/100000-|^queued/100000/|^http/[a-z]+-(list|watch)$`)

// bars compares the rows of a group by their first measures: a picture for each measure.
func (d *Document) bars(group string) []Picture {
	var pictures []Picture
	compared := d.compared(group)
	for len(compared) > 0 {
		m := &compared[0].Measures[0]
		same := func(r *Row) bool { return r.Measures[0].Name == m.Name && r.Measures[0].Unit == m.Unit }
		p := Picture{Group: group, Title: group, Says: m.Name + ", " + Words(m.Unit), File: "bars-" + slug(group), Sides: d.names()}
		if len(pictures) > 0 {
			p.File += "-" + slug(m.Name)
		}
		p.File += ".svg"
		rows := 0
		for _, r := range compared {
			if same(r) {
				p.Bars, rows = append(p.Bars, r.bars()...), rows+1
			}
		}
		if rows >= fewest {
			pictures = append(pictures, p)
		}
		compared = slices.DeleteFunc(compared, same)
	}
	return pictures
}

// compared are the rows of a group that a picture can compare.
func (d *Document) compared(group string) []*Row {
	var all []*Row
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Group == group && !r.Measures[0].Shown && r.Measures[0].Summaries()[0].Median > 0 {
			all = append(all, r)
		}
	}
	if len(all) <= most {
		return all
	}
	few := slices.DeleteFunc(slices.Clone(all), func(r *Row) bool { return !shown.MatchString(r.Name) })
	if len(few) == 0 {
		return all
	}
	return few
}

// bars are those of a row's first measure, and of the same one with direct decoding.
func (r *Row) bars() []Bar {
	first := r.Measures[0]
	all := []Bar{first.bar(r.Name, 1)}
	for _, m := range r.Measures[1:] {
		if m.Name == tapped+first.Name {
			all = append(all, m.bar(r.Name+" with direct", Direct))
		}
	}
	return all
}

func (m Measure) bar(label string, color int) Bar {
	both := m.Summaries()
	b := Bar{
		Label: label, Color: color, Share: both[1].Median / both[0].Median,
		Figures: stats.Format(both[0].Median) + " → " + stats.Format(both[1].Median),
	}
	switch v := m.Verdict(); {
	case v.Noisy:
		b.Figures += ", noisy"
	case v.Bound == 0:
		b.Figures += ", ≈"
	}
	return b
}

// curves are the lines of one row, a picture for each.
func (d *Document) curves(r *Row) []Picture {
	var all []Picture
	for i := range r.Curves {
		c := &r.Curves[i]
		p := Picture{
			Group: r.Group, File: slug(r.Name) + "-" + slug(c.Name) + ".svg",
			Title: r.Name + ": " + c.Name, Log: c.X == "percentile", Says: r.Title + "; a line for each round", Sides: d.names(),
		}
		for side := range d.Sides {
			p.Lines = append(p.Lines, Line{side, c})
		}
		all = append(all, p)
	}
	return all
}

// Alt says in words what the picture shows.
func (p Picture) Alt() string {
	if len(p.Bars) == 0 {
		c := p.Lines[0].Curve
		return fmt.Sprintf("%s in %s over %s, lines of %s and %s", p.Title, Words(c.Y), Words(c.X), p.Sides[0], p.Sides[1])
	}
	shares := make([]string, 0, len(p.Bars))
	for _, b := range p.Bars {
		shares = append(shares, b.Label+" "+stats.Format(b.Share))
	}
	return p.Title + ": " + p.Says + ", as a share of what " + p.Sides[0] + " takes: " + strings.Join(shares, ", ")
}

// names are those of the sides.
func (d *Document) names() [2]string { return [2]string{d.Sides[0].Name, d.Sides[1].Name} }

// words are units, and what something is counted for.
var words = map[string]string{
	"B": "bytes", "MB": "megabytes", "MiB": "mebibytes", "ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds",
	"allocs": "allocations", "op": "operation",
}

// Words writes a unit out.
func Words(unit string) string {
	name, per, found := strings.Cut(unit, "/")
	word := func(short string) string {
		if long, ok := words[short]; ok {
			return long
		}
		return short
	}
	if !found {
		return word(name)
	}
	return word(name) + " per " + strings.TrimSuffix(word(per), "s")
}

// slug is a text as part of a file's name: its words in lower case.
func slug(text string) string {
	parts := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	const longest = 9 // words: enough to tell groups apart
	return strings.Join(parts[:min(len(parts), longest)], "-")
}

// in are the pictures of a group.
func in(group string, pictures []Picture) []Picture {
	return slices.DeleteFunc(slices.Clone(pictures), func(p Picture) bool { return p.Group != group })
}
