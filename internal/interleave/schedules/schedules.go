// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedules runs configurations of package interleave as tests, and prints a table of the
// results.
package schedules

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kinformer/cache/internal/interleave"
)

// Case is a configuration.
type Case struct {
	Name string
	// Start returns a program. It adds the number of checked answers to answers.
	Start func(answers *int) interleave.Program
	// Preemptions is the bound; 0 means 2. Deep is the bound with -schedules.all, if it is larger.
	Preemptions, Deep int
}

var (
	all    = flag.Bool("schedules.all", false, "with as many preemptions as each configuration can have")
	most   = flag.Int("schedules.preemptions", 0, "with so many preemptions at most; 0: no other bound")
	report = flag.Bool("schedules.table", false, "print a table at the end")
)

// result is the result of one case.
type result struct {
	interleave.Report
	name        string
	preemptions int
	answers     int
	took        time.Duration
	cut         bool
}

// Run runs each case as a subtest, until one fails: its threads may disturb others.
func Run(t *testing.T, cases []Case) {
	var results []result
	for _, c := range cases {
		ok := t.Run(c.Name, func(t *testing.T) {
			r := c.run()
			results = append(results, r)
			t.Logf("%d schedules, %d steps, %d answers, %v", r.Schedules, r.Steps, r.answers, r.took)
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
		})
		if !ok {
			break
		}
	}
	if *report {
		fmt.Print(table(results))
	}
}

func (c Case) run() (r result) {
	r.name, r.preemptions = c.Name, c.Preemptions
	if r.preemptions == 0 {
		r.preemptions = 2
	}
	if r.cut = c.Deep > r.preemptions && !*all; !r.cut {
		r.preemptions = max(r.preemptions, c.Deep)
	}
	if *most > 0 {
		r.preemptions = min(r.preemptions, *most)
	}
	began := time.Now()
	r.Report = interleave.Explore(r.preemptions, func() interleave.Program { return c.Start(&r.answers) })
	r.took = time.Since(began)
	return r
}

func table(results []result) string {
	var text strings.Builder
	sum := result{name: "all"}
	text.WriteString("| configuration | preemptions | schedules | steps, at most | answers | seconds |\n")
	text.WriteString("|---|---:|---:|---:|---:|---:|\n")
	cut := 0
	for _, r := range results {
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %.1f |\n",
			r.name, r.preemptions, r.Schedules, r.Steps, r.answers, r.took.Seconds())
		sum.Schedules += r.Schedules
		sum.answers += r.answers
		sum.took += r.took
		if r.cut {
			cut++
		}
	}
	fmt.Fprintf(&text, "| all %d | | %d | | %d | %.1f |\n",
		len(results), sum.Schedules, sum.answers, sum.took.Seconds())
	if cut > 0 {
		fmt.Fprintf(&text, "Cut: %d of them have one preemption more by make interleave.\n", cut)
	}
	return text.String()
}
