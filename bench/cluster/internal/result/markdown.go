// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
)

// Goal is the share of events that should be within follow.Limit.
const Goal = 0.999

// WriteMarkdown writes the results, in the order of Sort, as a page. It shows the Figures if there
// is a folder for them.
func WriteMarkdown(w io.Writer, all []Result, command, figures string) error {
	var b strings.Builder
	b.WriteString("# A cluster, by its number of nodes\n\n")
	fmt.Fprintf(&b, "Written by `%s`; do not edit. [What is run, and how it is measured](../cluster.md).\n\n", command)
	if len(all) > 0 {
		writeMachine(&b, all)
		writeLargest(&b, all)
		for group := range groups(all) {
			writeGroup(&b, group)
			if figures != "" {
				writePictures(&b, group, figures)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

func writeMachine(b *strings.Builder, all []Result) {
	m := all[0].Machine
	fmt.Fprintf(b, "%s, %d cores, %.0f GiB, %s, %s.", m.CPU, m.Cores, float64(m.MemoryBytes)/(1<<30), m.OS, m.Go)
	versions, thrown := map[string]bool{}, 0
	for _, r := range all {
		thrown += r.Thrown
		if name := follow.Title(r.Spec.Side) + " " + r.Version; !versions[name] {
			versions[name] = true
			fmt.Fprintf(b, " %s.", name)
		}
	}
	fmt.Fprintf(b, " Runs thrown away for CPU steal: %d.\n", thrown)
}

// writeLargest tells for each side up to which size it keeps the goal.
func writeLargest(b *strings.Builder, all []Result) {
	fmt.Fprintf(b, "\n## The most nodes with %.1f %% of the events under %d ms\n\n", 100*Goal, follow.Limit/1000)
	b.WriteString("| | side | most nodes that keep it | fewest that do not |\n|---|---|---:|---:|\n")
	type key struct{ group, side string }
	var order []key
	kept, broken := map[key]int{}, map[key]int{}
	for _, r := range all {
		k := key{r.Spec.group(), r.Spec.Side}
		if kept[k] == 0 && broken[k] == 0 {
			order = append(order, k)
		}
		switch {
		case r.Failed != "" || r.Phase(Steady).Latency.Prompt.Under() < Goal:
			if broken[k] == 0 {
				broken[k] = r.Spec.Nodes
			}
		case broken[k] == 0:
			kept[k] = r.Spec.Nodes
		}
	}
	for _, k := range order {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", k.group, follow.Title(k.side), orNone(kept[k]), orNone(broken[k]))
	}
}

func orNone(n int) string {
	if n == 0 {
		return "none was run"
	}
	return fmt.Sprint(n)
}

func writeGroup(b *strings.Builder, all []Result) {
	s := all[0].Spec
	fmt.Fprintf(b, "\n## %s\n\nSPEED %g, steady for %s.\n\n", s.group(), s.Speed, s.Steady)
	b.WriteString("| nodes | side | events/s | p50 | p99 | p99.9 | most | under 100 ms | CPU, % of a core | of that GC | RSS steady | peak of the start | peak of the storm | storm/steady | synced after | recovered after |\n")
	b.WriteString("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range all {
		writeRow(b, r)
	}
	for _, r := range all {
		if r.Failed != "" {
			fmt.Fprintf(b, "\n%d nodes, %s: the run failed. %s\n", r.Spec.Nodes, follow.Title(r.Spec.Side), strings.ReplaceAll(r.Failed, "\n", "; "))
		}
	}
	b.WriteString("\nThe other phases, and the handlers that are not like the others:\n\n")
	b.WriteString("| nodes | side | CPU of the start | CPU of the 410s | CPU of the storm | p99.9 of the 410s | p99.9 of the storm | most of the storm | late handler knows all after | p99.9 of the slow one | the server sends late: p99.9, most | steal |\n")
	b.WriteString("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range all {
		if r.Failed == "" {
			writeOthers(b, r)
		}
	}
}

func writePictures(b *strings.Builder, group []Result, folder string) {
	b.WriteByte('\n')
	for _, f := range Figures(group) {
		fmt.Fprintf(b, "![%s](%s/%s)\n", f.Title, folder, f.File)
	}
}

// writeRow writes how far a run came.
func writeRow(b *strings.Builder, r Result) {
	steady, storm := r.Phase(Steady), r.Phase(Storm)
	l := steady.Latency.Prompt
	fmt.Fprintf(b, "| %d | %s |", r.Spec.Nodes, follow.Title(r.Spec.Side))
	if l.Events > 0 {
		fmt.Fprintf(b, " %.0f | %s | %s | %s | %s | %.3f %% | %.1f | %.1f | %s | %s |", eventsPerSecond(steady),
			micros(l.P50), micros(l.P99), micros(l.P999), micros(l.Max), 100*l.Under(),
			100*steady.Share(), 100*float64(steady.CollectCPU)/float64(max(steady.Wall, 1)),
			bytesOf(steady.RSS), bytesOf(r.Phase(Start).Peak))
	}
	if storm.Wall > 0 {
		fmt.Fprintf(b, " %s | %.2f | %s | %s |", bytesOf(storm.Peak), float64(storm.Peak)/float64(max(steady.RSS, 1)),
			seconds(r.Sync), seconds(r.Recovered))
	} else {
		b.WriteString(" failed |")
	}
	b.WriteString("\n")
}

// eventsPerSecond is what the server sent, each event once.
func eventsPerSecond(p Phase) float64 {
	var changes uint64
	for _, n := range p.Notes {
		changes += n.Changes
	}
	return float64(changes) / p.Wall.Seconds()
}

func writeOthers(b *strings.Builder, r Result) {
	gone, storm := r.Phase(Gone), r.Phase(Storm)
	fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s, %s | %.2f %% |\n",
		r.Spec.Nodes, follow.Title(r.Spec.Side), seconds(r.Phase(Start).CPU), seconds(gone.CPU), seconds(storm.CPU),
		micros(gone.Latency.Prompt.P999), micros(storm.Latency.Prompt.P999), micros(storm.Latency.Prompt.Max),
		seconds(r.Join), micros(r.Phase(Steady).Latency.Slow.P999),
		micros(r.Server.P999.Microseconds()), micros(r.Server.Max.Microseconds()), 100*r.Steal)
}

// micros writes microseconds in the unit that fits.
func micros(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d us", n)
	case n < 100_000:
		return fmt.Sprintf("%.1f ms", float64(n)/1e3)
	case n < 10_000_000:
		return fmt.Sprintf("%.0f ms", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f s", float64(n)/1e6)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func bytesOf(n uint64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
