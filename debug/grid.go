// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
)

// grid is a table, for browsers and for terminals. An empty one is not written, unless it has no
// title.
type grid struct {
	title string
	heads []string // the names of columns. Those of numbers begin with a #
	rows  [][]any
	sorts sorting
}

// sorting is the link in the head of a column by which the rows can be sorted.
type sorting struct {
	head string
	to   url.Values
	done bool // whether the rows are sorted
}

// anchor is a cell with a link.
type anchor struct {
	to         url.Values
	text, more string // more follows the link
}

func (a anchor) String() string { return a.text + a.more }

// badge is a cell with a text in the color of a state.
type badge struct {
	color, text string
	reason      string // a word
	why, error  string // why includes reason; error is its explanation
}

func (b badge) String() string { return strings.TrimSuffix(b.text+", "+b.reason, ", ") }

// row appends a row.
func (g *grid) row(values ...any) { g.rows = append(g.rows, values) }

// isEmpty reports whether the grid is not written.
func (g *grid) isEmpty() bool { return g.title != "" && len(g.rows) == 0 }

// text writes the grid for a terminal.
func (g *grid) text(b io.Writer) {
	if g.isEmpty() {
		return
	}
	if g.title != "" {
		fmt.Fprintf(b, "\n%s\n", g.title)
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	if len(g.heads) > 0 {
		fmt.Fprintln(w, strings.ToUpper(strings.ReplaceAll(strings.Join(g.heads, "\t"), "#", "")))
	}
	for _, row := range g.rows {
		for at, value := range row {
			fmt.Fprint(w, []string{"", "\t"}[min(at, 1)], value)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
}

// html writes the grid for a browser.
func (g *grid) html(p *page) {
	if g.isEmpty() {
		return
	}
	p.maybe("<h2>{}</h2>\n", g.title)
	p.put(`<div class="scroll"><table>`)
	if len(g.heads) > 0 {
		p.put("<thead><tr>")
		for _, head := range g.heads {
			g.sorts.html(p, head)
		}
		p.put("</tr></thead>")
	}
	p.put("<tbody>\n")
	for _, row := range g.rows {
		p.put("<tr>")
		for at, value := range row {
			p.cell(value, at > 0 && (len(g.heads) == 0 || g.heads[at][0] == '#'))
		}
		p.put("</tr>\n")
	}
	p.put("</tbody></table></div>\n")
}

// html writes the head of a column.
func (s *sorting) html(p *page, head string) {
	name, number := strings.CutPrefix(head, "#")
	switch {
	case head == s.head && s.done:
		p.put(`<th class="n" aria-sort="descending">`)
	case number:
		p.put(`<th class="n">`)
	default:
		p.put("<th>")
	}
	if head == s.head {
		p.link(s.to, name)
	} else {
		p.put("{}", name)
	}
	p.put("</th>")
}

// cell writes a cell.
func (p *page) cell(value any, number bool) {
	if number {
		p.put(`<td class="n">{}</td>`, value)
		return
	}
	p.put("<td>")
	switch v := value.(type) {
	case anchor:
		p.link(v.to, v.text)
		p.put("{}", v.more)
	case badge:
		v.html(p)
	default:
		p.put("{}", v)
	}
	p.put("</td>")
}

func (b *badge) html(p *page) {
	p.put(`<span class="state {}">{}</span>`, b.color, b.text)
	if b.error != "" {
		p.put(` <span title="{}">{}</span>`, b.error, b.why)
	} else {
		p.maybe(" {}", b.why)
	}
}
