// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/beside"
)

// memoryHead is the head of the column by which the table of informers can be sorted.
const memoryHead = "#Memory ≈"

// grid returns the table of informers.
func (v *tableView) grid() *grid {
	g := &grid{heads: []string{"Name", "Server", "State", "Phase", "#Objects", "#Events/s", "#Handlers", "#Pending", "#Lag", "#Queue", memoryHead, "Decoding"}}
	for at := range v.Informers {
		r := &v.Informers[at]
		g.row(anchor{to("id", fmt.Sprint(r.ID)), r.Name, r.more()}, r.Server, r.badge(), r.Phase+" for "+seconds(r.PhaseSeconds), r.Objects, rateText(r.EventRate),
			r.Handlers, r.Pending, seconds(r.Lag), r.Queue, size(r.Memory), r.Decoding)
	}
	return g
}

// clientGo returns the table of the informers that are client-go's, of which little is known.
func (v *tableView) clientGo() *grid {
	g := &grid{title: "client-go's", heads: []string{"Name", "Because of", "Synced", "#Objects", "Version"}}
	for _, r := range v.ClientGo {
		g.row(r.Name, r.Because, r.Synced, r.Objects, r.ResourceVersion)
	}
	return g
}

// more returns what follows the name of an informer.
func (r *row) more() (words string) {
	if r.InformerName != "" {
		words = " (" + r.InformerName + ")"
	}
	if r.Sources > 0 {
		words += ", " + beside.Counted(int64(r.Sources), "source")
	}
	if r.Unsynced > 0 {
		words += fmt.Sprintf(", %d not synced", r.Unsynced)
	}
	return words
}

// badge returns the state of an informer, the reason of a failure and the first problem.
func (r *row) badge() badge {
	b := badge{color: r.State, text: r.State, reason: r.Reason, why: r.Reason, error: r.Error}
	if len(r.Degraded) > 0 && b.why != "" {
		b.why += ": "
	}
	if len(r.Degraded) > 0 {
		b.why += r.Degraded[0]
	}
	return b
}

func (v *informerView) errors() *grid {
	g := &grid{title: "Errors", heads: []string{"Text", "#Times", "First", "Last"}}
	for _, e := range v.Errors {
		g.row(e.Text, e.Count, e.First.Format(time.RFC3339), e.Last.Format(time.RFC3339))
	}
	return g
}

func (v *informerView) outages() *grid {
	g := &grid{title: "Outages", heads: []string{"Began", "#Length", "State"}}
	for _, o := range v.Outages {
		lasts := "it lasts"
		if o.Over {
			lasts = "over"
		}
		g.row(o.Began.Format(time.RFC3339), seconds(o.Length), lasts)
	}
	return g
}

func (v *informerView) handlers() *grid {
	g := &grid{title: "Handlers", heads: []string{"Name", "State", "#Pending", "#Oldest", "#Calling", "#Delivered", "#Merged", "#Busy", "#Longest",
		"#≤100 µs", "#≤1 ms", "#≤10 ms", "#≤100 ms", "#≤1 s", "#≤10 s", "#more"}}
	for at := range v.HandlerViews {
		h := &v.HandlerViews[at]
		name, color := h.Name, stateOK
		if h.Unsynced != "" {
			name += "; will never count as synced: " + h.Unsynced
		}
		if h.State == stateStuck {
			color = stateStuck
		}
		g.row(name, badge{color: color, text: h.State}, h.Pending, seconds(h.Oldest), seconds(h.Calling), h.Delivered, h.Coalesced,
			seconds(h.Busy), seconds(h.Longest))
		for _, calls := range h.Histogram {
			g.rows[at] = append(g.rows[at], calls)
		}
	}
	return g
}

func (v *informerView) indices() *grid {
	g := &grid{title: "Indices", heads: []string{"Name", "#Values", "#Members", "#Lacking", "#Failures", "#Memory ≈"}}
	for _, ix := range v.Indices {
		g.row(ix.Name, ix.Values, ix.Members, ix.Lacking, ix.Failures, size(ix.Bytes))
	}
	return g
}

func (v *informerView) requests() *grid {
	g := &grid{title: "Requests", heads: []string{"Kind", "#Ended", "#Failed", "#Mean", "#Longest", "#Last", "#Objects or events"}}
	for _, r := range v.Requests {
		g.row(r.Kind, r.Ended, r.Failed, seconds(r.Mean), seconds(r.Longest), seconds(r.Last), r.Objects)
	}
	return g
}

func (v *informerView) memory() *grid {
	g, m := &grid{title: "Memory, estimated"}, &v.MemoryParts
	for at, bytes := range [...]int64{m.Objects, m.Store, m.Indices, m.Snapshots, m.Queue, m.Handlers} {
		g.row(memoryParts[at], size(bytes))
	}
	return g
}

var memoryParts = [...]string{"objects", "store", "indices", "snapshots", "queue", "handlers"}
