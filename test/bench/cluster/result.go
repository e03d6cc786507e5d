// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
)

// spec has the parameters of a run. Runs that differ only in Side are compared.
type spec struct {
	Nodes        int
	Side         string
	Encoding     string // json or protobuf
	Speed, Churn float64
	Seed         uint64
	Steady       time.Duration
}

// phaseResult is the result of a phase. RSS is the median over the phase, and Peak the maximum, in
// bytes. Changes and Lists are the numbers of the server's changes and lists, of all resources.
type phaseResult struct {
	Name                  string
	Wall, CPU, CollectCPU time.Duration
	RSS, Peak             uint64
	Changes               uint64
	Lists                 int
	Latency               map[group]latency
}

// share returns the CPU time as a share of one core.
func (p phaseResult) share() float64 { return float64(p.CPU) / float64(max(p.Wall, 1)) }

// result is the result of a run.
type result struct {
	Spec    spec
	Version string // of the side
	Machine measure.Machine
	Steal   float64        // the share of CPU time that the host gave to other machines
	Server  serve.Lateness // in the steady phase
	Sync    time.Duration  // from the start of the informers
	Join    time.Duration  // of the late handler
	// Recovered is the time from the end of the outage to the last event over the limit.
	Recovered time.Duration
	Phases    []phaseResult
	// Failed is the error of a failed run, whose other fields are incomplete; "" means success.
	Failed string
}

// phase returns the phase with a name, or the zero phaseResult if there is none.
func (r result) phase(name string) phaseResult {
	i := slices.IndexFunc(r.Phases, func(p phaseResult) bool { return p.Name == name })
	if i < 0 {
		return phaseResult{}
	}
	return r.Phases[i]
}

// file returns the name of the file for the result of s.
func (s spec) file(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("%06d-%s-%s.json", s.Nodes, s.Encoding, s.Side))
}

// save writes a result to its file in a folder, and replaces an earlier result.
func save(folder string, r result) error {
	content, err := json.Marshal(r)
	path := r.Spec.file(folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(path+".new", append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	return os.Rename(path+".new", path)
}

// kept reads the result of a spec from a folder, and reports whether it exists.
func kept(folder string, s spec) (r result, there bool, err error) {
	r, err = read(s.file(folder))
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	return r, err == nil && r.Spec == s, err
}

// stored returns the results in a folder whose specs differ from s in Nodes, Side and Encoding only, in this
// order: by nodes, encoding and side.
func stored(folder string, s spec) (all []result, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("find the results: %w", err)
	}
	for _, path := range paths {
		r, err := read(path)
		if err != nil {
			return nil, err
		}
		s.Nodes, s.Side, s.Encoding = r.Spec.Nodes, r.Spec.Side, r.Spec.Encoding
		if r.Spec == s {
			all = append(all, r)
		}
	}
	return all, nil
}

func read(path string) (r result, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the result %s: %w", path, err)
	}
	return r, nil
}

// column is a column of a table.
type column struct {
	name  string
	value func(r result) string
}

