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
	v.errors().html(p)
	v.outages().html(p)
	if v.MaySeeObjects {
		p.put("<p>")
		p.link(to("id", fmt.Sprint(v.ID), "keys", ""), "Keys")
		p.put("</p>\n")
	}
	drawn := chartsOf(v.Samples)
	drawn.html(p)
	v.handlers().html(p)
	if v.HandlersOmitted > 0 {
		p.put("<p>And {} that are less behind.</p>", v.HandlersOmitted)
	}
	if v.Disconnected > 0 {
		p.put("<p>{} were removed because they were too slow.</p>", v.Disconnected)
	}
	v.indices().html(p)
	if v.IndicesOmitted > 0 {
		p.put("<p>And {} more.</p>", v.IndicesOmitted)
	}
	v.requests().html(p)
	v.counts(p)
	v.memory().html(p)
	p.put("<p>By {} objects.</p>", v.MemoryParts.Sampled)
}

// summary writes the name, the state and the problems.
func (v *informerView) summary(p *page) {
	p.put("<h1>{} ", v.Name)
	p.put(`<span class="state {}">{}</span>`, v.State, v.State)
	p.put("</h1>\n<p>{}{}", v.Type, v.more())
	p.maybe(" at {}", v.Server)
	p.put(", informer {}: {}", v.ID, v.Status)
	p.maybe(", at version {}", v.ResourceVersion)
	p.put(", {} objects, {} events/s", v.Objects, rateText(v.EventRate))
	if v.LastEvent != 0 {
		p.put(", last event {} ago", seconds(v.LastEvent))
	}
	p.put(", decoded {}", v.Decoding)
	p.maybe(", with {}", v.Keeps)
	p.put(".</p>\n")
	if len(v.Degraded) == 0 {
		return
	}
	p.put("<ul>")
	for _, problem := range v.Degraded {
		p.put("<li>{}</li>", problem)
	}
	p.put("</ul>\n")
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
