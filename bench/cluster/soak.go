// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/internal/world"
)

// soaking is a trial with faults, one after the other.
type soaking struct {
	*trial
	random     *rand.Rand
	faults     map[string]int
	begun      time.Time
	memory     course        // RSS, second by second
	live       course        // of the heap, at rest, once a minute, after two forced collections
	tables     course        // of that which our tables of shared texts and parts take
	full       time.Duration // when these were first full; never before that
	goroutines []int         // after each fault
}

// soak runs a cluster with faults for a while, and tells what the memory of the client did. It
// fails if anything is lost, repeated or out of order.
func soak(ctx context.Context, s spec, d time.Duration, stdout, progress io.Writer) error {
	say(progress, "%d nodes, %s, %s, for %s", s.Nodes, s.Encoding, title(s.Side), d)
	t, err := newTrial(ctx, s)
	if err != nil {
		return err
	}
	k := &soaking{trial: t, random: rand.New(rand.NewPCG(s.Seed, 23)), faults: map[string]int{}, full: never}
	err = t.phase(ctx, phaseStart, t.start)
	if err == nil {
		err = t.between(ctx)
	}
	if err == nil {
		err = t.phase(ctx, phaseSoak, func(ctx context.Context) error { return k.run(ctx, d) })
	}
	if err == nil {
		err = errors.Join(t.settle(ctx), t.report(ctx))
	}
	if err = errors.Join(err, t.stop()); err == nil {
		_, err = io.WriteString(stdout, k.String())
	}
	return err
}

const phaseSoak = "soak"

