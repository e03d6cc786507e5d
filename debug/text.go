// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// text writes the table for a terminal.
func (v *tableView) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s\n\n", v.Head())
	all := v.grid()
	all.heads = append([]string{"ID"}, all.heads...)
	for at, row := range all.rows {
		all.rows[at] = append([]any{v.Informers[at].ID}, row...)
	}
	all.text(b)
	if v.Omitted > 0 {
		sorted := ""
		if v.ByMemory {
			sorted = "&sort=memory"
		}
		fmt.Fprintf(b, "\n%d more: ?format=text%s&from=%d\n", v.Omitted, sorted, v.Next)
	}
	v.clientGo().text(b)
}

// text writes the informer for a terminal.
func (v *informerView) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s (%s%s), informer %d: %s\n%s, at version %s, %d objects, %.1f events/s, decoded %s\n",
		v.Name, v.Type, v.more(), v.ID, v.badge(), v.Status, v.ResourceVersion, v.Objects, v.EventRate, v.Decoding)
	if v.Keeps != "" {
		fmt.Fprintf(b, "kept: %s\n", v.Keeps)
	}
	for _, reason := range v.Degraded {
		fmt.Fprintf(b, "degraded: %s\n", reason)
	}
	v.handlers().text(b)
	if v.HandlersOmitted > 0 {
		fmt.Fprintf(b, "and %d that are less behind\n", v.HandlersOmitted)
	}
	for _, one := range []*grid{v.indices(), v.requests(), v.counted(), v.memory(), v.errors(), v.outages()} {
		one.text(b)
	}
}

// counted returns the counts by reason.
func (v *informerView) counted() *grid {
	g := &grid{title: "Counts"}
	for at, counts := range [...]map[string]int64{v.Relists, v.WatchEnds, v.Drops, v.Audits.Ended, v.Audits.Found} {
		g.row(countNames[at], counted(counts))
	}
	return g
}

var countNames = [...]string{"relists", "watch ends", "drops", "audits", "audits found"}

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
