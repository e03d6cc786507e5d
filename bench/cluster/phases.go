// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/outside"
	"github.com/kinformer/cache/bench/cluster/internal/result"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/measure"
)

// mostSteal is the share of CPU time that may go to other machines.
const mostSteal = 0.02

// undisturbed runs a spec, again if too much CPU time went to other machines.
func undisturbed(ctx context.Context, s result.Spec, profile string, progress io.Writer) (result.Result, error) {
	const most = 3
	for thrown := 0; ; thrown++ {
		r, err := measured(ctx, s, profile, progress)
		r.Thrown = thrown
		if err != nil || r.Steal <= mostSteal {
			return r, err
		}
		say(progress, "thrown away: %.1f %% of the CPU time went to other machines", 100*r.Steal)
		if thrown+1 == most {
			return r, fmt.Errorf("%d runs in a row had more than %.0f %% of CPU steal", most, 100*mostSteal)
		}
	}
}

// measured runs a spec.
func measured(ctx context.Context, s result.Spec, profile string, progress io.Writer) (r result.Result, err error) {
	say(progress, "%d nodes, %s, %s", s.Nodes, s.Encoding, follow.Title(s.Side))
	started := time.Now()
	before, err := outside.Cores()
	if err != nil {
		return r, err
	}
	t, err := newTrial(ctx, s)
	if err != nil {
		return r, err
	}
	err = t.run(ctx, profile, progress)
	err = errors.Join(err, t.stop())
	after, err2 := outside.Cores()
	r = t.result
	r.Version, r.Machine, r.Started, r.Took = measure.Version(ctx, follow.Module(s.Side)), measure.ThisMachine(), started, time.Since(started)
	r.Steal = after.StolenSince(before)
	return r, errors.Join(err, err2)
}

// run runs the phases.
func (t *trial) run(ctx context.Context, profile string, progress io.Writer) error {
	for _, step := range []struct {
		name     string
		measured bool
		run      func(context.Context) error
	}{
		{result.Start, true, t.start},
		{"after the start", false, t.between},
		{result.Steady, true, func(ctx context.Context) error { return t.steady(ctx, profile) }},
		{"settle", false, t.settle},   // nothing was listed anew so far: each change is told exactly once
		{"report", false, t.report},   // what follows may be more than the machine carries
		{result.Storm, true, t.storm}, // first, while the memory is what it is while all is well
		{result.Gone, true, t.gone},
		{"settle", false, t.settle},
		{"report", false, t.report},
	} {
		err := error(nil)
		if step.measured {
			err = t.phase(ctx, step.name, step.run)
		} else {
			err = step.run(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if step.measured {
			say(progress, "  %s", describe(t.result.Phases[len(t.result.Phases)-1]))
		}
	}
	return nil
}

func describe(p result.Phase) string {
	return fmt.Sprintf("%-6s %6.1f s, %5.1f %% of a core, RSS %d MiB, at most %d MiB, %d collections", p.Name, p.Wall.Seconds(),
		100*p.Share(), p.RSS>>20, p.Peak>>20, p.Collections)
}

// phase measures what is run.
func (t *trial) phase(ctx context.Context, name string, run func(context.Context) error) error {
	noted, err := t.notes(ctx)
	if err == nil && name != result.Start { // that began with the process
		err = errors.Join(t.client.Call(ctx, "phase", name, nil), t.outside.Forget())
	}
	if err != nil {
		return err
	}
	before, err := t.outside.Read()
	if err != nil {
		return err
	}
	if name == result.Start {
		before.CPU = 0
	}
	collected := t.collector.Collections()
	stop := t.sampleRSS(ctx)
	err = run(ctx)
	rss := stop()
	if err != nil {
		return err
	}
	after, err := t.outside.Read()
	peak, err2 := t.outside.Peak()
	now := t.collector.Collections()
	p := result.Phase{
		Name: name, Wall: after.At.Sub(before.At), CPU: after.CPU - before.CPU, RSS: rss, Peak: peak,
		Collections: now.Count - collected.Count, CollectCPU: now.CPU - collected.CPU,
	}
	noted2, err3 := t.notes(ctx)
	p.Notes = between(noted, noted2)
	t.result.Phases = append(t.result.Phases, p)
	return errors.Join(err, err2, err3)
}

// between is what the server did from one time to another.
func between(before, after notes) map[string]result.NoteCount {
	all := map[string]result.NoteCount{}
	for _, of := range world.All() {
		b, a := before[of], after[of]
		all[of.String()] = result.NoteCount{
			Changes: a.Changes - b.Changes, Watches: a.Watches - b.Watches, Lists: a.Lists - b.Lists, Gone: a.Gone - b.Gone,
		}
	}
	return all
}

// sampleRSS reads the memory from now on, until stop returns the median.
func (t *trial) sampleRSS(ctx context.Context) (stop func() uint64) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan []uint64)
	go func() {
		var all []uint64
		for {
			if r, err := t.outside.Read(); err == nil {
				all = append(all, r.RSS)
			}
			if rest(ctx, poll) != nil {
				ended <- all
				return
			}
		}
	}()
	return func() uint64 {
		cancel()
		all := <-ended
		slices.Sort(all)
		if len(all) == 0 {
			return 0
		}
		return all[len(all)/2]
	}
}

