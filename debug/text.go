// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// text writes the table for a terminal.
func (v *tableView) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s\n\n", v.Head())
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tSERVER\tSTATE\tPHASE\tOBJECTS\tEVENTS/S\tHANDLERS\tPENDING\tLAG\tQUEUE\tMEMORY\tDECODING")
	for _, r := range v.Informers {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s for %s\t%d\t%.1f\t%d\t%d\t%s\t%d\t%s\t%s\n", r.ID, r.Name, r.Server, r.stateWords(), r.Phase, seconds(r.PhaseSeconds),
			r.Objects, r.EventRate, r.Handlers, r.Pending, seconds(r.Lag), r.Queue, size(r.Memory), r.Decoding)
	}
	_ = w.Flush()
	if v.Omitted > 0 {
		sorted := ""
		if v.ByMemory {
			sorted = "&sort=memory"
		}
		fmt.Fprintf(b, "\n%d more: ?format=text%s&from=%d\n", v.Omitted, sorted, v.Next)
	}
}

// stateWords returns the state, and the reason of a failure.
func (r *row) stateWords() string {
	if r.Reason == "" {
		return r.State
	}
	return r.State + ", " + r.Reason
}

// text writes the informer for a terminal.
func (v *informerView) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s (%s), informer %d: %s\n%s, at version %s, %d objects, %.1f events/s, decoded %s\n",
		v.Name, v.Type, v.ID, v.stateWords(), v.Status, v.ResourceVersion, v.Objects, v.EventRate, v.Decoding)
	for _, reason := range v.Degraded {
		fmt.Fprintf(b, "degraded: %s\n", reason)
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	section := func(head string) { _ = w.Flush(); fmt.Fprintf(b, "\n"); fmt.Fprintln(w, head) }
	section("HANDLER\tSTATE\tPENDING\tOLDEST\tCALLING\tDELIVERED\tBUSY\tLONGEST")
	for _, h := range v.HandlerViews {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\n", h.Name, h.State, h.Pending, seconds(h.Oldest), seconds(h.Calling), h.Delivered,
			seconds(h.Busy), seconds(h.Longest))
	}
	if v.HandlersOmitted > 0 {
		fmt.Fprintf(w, "and %d that are less behind\n", v.HandlersOmitted)
	}
	section("INDEX\tVALUES\tMEMBERS\tLACKING\tBYTES")
	for _, ix := range v.Indices {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", ix.Name, ix.Values, ix.Members, ix.Lacking, size(ix.Bytes))
	}
	section("REQUESTS\tENDED\tFAILED\tMEAN\tLONGEST\tLAST\tOBJECTS")
	for _, r := range v.Requests {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%d\n", r.Kind, r.Ended, r.Failed, seconds(r.Mean), seconds(r.Longest), seconds(r.Last), r.Objects)
	}
	section("COUNTS")
	for _, row := range []struct {
		name   string
		counts map[string]int64
	}{
		{"relists", v.Relists}, {"watch ends", v.WatchEnds}, {"drops", v.Drops},
		{"audits", v.Audits.Ended}, {"audits found", v.Audits.Found},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row.name, counted(row.counts))
	}
	section("MEMORY, ESTIMATED\t" + size(v.Memory))
	for _, part := range partsOf(v.MemoryParts) {
		fmt.Fprintf(w, "%s\t%s\n", part.Name, size(part.Bytes))
	}
	section("ERROR\tTIMES\tLAST")
	for _, e := range v.Errors {
		fmt.Fprintf(w, "%s\t%d\t%s\n", e.Text, e.Count, e.Last.Format(time.RFC3339))
	}
	_ = w.Flush()
}

// part is the memory of one part of an informer.
type part struct {
	Name  string
	Bytes int64
}

func partsOf(m memoryView) []part {
	return []part{
		{"objects", m.Objects}, {"store", m.Store}, {"indices", m.Indices}, {"snapshots", m.Snapshots}, {"queue", m.Queue}, {"handlers", m.Handlers},
	}
}

// counted formats counts in the order of their names.
func counted(counts map[string]int64) string {
	var words []string
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", word, counts[word]))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func seconds(s float64) string { return shortly(time.Duration(s * float64(time.Second))) }

// size formats a number of bytes.
func size(bytes int64) string {
	const units = "KMGTP"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	n, unit := float64(bytes), -1
	for n >= 1<<10 && unit < len(units)-1 {
		n, unit = n/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", n, units[unit])
}