// run makes faults until the time is over, and lets the client catch up after each.
func (k *soaking) run(ctx context.Context, d time.Duration) error {
	k.begun = time.Now()
	if err := k.client.Call(ctx, "join", patience, &k.result.Join); err != nil {
		return err
	}
	for next := 0; next < len(faults) || time.Since(k.begun) < d; next++ {
		f := faults[k.random.IntN(len(faults))]
		if next < len(faults) {
			f = faults[next] // each once, however short it is
		}
		if err := k.make(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// fault is one of the server's.
type fault struct {
	name string
	do   func(context.Context, *soaking) error
}

var faults = []fault{
	{"watches end", func(ctx context.Context, k *soaking) error { return k.server.Call(ctx, "end", "", nil) }},
	{"connections are cut", func(ctx context.Context, k *soaking) error { return k.server.Call(ctx, "cut", nil, nil) }},
	{"a version is gone", func(ctx context.Context, k *soaking) error {
		all := world.All()
		return k.server.Call(ctx, "gone", all[k.random.IntN(len(all))].String(), nil)
	}},
	{"nothing is sent for a while", func(ctx context.Context, k *soaking) error { return k.forAWhile(ctx, "stall") }},
	{"an outage", func(ctx context.Context, k *soaking) error { return k.forAWhile(ctx, "shut") }},
	{"an outage, and all versions are gone", func(ctx context.Context, k *soaking) error {
		return errors.Join(k.forAWhile(ctx, "shut"), k.server.Call(ctx, "gone", "", nil))
	}},
}

// forAWhile does something for some seconds.
func (k *soaking) forAWhile(ctx context.Context, command string) error {
	if err := k.server.Call(ctx, command, true, nil); err != nil {
		return err
	}
	err := pause(ctx, time.Duration((0.1+0.2*k.random.Float64())*float64(outage)/k.spec.Speed))
	return errors.Join(err, k.server.Call(ctx, command, false, nil))
}

// make makes a fault, waits until the client has caught up, and leaves it in peace. One time in
// four all that it has is compared.
func (k *soaking) make(ctx context.Context, f fault) error {
	k.faults[f.name]++
	if err := f.do(ctx, k); err != nil {
		return err
	}
	noted, err := k.notes(ctx)
	if err == nil {
		err = k.caughtUp(ctx, noted)
	}
	if err == nil && k.random.IntN(4) == 0 {
		err = k.settle(ctx)
	}
	for range 1 + k.random.IntN(5) {
		reading, err2 := k.outside.Read()
		k.memory = append(k.memory, point{time.Since(k.begun), mib(reading.RSS)})
		if err = errors.Join(err, err2, pause(ctx, time.Second)); err != nil {
			return err
		}
	}
	return k.sample(ctx)
}

// sample asks the client for its status. Collections are forced in the first rest of each minute
// only: if they were in all, they would keep the RSS low.
func (k *soaking) sample(ctx context.Context) error {
	var status clientStatus
	at := time.Since(k.begun)
	collects := len(k.live) == 0 || at.Truncate(time.Minute) > k.live[len(k.live)-1].at
	err := k.client.Call(ctx, "status", collects, &status)
	k.goroutines = append(k.goroutines, status.Goroutines)
	if collects {
		k.live = append(k.live, point{at, mib(status.Live)})
		k.tables = append(k.tables, point{at, mib(status.Tables)})
	}
	if !status.Filling {
		k.full = min(k.full, at)
	}
	return err
}

// String tells what there was.
func (k *soaking) String() string {
	p := k.result.phase(phaseSoak)
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, %s, %s, for %s: nothing was lost, repeated or out of order.\n\n", k.spec.Nodes, k.spec.Encoding,
		title(k.spec.Side), p.Wall.Round(time.Second))
	for _, f := range faults {
		fmt.Fprintf(&b, "%5d times %s\n", k.faults[f.name], f.name)
	}
	fmt.Fprintf(&b, "\nRSS: %s\nlive heap: %s\nof it, tables of shared texts and parts: %s\n",
		k.memory.since(k.full), k.live.since(k.full), k.tables.since(k.full))
	b.WriteString("The RSS of a Go program whose objects are replaced goes to 1.5 to 2 times its first value, also client-go's: the live heap tells a leak.\n")
	fmt.Fprintf(&b, "goroutines: %d to %d, at the end %d\n", slices.Min(k.goroutines), slices.Max(k.goroutines), k.goroutines[len(k.goroutines)-1])
	l := p.Latency[prompt]
	fmt.Fprintf(&b, "calls: %d, 99.9 %% within %s, all within %s; %.1f %% of a core\n", l.Events, micros(l.P999), micros(l.Max), 100*p.share())
	return b.String()
}

// point is an amount of memory, in MiB, at a time since the soak began.
type point struct {
	at  time.Duration
	mib float64
}

// course has points in the order of time, at about equal distances.
type course []point

const (
	// settling is the least time before a slope begins. A cluster begins uniform, with a compact
	// heap; how it becomes mixed is no leak.
	settling = 20 * time.Minute
	// slopeBins is into how many means samples are put together, so that those that follow each
	// other closely, and are alike, do not pass for many. A slope takes one sample for each.
	slopeBins = 20

	never = time.Duration(math.MaxInt64)
)

// since says where the memory was, and how it rose since the tables of shared texts and parts were
// full, but not before settling.
func (c course) since(full time.Duration) string {
	least, most, begin := math.Inf(1), 0.0, max(full, settling)
	var settled []float64
	for _, p := range c {
		if least, most = min(least, p.mib), max(most, p.mib); p.at >= begin {
			settled = append(settled, p.mib)
		}
	}
	text := fmt.Sprintf("%.0f to %.0f MiB; ", least, most)
	switch {
	case full == never:
		return text + "no slope: the tables of shared texts and parts were never full"
	case len(settled) < slopeBins:
		return text + fmt.Sprintf("no slope: %d samples since minute %.0f, and it takes %d", len(settled), begin.Minutes(), slopeBins)
	}
	hour := float64(len(settled)-1) / (c[len(c)-1].at - c[len(c)-len(settled)].at).Hours()
	slope, uncertain := slopeOf(settled)
	return text + fmt.Sprintf("since minute %.0f %+.1f ± %.1f MiB an hour (%d samples)", begin.Minutes(), slope*hour, uncertain*hour, len(settled))
}

// slopeOf returns by how much samples rise from one to the next, by least squares, and the standard
// error of that; infinite if there are too few to tell.
func slopeOf(samples []float64) (slope, uncertain float64) {
	n := min(slopeBins, len(samples))
	if n < 3 {
		return 0, math.Inf(1)
	}
	means, width := make([]float64, n), float64(len(samples))/float64(n)
	for i := range means {
		from, to := int(float64(i)*width), int(float64(i+1)*width)
		for _, s := range samples[from:to] {
			means[i] += s / float64(to-from)
		}
	}
	middle := float64(n-1) / 2
	var xx, xy, mean, squares float64
	for i, m := range means {
		x := float64(i) - middle
		xx, xy, mean = xx+x*x, xy+x*m, mean+m/float64(n)
	}
	slope = xy / xx
	for i, m := range means {
		off := m - mean - slope*(float64(i)-middle)
		squares += off * off
	}
	return slope / width, math.Sqrt(squares/float64(n-2)/xx) / width
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