// start waits until all informers have synced.
func (t *trial) start(ctx context.Context) error {
	return t.client.Call(ctx, "sync", patience, &t.result.Sync)
}

// between waits until what happened during the start is sent, the slow handler knows the first
// lists as well, and the start is over for the memory.
func (t *trial) between(ctx context.Context) error {
	noted, err := t.notes(ctx)
	if err != nil {
		return err
	}
	if err := t.caughtUp(ctx, noted, [world.Resources]int{}); err != nil {
		return err
	}
	if err := t.client.Call(ctx, "sync slow", patience, nil); err != nil {
		return err
	}
	if err := rest(ctx, min(5*time.Second, t.spec.Steady/4)); err != nil {
		return err
	}
	return t.server.Call(ctx, "late", nil, nil) // from here on
}

// steady lets the cluster live. In the middle a handler joins.
func (t *trial) steady(ctx context.Context, profile string) error {
	start := time.Now()
	if profile != "" {
		name := fmt.Sprintf("%s%d.%s.%s.pprof", profile, t.spec.Nodes, t.spec.Encoding, t.spec.Side)
		if err := t.client.Call(ctx, "profile", name, nil); err != nil {
			return err
		}
	}
	if err := rest(ctx, t.spec.Steady/2); err != nil {
		return err
	}
	if err := t.client.Call(ctx, "join", patience, &t.result.Join); err != nil {
		return err
	}
	if err := rest(ctx, t.spec.Steady-time.Since(start)); err != nil {
		return err
	}
	if profile != "" {
		if err := t.client.Call(ctx, "profile", "", nil); err != nil {
			return err
		}
	}
	return t.server.Call(ctx, "late", nil, &t.result.Server)
}

// gone has each resource listed anew, one after the other.
func (t *trial) gone(ctx context.Context) error {
	for _, of := range world.All() {
		noted, err := t.notes(ctx)
		if err == nil {
			err = t.server.Call(ctx, "gone", of.String(), nil)
		}
		var once [world.Resources]int
		once[of] = 1
		if err == nil {
			err = t.caughtUp(ctx, noted, once)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	return nil
}

const (
	outage = time.Minute // without the speed
	// inFlight is longer than what was due before a phase takes to the handlers while all is well.
	inFlight = 200 * time.Millisecond
)

// storm cuts all connections, and after an outage everything is listed anew. It is over when the
// client has all. What is cut off is of this phase, and not of the one before.
func (t *trial) storm(ctx context.Context) error {
	if err := rest(ctx, inFlight); err != nil {
		return err
	}
	noted, err := t.notes(ctx)
	if err == nil {
		err = t.server.Call(ctx, "shut", true, nil)
	}
	if err == nil {
		err = rest(ctx, time.Duration(float64(outage)/t.spec.Speed))
	}
	if err == nil {
		err = errors.Join(t.server.Call(ctx, "gone", "", nil), t.server.Call(ctx, "shut", false, nil))
	}
	back := time.Now()
	if err == nil {
		err = t.caughtUp(ctx, noted, allOnce())
	}
	if err == nil {
		err = t.settle(ctx)
	}
	var status follow.Status
	if err == nil {
		err = t.client.Call(ctx, "status", nil, &status)
	}
	t.result.Recovered = max(0, time.Unix(0, status.LastLate).Sub(back))
	return err
}

var errFaults = errors.New("handlers were not told in order")

// report takes what the client has noted, and fails if that is not in order.
func (t *trial) report(ctx context.Context) error {
	var r follow.Report
	if err := t.client.Call(ctx, "report", nil, &r); err != nil {
		return err
	}
	for i := range t.result.Phases {
		p := &t.result.Phases[i]
		for _, reported := range r.Phases {
			if reported.Name == p.Name {
				p.Latency = reported
			}
		}
	}
	if r.Faulty > 0 {
		return fmt.Errorf("%w: %d times, first\n%s", errFaults, r.Faulty, strings.Join(r.Faults, "\n"))
	}
	return nil
}