// columns are the columns of the two tables. A cell is empty if the run failed before its phase.
var columns = [2][]column{{
	{"events/s", of(phaseSteady, func(p phaseResult) string { return fmt.Sprintf("%.0f", float64(p.Changes)/p.Wall.Seconds()) })},
	{"p50", of(phaseSteady, func(p phaseResult) string { return micros(p.Latency[prompt].P50) })},
	{"p99", of(phaseSteady, func(p phaseResult) string { return micros(p.Latency[prompt].P99) })},
	{"p99.9", of(phaseSteady, p999(prompt))},
	{"most", of(phaseSteady, most(prompt))},
	{"under 100 ms", of(phaseSteady, func(p phaseResult) string { return fmt.Sprintf("%.3f %%", 100*p.Latency[prompt].under()) })},
	{"CPU, % of a core", of(phaseSteady, func(p phaseResult) string { return fmt.Sprintf("%.1f", 100*p.share()) })},
	{"of that GC", of(phaseSteady, func(p phaseResult) string {
		return fmt.Sprintf("%.1f", 100*float64(p.CollectCPU)/float64(max(p.Wall, 1)))
	})},
	{"RSS steady", of(phaseSteady, func(p phaseResult) string { return bytesOf(p.RSS) })},
	{"peak of the start", of(phaseStart, peak)},
	{"peak of the storm", of(phaseStorm, peak)},
	{"storm/steady", func(r result) string {
		return fmt.Sprintf("%.2f", float64(r.phase(phaseStorm).Peak)/float64(max(r.phase(phaseSteady).RSS, 1)))
	}},
	{"synced after", func(r result) string { return seconds(r.Sync) }},
	{"recovered after", func(r result) string { return seconds(r.Recovered) }},
}, {
	{"CPU of the start", of(phaseStart, cpu)},
	{"CPU of the 410s", of(phaseGone, cpu)},
	{"CPU of the storm", of(phaseStorm, cpu)},
	{"p99.9 of the 410s", of(phaseGone, p999(prompt))},
	{"p99.9 of the storm", of(phaseStorm, p999(prompt))},
	{"most of the storm", of(phaseStorm, most(prompt))},
	{"late handler knows all after", func(r result) string { return seconds(r.Join) }},
	{"p99.9 of the slow one", of(phaseSteady, p999(slow))},
	{"the server sends late: p99.9, most", func(r result) string {
		return micros(r.Server.P999.Microseconds()) + ", " + micros(r.Server.Max.Microseconds())
	}},
	{"steal", func(r result) string { return fmt.Sprintf("%.2f %%", 100*r.Steal) }},
}}

// of returns a function for the value of a phase, or "" if a result lacks the phase.
func of(name string, value func(phaseResult) string) func(result) string {
	return func(r result) string {
		if p := r.phase(name); p.Wall > 0 {
			return value(p)
		}
		return ""
	}
}

func p999(g group) func(phaseResult) string {
	return func(p phaseResult) string { return micros(p.Latency[g].P999) }
}

func most(g group) func(phaseResult) string {
	return func(p phaseResult) string { return micros(p.Latency[g].Max) }
}

func peak(p phaseResult) string { return bytesOf(p.Peak) }
func cpu(p phaseResult) string  { return seconds(p.CPU) }

// page returns results as Markdown, grouped by encoding.
func page(all []result, command string) string {
	var b strings.Builder
	b.WriteString("# A cluster, by its number of nodes\n\n")
	fmt.Fprintf(&b, "Written by `%s`; do not edit. [What is run, and how it is measured](../cluster.md).\n", command)
	for _, encoding := range []string{"json", "protobuf"} {
		group := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Spec.Encoding != encoding })
		if len(group) > 0 {
			writeGroup(&b, group)
		}
	}
	return b.String()
}

func writeGroup(b *strings.Builder, all []result) {
	s := all[0].Spec
	fmt.Fprintf(b, "\n## %s, watch-lists\n\nSPEED %g, steady for %s.", s.Encoding, s.Speed, s.Steady)
	said := map[string]bool{}
	for _, r := range all {
		m := r.Machine
		machine := fmt.Sprintf("%s, %d cores, %.0f GiB, %s, %s", m.CPU, m.Cores, float64(m.MemoryBytes)/(1<<30), m.OS, m.Go)
		for _, text := range []string{machine, title(r.Spec.Side) + " " + r.Version} {
			if !said[text] {
				said[text] = true
				fmt.Fprintf(b, " %s.", text)
			}
		}
	}
	b.WriteString("\n\n")
	writeTable(b, all, columns[0])
	for _, r := range all {
		if r.Failed != "" {
			fmt.Fprintf(b, "\n%d nodes, %s: the run failed. %s\n", r.Spec.Nodes, title(r.Spec.Side), strings.ReplaceAll(r.Failed, "\n", "; "))
		}
	}
	b.WriteString("\nThe other phases, and the handlers that are not like the others:\n\n")
	writeTable(b, slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Failed != "" }), columns[1])
}

func writeTable(b *strings.Builder, all []result, columns []column) {
	b.WriteString("| nodes | side |")
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.name)
	}
	fmt.Fprintf(b, "\n|---:|---|%s\n", strings.Repeat("---:|", len(columns)))
	for _, r := range all {
		fmt.Fprintf(b, "| %d | %s |", r.Spec.Nodes, title(r.Spec.Side))
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", c.value(r))
		}
		b.WriteString("\n")
	}
}

// micros formats microseconds in a suitable unit.
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
