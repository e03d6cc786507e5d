// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/internal/stats"
)

// WriteMarkdown writes the text of docs/benchmarks/README.md.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	d.writeHead(&b)
	d.writeMethod(&b)
	for i := range d.Rows {
		row := &d.Rows[i]
		if i == 0 || row.Group != d.Rows[i-1].Group {
			d.writeTableHead(&b, row.Group)
		}
		row.writeTo(&b)
		if i+1 == len(d.Rows) || row.Group != d.Rows[i+1].Group {
			d.writePictures(&b, row.Group)
		}
	}
	if d.Notes != "" {
		b.WriteString("\n" + d.Notes)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

func (d *Document) writeHead(b *strings.Builder) {
	kind := "full"
	if d.Quick {
		kind = "quick"
	}
	fmt.Fprintf(b, "# %s and %s, side by side\n\n", d.Sides[0].Name, d.Sides[1].Name)
	fmt.Fprintf(b, "Written by `%s`; do not edit.\n\n| | |\n|---|---|\n", d.Command)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	line("machine", "%s, %d cores (GOMAXPROCS %d), %.0f GiB", d.Machine.CPU, d.Machine.Cores, d.Machine.GOMAXPROCS,
		float64(d.Machine.MemoryBytes)/(1<<30))
	line("system", "%s, %s", d.Machine.OS, d.Machine.Go)
	for _, side := range d.Sides {
		line(side.Name, "%s", side.Version)
	}
	line("load average", "%s before, %s after (the benchmark itself included)", d.LoadBefore, d.LoadAfter)
	line("run", "%s, %d objects, %d rounds, seed %d", kind, d.Objects, d.Rounds, d.Seed)
	const minutes = "2006-01-02 15:04 MST"
	line("taken", "%s, in %s", d.Started.UTC().Format(minutes), d.Took.Round(time.Second))
	for _, a := range d.Again {
		line("rows `"+strings.ReplaceAll(a.Pattern, "|", `\|`)+"`", "taken again with %s, %s, in %s, load average %s before",
			a.Version, a.Started.UTC().Format(minutes), a.Took.Round(time.Second), a.LoadBefore)
	}
	b.WriteByte('\n')
	if d.Busy {
		b.WriteString("**The machine was busy with other work when the run started: read the figures with care.**\n\n")
	}
}

func (d *Document) writeMethod(b *strings.Builder) {
	fmt.Fprintf(b, `Both sides run in one process, in turns (A B, B A, ...), on the same objects from the same in-memory source with
the same handlers and options; client-go has its default feature gates. After each round both sides must have
delivered the same events and hold the same state, or the run fails. CPU is the process's user and system time
(getrusage), all threads together; the garbage collector is settled before every measured region. Cells are the
median of the rounds and their range; a full run gives rows within 15 %% of each other up to 21 rounds. The ratio is %s over %s: above 1, %s is better; "≈" says that the
two ranges touch, so that the difference may be chance. A row says "noisy" instead, when the range of a side exceeds
%.0f %% of its median, with the least (≥) or largest (≤) ratio that any two rounds give, if that points one way.
`, d.Sides[0].Name, d.Sides[1].Name, d.Sides[1].Name, stats.NoiseLimit*100)
}

func (d *Document) writeTableHead(b *strings.Builder, group string) {
	fmt.Fprintf(b, "\n## %s\n\n| row | what | measure | %s | %s | ratio |\n|---|---|---|---:|---:|---:|\n",
		group, d.Sides[0].Name, d.Sides[1].Name)
}

// writePictures writes links to a group's pictures, if there is a folder for
// them.
func (d *Document) writePictures(b *strings.Builder, group string) {
	if d.Charts == "" {
		return
	}
	b.WriteByte('\n')
	for _, p := range in(group, d.Pictures()) {
		fmt.Fprintf(b, "![%s](%s/%s)\n", p.Alt(), d.Charts, p.File)
	}
}

// writeTo writes one line for each measure; only the first names the row.
func (r *Row) writeTo(b *strings.Builder) {
	name, title := "`"+r.Name+"`", r.Title
	for _, m := range r.Measures {
		both := m.Summaries()
		fmt.Fprintf(b, "| %s | %s | %s, %s | %s | %s | %s |\n", name, title, m.Name, m.Unit,
			cell(both[0]), cell(both[1]), m.ratio())
		name, title = "", ""
	}
}

// ratio is the last cell of a measure's line.
func (m Measure) ratio() string {
	if m.Shown {
		return ""
	}
	return m.Verdict().String()
}

// cell is the median with the range, where there is one.
func cell(s stats.Summary) string {
	if s.N == 0 {
		return "-"
	}
	if s.Min == s.Max {
		return stats.Format(s.Median)
	}
	return fmt.Sprintf("%s (%s – %s)", stats.Format(s.Median), stats.Format(s.Min), stats.Format(s.Max))
}
