// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blindness_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

var (
	outages = flag.String("outages", "", "how long the server is away in TestOutages, as in 12s,60s")
	rounds  = flag.Int("rounds", 3, "how often each side goes through each outage")
	kill    = flag.Bool("kill", false, "the server does not end its answers, as when it is killed or its machine is lost")
)

const (
	settling = 5 * time.Second  // an outage that ends a watch of less than a second is mistaken for something else
	window   = 30 * time.Second // CPU time of the server is measured up to this time after the first answer
)

// versions names the state of the informers' resourceVersion after the restart, by outage.lost.
var versions = map[bool]string{false: "known", true: "lost"}

// TestOutages measures all sides and prints a table.
func TestOutages(t *testing.T) {
	if *outages == "" {
		t.Skip("-outages says how long they are")
	}
	srv := startServer(t, t.Context())
	var results []*result
	for _, length := range strings.Split(*outages, ",") {
		for range *rounds {
			for _, o := range outagesOf(t, length) {
				t.Run(o.kind(), func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					r := o.run(t, ctx, srv, fmt.Sprint("mark-", len(results)))
					t.Log(table([]*result{r}))
					results = append(results, r)
				})
			}
		}
	}
	fmt.Print(table(results))
}

// outagesOf returns the outages of one length: one per side and version, and some with clients that have a limit.
func outagesOf(t *testing.T, length string) (all []outage) {
	d, err := time.ParseDuration(length)
	require.NoError(t, err)
	for _, lost := range []bool{false, true} {
		for _, s := range sides() {
			all = append(all, outage{side: s, kill: *kill, lost: lost, length: d})
		}
	}
	for _, limit := range [][2]int{{20, 30}, {5, 10}} { // controller-runtime's, and client-go's own
		for _, s := range sides()[:2] {
			all = append(all, outage{side: s.limited(limit[0], limit[1]), kill: *kill, lost: true, length: d})
		}
	}
	return all
}

// cpuOf returns the total CPU time of the server process at the end of the window.
func (o outage) cpuOf(t *testing.T, ctx context.Context, pid int, first time.Time) time.Duration {
	if o.length == 0 {
		return 0
	}
	pause(ctx, time.Until(first.Add(window)))
	used, err := cputime.Of(pid)
	assert.NoError(t, err)
	return used.CPU
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// kind identifies the outages to be aggregated.
func (o outage) kind() string {
	return fmt.Sprintf("%.0f s, %s, %s", o.length.Seconds(), versions[o.lost], o.side.name)
}

// table returns a row with the medians and ranges for each kind of outage.
func table(results []*result) string {
	text := "| away | version | side | last fresh, s | median, s | lists | watches | refused | no answer | server CPU, s | longest blind, s | as told, s |\n" +
		"|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
	for len(results) > 0 {
		var same, others []*result
		for _, r := range results {
			if r.kind() == results[0].kind() {
				same = append(same, r)
			} else {
				others = append(others, r)
			}
		}
		text += row(same)
		results = others
	}
	return text
}

func row(of []*result) string {
	cells := strings.Split(of[0].kind(), ", ")
	for _, figure := range []func(*result) float64{
		func(r *result) float64 { return r.fresh[len(r.fresh)-1].Seconds() },
		func(r *result) float64 { return middle(r.fresh).Seconds() },
		func(r *result) float64 { return float64(r.asked.states.Load()) },
		func(r *result) float64 { return float64(r.asked.watches.Load()) },
		func(r *result) float64 { return float64(r.asked.refused.Load()) },
		func(r *result) float64 { return float64(r.asked.vain.Load()) },
		func(r *result) float64 { return r.cpu.Seconds() },
		func(r *result) float64 { return (r.down + r.fresh[len(r.fresh)-1]).Seconds() },
	} {
		cells = append(cells, cell(of, figure))
	}
	told := ""
	if len(of[0].told) > 0 {
		told = cell(of, func(r *result) float64 { return r.told[len(r.told)-1].Seconds() })
	}
	return "| " + strings.Join(append(cells, told), " | ") + " |\n"
}

// cell formats a median and its range.
func cell(of []*result, figure func(*result) float64) string {
	var all []float64
	for _, r := range of {
		all = append(all, figure(r))
	}
	text := fmt.Sprintf("%.3g", middle(all))
	if least, most := fmt.Sprintf("%.3g", slices.Min(all)), fmt.Sprintf("%.3g", slices.Max(all)); least != most {
		text += fmt.Sprintf(" (%s-%s)", least, most)
	}
	return text
}

func middle[T cmp.Ordered](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
