// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
)

// Picture is one that can be drawn from a document. Exactly one of Bars and
// Lines is set.
type Picture struct {
	// Group is the heading under which it stands.
	Group string
	// File is its name, without a folder.
	File  string
	Title string
	// Bars are rows whose first measures are compared, one pair of bars each.
	Bars []*Row
	// Lines are drawn over the same axes.
	Lines []Line
	// Log says that the values are to be on a logarithmic axis.
	Log bool
}

// Line is a curve of one side.
type Line struct {
	Label string
	Side  int
	Curve *Curve
}

// Pictures are what the results of the document allow, in the order of its
// rows.
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

// bars compares the rows of a group, if there are several.
func (d *Document) bars(group string) []Picture {
	var compared []*Row
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Group == group && !r.Measures[0].Shown && r.Measures[0].Summaries()[0].Median > 0 {
			compared = append(compared, r)
		}
	}
	if len(compared) < 2 {
		return nil
	}
	return []Picture{{Group: group, File: "bars-" + slug(group) + ".svg", Title: group, Bars: compared}}
}

// curves are the lines of one row, a picture for each.
func (d *Document) curves(r *Row) []Picture {
	var all []Picture
	for i := range r.Curves {
		c := &r.Curves[i]
		p := Picture{
			Group: r.Group, File: slug(r.Name) + "-" + slug(c.Name) + ".svg",
			Title: r.Name + ": " + c.Name, Log: c.X == "percentile",
		}
		for side := range d.Sides {
			p.Lines = append(p.Lines, Line{d.Sides[side].Name, side, c})
		}
		all = append(all, p)
	}
	return all
}

// slug is a text as part of a file's name: its words in lower case.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	const most = 6 // words: enough to tell groups apart
	return strings.Join(words[:min(len(words), most)], "-")
}

// in are the pictures of a group.
func in(group string, pictures []Picture) []Picture {
	return slices.DeleteFunc(slices.Clone(pictures), func(p Picture) bool { return p.Group != group })
}
