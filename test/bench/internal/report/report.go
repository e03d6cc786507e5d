// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds the results of a benchmark, summarizes them without claims that their noise
// does not support, and writes them as Markdown.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/kinformer/cache/test/bench/internal/measure"
)

// Document is one run of the benchmark.
type Document struct {
	Machine measure.Machine
	// Sides are the two implementations that were compared. Lower samples are better, and ratios are
	// the first over the second.
	Sides [2]Side
	// LoadBefore and LoadAfter are the load averages over 1, 5 and 15 minutes
	// at the start and the end.
	LoadBefore string
	LoadAfter  string
	// Busy reports whether other work ran on the machine when the run started.
	Busy    bool
	Objects int
	Seed    uint64
	Rounds  int
	Quick   bool
	Started time.Time
	Took    time.Duration
	Rows    []Row
	// Command is the command that writes the same document.
	Command string
	// Notes is Markdown to be written after the rows.
	Notes string
}

// Side is one implementation.
type Side struct {
	Name    string
	Version string
}

// Row is one workload.
type Row struct {
	// Group is the heading above the row, Name the name for -run, and Title a description of the
	// workload.
	Group string
	Name  string
	Title string
	// Measures are in the order in which the workload reports them.
	Measures []Measure
}

// Measure is one figure of a row, sampled once per side and round.
type Measure struct {
	Name string
	Unit string
	// Samples are the samples of the two sides, in the order of the rounds.
	Samples [2][]float64
}

// Summaries condenses the samples of both sides.
func (m Measure) Summaries() [2]Summary {
	return [2]Summary{Summarize(m.Samples[0]), Summarize(m.Samples[1])}
}

// Verdict compares the sides.
func (m Measure) Verdict() Verdict {
	both := m.Summaries()
	return Compare(both[0], both[1])
}

// Record appends a sample of a side to the measure of that name.
func (r *Row) Record(side int, name, unit string, sample float64) {
	m := r.measure(name, unit)
	m.Samples[side] = append(m.Samples[side], sample)
}

// measure returns the measure of a name and unit, which it adds if it is new.
func (r *Row) measure(name, unit string) *Measure {
	for i := range r.Measures {
		if m := &r.Measures[i]; m.Name == name && m.Unit == unit {
			return m
		}
	}
	r.Measures = append(r.Measures, Measure{Name: name, Unit: unit})
	return &r.Measures[len(r.Measures)-1]
}

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
	line("taken", "%s, in %s", d.Started.UTC().Format("2006-01-02 15:04 MST"), d.Took.Round(time.Second))
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
`, d.Sides[0].Name, d.Sides[1].Name, d.Sides[1].Name, NoiseLimit*100)
}

func (d *Document) writeTableHead(b *strings.Builder, group string) {
	fmt.Fprintf(b, "\n## %s\n\n| row | what | measure | %s | %s | ratio |\n|---|---|---|---:|---:|---:|\n",
		group, d.Sides[0].Name, d.Sides[1].Name)
}

// writeTo writes one line for each measure; the first one has the name of the row.
func (r *Row) writeTo(b *strings.Builder) {
	name, title := "`"+r.Name+"`", r.Title
	for _, m := range r.Measures {
		both := m.Summaries()
		fmt.Fprintf(b, "| %s | %s | %s, %s | %s | %s | %s |\n", name, title, m.Name, m.Unit,
			cell(both[0]), cell(both[1]), m.Verdict())
		name, title = "", ""
	}
}

// cell returns the median, with the range if the samples differ.
func cell(s Summary) string {
	if s.N == 0 {
		return "-"
	}
	if s.Min == s.Max {
		return Format(s.Median)
	}
	return fmt.Sprintf("%s (%s – %s)", Format(s.Median), Format(s.Min), Format(s.Max))
}

// Summary is the median and the range of some samples.
type Summary struct {
	// N is the number of samples.
	N int
	// Median is the middle sample, or the mean of the two in the middle.
	Median float64
	// Min and Max are the smallest and the largest sample.
	Min, Max float64
}

// Summarize returns the summary of samples, which it does not modify; the zero Summary if there are
// none.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	return Summary{N: len(sorted), Median: median(sorted), Min: sorted[0], Max: sorted[len(sorted)-1]}
}

func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Spread returns the range as a fraction of the median: 0.25 if all samples lie within a quarter of
// the median. It is 0 if all samples are equal, and infinite if only the median is 0.
func (s Summary) Spread() float64 {
	if s.Max == s.Min {
		return 0
	}
	return (s.Max - s.Min) / math.Abs(s.Median)
}

// NoiseLimit is the spread above which a median is too uncertain for a ratio: the range is wider
// than the median.
const NoiseLimit = 1.0

// Verdict compares side A with side B for a measure of which less is better.
type Verdict struct {
	// Ratio is A's median over B's: above 1, B is better.
	Ratio float64
	// Noisy reports whether a side's spread exceeds NoiseLimit, so that Ratio means little.
	Noisy bool
	// Bound is a lower (above 1) or upper (below 1) bound of the ratio if the two ranges do not
	// touch, however noisy they are; else 0.
	Bound float64
	// Best is A's worst sample over B's best one: an upper bound of the ratio.
	Best float64
}

// Compare compares the samples of two sides.
func Compare(a, b Summary) Verdict {
	v := Verdict{
		Ratio: a.Median / b.Median,
		Noisy: a.Spread() > NoiseLimit || b.Spread() > NoiseLimit,
		Best:  a.Max / b.Min,
	}
	switch {
	case a.Min > b.Max:
		v.Bound = a.Min / b.Max
	case a.Max < b.Min:
		v.Bound = a.Max / b.Min
	}
	return v
}

// closeRatio is the ratio up to which two sides are close.
const closeRatio = 1.15

// Close reports whether the sides are within 15 % of each other, so that more samples are needed.
func (v Verdict) Close() bool { return v.Ratio < closeRatio && v.Ratio > 1/closeRatio }

// String returns the text of a table cell: the ratio, after "≈" if the two ranges touch; or "noisy",
// with the bound if there is one; or a dash if both sides are zero.
func (v Verdict) String() string {
	switch {
	case math.IsNaN(v.Ratio):
		return "-"
	case !v.Noisy && v.Bound == 0:
		return "≈ " + Format(v.Ratio)
	case !v.Noisy:
		return Format(v.Ratio)
	case v.Bound > 1:
		return "noisy (≥ " + Format(v.Bound) + ")"
	case v.Bound > 0:
		return "noisy (≤ " + Format(v.Bound) + ")"
	}
	return "noisy"
}

// Percentile returns the smallest sample that at least the fraction p of all samples do not exceed
// (nearest rank), or 0 if there are no samples. The samples must be sorted.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

var english = message.NewPrinter(language.English)

// Format formats a figure with three significant digits; from 1000 on, as a whole number with
// commas between thousands.
func Format(x float64) string {
	switch {
	case math.IsNaN(x), math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x == 0:
		return "0"
	case math.Abs(x) >= 999.5:
		return english.Sprintf("%.0f", x)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 4 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', max(digits, 0), 64)
}
