// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"time"
)

// html writes the informer.
func (v *informerView) html(p *page) {
	p.home()
	v.summary(p)
	v.errors(p)
	v.outages(p)
	if v.MaySeeObjects {
		p.put("<p>")
		p.link(to("id", fmt.Sprint(v.ID), "keys", ""), "Keys")
		p.put("</p>\n")
	}
	drawn := chartsOf(v.Samples)
	drawn.html(p)
	v.handlers(p)
	v.indices(p)
	v.requests(p)
	v.counts(p)
	v.memory(p)
}

// summary writes the name, the state and the problems.
func (v *informerView) summary(p *page) {
	p.put("<h1>{} ", v.Name)
	p.state(v.State)
	p.put("</h1>\n<p>{}", v.Type)
	p.maybe(", {}", v.InformerName)
	p.maybe(" at {}", v.Server)
	p.put(", informer {}: {}", v.ID, v.Status)
	p.maybe(", at version {}", v.ResourceVersion)
	p.put(", {} objects, {} events/s", v.Objects, rateText(v.EventRate))
	if v.LastEvent != 0 {
		p.put(", last event {} ago", seconds(v.LastEvent))
	}
	p.put(", decoded {}.</p>\n", v.Decoding)
	if len(v.Degraded) == 0 {
		return
	}
	p.put("<ul>")
	for _, problem := range v.Degraded {
		p.put("<li>{}</li>", problem)
	}
	p.put("</ul>\n")
}

func (v *informerView) errors(p *page) {
	if len(v.Errors) == 0 {
		return
	}
	p.put("<h2>Errors</h2>")
	p.columns("Text", "#Times", "First", "Last")
	for _, e := range v.Errors {
		p.put(`<tr><td>{}</td><td class="n">{}</td><td>{}</td><td>{}</td></tr>`, e.Text, e.Count, e.First.Format(time.RFC3339), e.Last.Format(time.RFC3339))
	}
	p.ends()
}

func (v *informerView) outages(p *page) {
	if len(v.Outages) == 0 {
		return
	}
	p.put("<h2>Outages</h2><table><tbody>")
	for _, o := range v.Outages {
		lasts := "it lasts"
		if o.Over {
			lasts = ""
		}
		p.put(`<tr><td>{}</td><td class="n">{}</td><td>{}</td></tr>`, o.Began.Format(time.RFC3339), seconds(o.Length), lasts)
	}
	p.put("</tbody></table>\n")
}

func (v *informerView) handlers(p *page) {
	if len(v.HandlerViews) > 0 {
		p.put("<h2>Handlers</h2>")
		p.columns("Name", "State", "#Pending", "#Oldest", "#Calling", "#Delivered", "#Merged", "#Busy", "#Longest",
			"#≤100 µs", "#≤1 ms", "#≤10 ms", "#≤100 ms", "#≤1 s", "#≤10 s", "#more")
		for at := range v.HandlerViews {
			v.HandlerViews[at].html(p)
		}
		p.ends()
	}
	if v.HandlersOmitted > 0 {
		p.put("<p>And {} that are less behind.</p>", v.HandlersOmitted)
	}
	if v.Disconnected > 0 {
		p.put("<p>{} were removed because they were too slow.</p>", v.Disconnected)
	}
}

// html writes the row of a handler.
func (h *handlerView) html(p *page) {
	p.put("<tr><td>{}", h.Name)
	p.maybe("<br>Will never count as synced: {}", h.Unsynced)
	p.put("</td><td>")
	color := stateOK
	if h.State == stateStuck {
		color = stateStuck
	}
	p.colored(color, h.State)
	p.put("</td>")
	p.numbers(h.Pending, seconds(h.Oldest), seconds(h.Calling), h.Delivered, h.Coalesced, seconds(h.Busy), seconds(h.Longest))
	for _, calls := range h.Histogram {
		p.numbers(calls)
	}
	p.put("</tr>\n")
}

