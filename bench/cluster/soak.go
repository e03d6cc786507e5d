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
	begun      time.Time
	memory     course        // RSS, second by second
	live       course        // of the heap, at rest, once a minute, after two forced collections
	tables     course        // of that which our tables of shared texts and parts take
	full       time.Duration // when these were first full; never before that
	goroutines []int         // after each fault
	made       int           // faults
	audits     int           // of informers, none of which found anything
}

// soak runs a cluster with faults for a while, and tells what the memory of the client did. It
// fails if anything is lost, repeated or out of order.
func soak(ctx context.Context, s result.Spec, d time.Duration, stdout, progress io.Writer) error {
	say(progress, "%d nodes, %s, %s, for %s", s.Nodes, s.Encoding, follow.Title(s.Side), d)
	t, err := newTrial(ctx, s)
	if err != nil {
		return err
	}
	k := &soaking{trial: t, random: rand.New(rand.NewPCG(s.Seed, 23)), faults: map[string]int{}, full: never}
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
	for range 1 + k.random.IntN(5) {
		reading, err2 := k.outside.Read()
		k.memory = append(k.memory, point{time.Since(k.begun), mib(reading.RSS)})
		if err = errors.Join(err, err2, rest(ctx, time.Second)); err != nil {
			return err
		}
	}
	return k.sample(ctx)
}

// sample asks the client for its status. Collections are forced in the first rest of each minute
// only: if they were in all, they would keep the RSS low.
func (k *soaking) sample(ctx context.Context) error {
	var status follow.Status
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

// auditPeriod is after how many faults the informers are audited, while the cluster lives.
const auditPeriod = 3

func (k *soaking) audit(ctx context.Context) error {
	var audited int
	err := k.client.Call(ctx, "audit", nil, &audited)
	k.audits += audited
	return err
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
	fmt.Fprintf(&b, "\nRSS: %s\nlive heap: %s\nof it, tables of shared texts and parts: %s\n",
		k.memory.since(k.full), k.live.since(k.full), k.tables.since(k.full))
	b.WriteString("The RSS of a Go program whose objects are replaced goes to 1.5 to 2 times its first value, also client-go's: the live heap tells a leak.\n")
	fmt.Fprintf(&b, "goroutines: %d to %d, at the end %d\n", slices.Min(k.goroutines), slices.Max(k.goroutines), k.goroutines[len(k.goroutines)-1])
	l := p.Latency.Prompt
	fmt.Fprintf(&b, "calls: %d, 99.9 %% within %s, all within %s; %.2f %% of a core\n", l.Events,
		time.Duration(l.P999)*time.Microsecond, time.Duration(l.Max)*time.Microsecond, 100*p.Share())
	_, err := io.WriteString(w, b.String())
	return err
}
