// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/result"
	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// soaking is a trial with faults, one after the other.
type soaking struct {
	*trial
	random     *rand.Rand
	faults     map[string]int
	memory     []float64 // MiB, second by second
	live       []float64 // MiB of the heap that the last collection has left, whenever the client had caught up
	tables     []float64 // MiB of that which our tables of shared texts and parts take
	goroutines []int     // the same
	made       int       // faults
	audits     int       // of informers, none of which found anything
}

// soak runs a cluster with faults for a while, and tells what the memory of the client did. It
// fails if anything is lost, repeated or out of order.
func soak(ctx context.Context, s result.Spec, d time.Duration, stdout, progress io.Writer) error {
	say(progress, "%d nodes, %s, %s, for %s", s.Nodes, s.Encoding, follow.Title(s.Side), d)
	t, err := newTrial(ctx, s)
	if err != nil {
		return err
	}
	k := &soaking{trial: t, random: rand.New(rand.NewPCG(s.Seed, 23)), faults: map[string]int{}}
	err = t.phase(ctx, result.Start, t.start)
	if err == nil {
		err = t.between(ctx)
	}
	if err == nil {
		err = t.phase(ctx, soakPhase, func(ctx context.Context) error { return k.run(ctx, d) })
	}
	if err == nil {
		err = errors.Join(t.settle(ctx), t.report(ctx))
	}
	err = errors.Join(err, t.stop())
	if err == nil {
		err = k.write(stdout)
	}
	return err
}

const soakPhase = "soak"

// run makes faults until the time is over, and lets the client catch up after each.
func (k *soaking) run(ctx context.Context, d time.Duration) error {
	begun := time.Now()
	if err := k.client.Call(ctx, "join", patience, &k.result.Join); err != nil {
		return err
	}
	for next := 0; next < len(faults) || time.Since(begun) < d; next++ {
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
	{"watches end", func(ctx context.Context, k *soaking) error { return k.server.Call(ctx, "end", nil, nil) }},
	{"connections are cut", func(ctx context.Context, k *soaking) error { return k.server.Call(ctx, "cut", nil, nil) }},
	{"a version is gone", func(ctx context.Context, k *soaking) error {
		return k.server.Call(ctx, "gone", world.All()[k.random.IntN(int(world.Resources))].String(), nil)
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
	err := rest(ctx, time.Duration((0.1+0.2*k.random.Float64())*float64(outage)/k.spec.Speed))
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
		err = k.caughtUp(ctx, noted, [world.Resources]int{})
	}
	if err == nil && k.random.IntN(4) == 0 {
		err = k.settle(ctx)
	}
	if k.made++; err == nil && k.made%auditPeriod == 0 {
		err = k.audit(ctx)
	}
	var status follow.Status
	for range 1 + k.random.IntN(5) {
		reading, err2 := k.outside.Read()
		k.memory = append(k.memory, float64(reading.RSS)/(1<<20))
		if err = errors.Join(err, err2, rest(ctx, time.Second)); err != nil {
			return err
		}
	}
	err = k.client.Call(ctx, "status", nil, &status)
	k.live = append(k.live, float64(status.Live)/(1<<20))
	k.tables = append(k.tables, float64(status.Tables)/(1<<20))
	k.goroutines = append(k.goroutines, status.Goroutines)
	return err
}

// auditPeriod is after how many faults the informers are audited, while the cluster lives.
const auditPeriod = 3

func (k *soaking) audit(ctx context.Context) error {
	var audited int
	err := k.client.Call(ctx, "audit", nil, &audited)
	k.audits += audited
	return err
}

// course says where something was, in MiB, and how it rose.
func course(samples []float64, in time.Duration) string {
	slope, uncertain := slopeOf(samples[len(samples)/4:])
	hour := float64(len(samples)) / in.Hours()
	return fmt.Sprintf("%.0f to %.0f MiB; in the last three quarters %+.1f ± %.1f MiB an hour",
		slices.Min(samples), slices.Max(samples), slope*hour, uncertain*hour)
}

// write writes what there was.
func (k *soaking) write(w io.Writer) error {
	p := k.result.Phase(soakPhase)
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, %s, %s, for %s: nothing was lost, repeated or out of order.\n\n", k.spec.Nodes, k.spec.Encoding,
		follow.Title(k.spec.Side), p.Wall.Round(time.Second))
	for _, f := range faults {
		fmt.Fprintf(&b, "%5d times %s\n", k.faults[f.name], f.name)
	}
	fmt.Fprintf(&b, "%5d audits of an informer, which found nothing that differs\n", k.audits)
	fmt.Fprintf(&b, "\nmemory: %s\nlive heap: %s\nof it, tables of shared texts and parts: %s\n",
		course(k.memory, p.Wall), course(k.live, p.Wall), course(k.tables, p.Wall))
	fmt.Fprintf(&b, "goroutines: %d to %d, at the end %d\n", slices.Min(k.goroutines), slices.Max(k.goroutines), k.goroutines[len(k.goroutines)-1])
	l := p.Latency.Prompt
	fmt.Fprintf(&b, "calls: %d, 99.9 %% within %s, all within %s; %.2f %% of a core\n", l.Events,
		time.Duration(l.P999)*time.Microsecond, time.Duration(l.Max)*time.Microsecond, 100*p.Share())
	_, err := io.WriteString(w, b.String())
	return err
}