func (v *informerView) indices(p *page) {
	if len(v.Indices) > 0 {
		p.put("<h2>Indices</h2>")
		p.columns("Name", "#Values", "#Members", "#Lacking", "#Failures", "#Memory ≈")
		for _, ix := range v.Indices {
			p.named(ix.Name, ix.Values, ix.Members, ix.Lacking, ix.Failures, size(ix.Bytes))
		}
		p.ends()
	}
	if v.IndicesOmitted > 0 {
		p.put("<p>And {} more.</p>", v.IndicesOmitted)
	}
}

// named writes a row of a name and numbers.
func (p *page) named(name string, numbers ...any) {
	p.put("<tr>")
	p.cell(name)
	p.numbers(numbers...)
	p.put("</tr>\n")
}

func (v *informerView) requests(p *page) {
	p.put("<h2>Requests</h2>")
	p.columns("Kind", "#Ended", "#Failed", "#Mean", "#Longest", "#Last", "#Objects or events")
	for _, r := range v.Requests {
		p.named(r.Kind, r.Ended, r.Failed, seconds(r.Mean), seconds(r.Longest), seconds(r.Last), r.Objects)
	}
	p.ends()
}

// counts writes the numbers that are not in a table.
func (v *informerView) counts(p *page) {
	p.put("<p>Events: {}. Relists: {}. Ends of watches: {}. Drops: {}. Decoded directly: {}, of {} of lists and {} of watches; not: {}.</p>\n",
		v.Events, counted(v.Relists), counted(v.WatchEnds), counted(v.Drops), v.Decoded, size(v.ListBytes), size(v.WatchBytes), counted(v.GivenUp))
	if a := &v.Audits; a.Outcome != "" {
		p.put("<p>Audits: {}; the last at {}: {}; objects that differ: {}. Found in all: {}. Relists for it: {}.</p>\n",
			counted(a.Ended), a.LastAt.Format(time.RFC3339), a.Outcome, a.Differing, counted(a.Found), a.Relists)
	}
	v.QueueStats.html(p)
}

func (q *queueView) html(p *page) {
	p.put("<p>Queue: {} wait", q.Depth)
	if q.Limit > 0 {
		p.put(", of {}", q.Limit)
	}
	p.put("; {} pauses of {} in all; transform errors {}, {} objects behind; process errors {}",
		q.Pauses, seconds(q.Paused), q.TransformErrors, q.Untransformed, q.ProcessErrors)
	p.maybe("; the last: {}", q.LastError)
	p.put(".</p>\n")
}

func (v *informerView) memory(p *page) {
	p.put("<h2>Memory, estimated</h2><table><tbody>")
	for _, part := range partsOf(v.MemoryParts) {
		p.named(part.Name, size(part.Bytes))
	}
	p.put("</tbody></table>\n<p>By {} objects.</p>", v.MemoryParts.Sampled)
}

// html writes the charts.
func (c *charts) html(p *page) {
	p.put(`<h2>The last {}</h2><div class="charts">`, c.Span)
	for at := range c.Charts {
		c.Charts[at].html(p)
	}
	p.put("</div>\n<p class=\"note\">Drawn by the server from what it has seen whenever this page was asked for.</p>\n")
}

func (c *chart) html(p *page) {
	p.put("<figure><figcaption>{}", c.Title)
	if c.Most != "" {
		p.put(": <strong>{}</strong>, at most {}", c.Now, c.Most)
	}
	p.put("</figcaption>\n")
	if len(c.Lines) == 0 {
		p.put("<p>The next look begins a line.</p></figure>")
		return
	}
	p.put(`<svg viewBox="0 -2 300 64" preserveAspectRatio="none" role="img" aria-label="{}, now {}, at most {}">`, c.Title, c.Now, c.Most)
	for _, line := range c.Lines {
		p.put(`<polyline points="{}"/>`, line)
	}
	p.put("</svg></figure>")
}
