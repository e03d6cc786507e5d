// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// The phases of a run.
const (
	phaseStart  = "start"  // until all informers have synced
	phaseSteady = "steady" // with restarts of watches, and a handler that joins late
	phaseGone   = "gone"   // each resource is compacted, and listed again
	phaseStorm  = "storm"  // all connections are cut, and after an outage all resources are listed again
)

// measured runs a spec and returns its result.
func measured(ctx context.Context, s spec, profile string, progress io.Writer) (result, error) {
	say(progress, "%d nodes, %s, %s", s.Nodes, s.Encoding, title(s.Side))
	before, err := measure.Cores()
	if err != nil {
		return result{}, err
	}
	t, err := newTrial(ctx, s)
	if err != nil {
		return result{}, err
	}
	err = t.run(ctx, profile, progress)
	err = errors.Join(err, t.stop())
	after, err2 := measure.Cores()
	of, _ := sideNamed(s.Side)
	t.result.Version, t.result.Machine, t.result.Steal = measure.Version(ctx, of.module), measure.ThisMachine(), after.StolenSince(before)
	return t.result, errors.Join(err, err2)
}

// run runs the phases, with checks between them.
func (t *trial) run(ctx context.Context, profile string, progress io.Writer) error {
	for _, step := range []struct {
		name     string
		measured bool
		run      func(context.Context) error
	}{
		{phaseStart, true, t.start},
		{"after the start", false, t.between},
		{phaseSteady, true, func(ctx context.Context) error { return t.steady(ctx, profile) }},
		{"settle", false, t.settle},  // without relists so far, each change is notified exactly once
		{"report", false, t.report},  // before phases that may exceed the machine
		{phaseStorm, true, t.storm},  // first, while the memory is as in the steady phase
		{phaseGone, true, t.allGone}, // one resource after the other
		{"settle", false, t.settle},
		{"report", false, t.report},
	} {
		run := step.run
		if step.measured {
			run = func(ctx context.Context) error { return t.phase(ctx, step.name, step.run) }
		}
		if err := run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if p := t.result.phase(step.name); step.measured {
			say(progress, "  %-6s %6.1f s, %5.1f %% of a core, RSS %d MiB, at most %d MiB", p.Name, p.Wall.Seconds(), 100*p.share(), p.RSS>>20, p.Peak>>20)
		}
	}
	return nil
}

// phase runs a phase and appends its result.
func (t *trial) phase(ctx context.Context, name string, run func(context.Context) error) error {
	noted, err := t.notes(ctx)
	if err == nil && name != phaseStart { // the start began with the process
		err = errors.Join(t.client.Call(ctx, "phase", name, nil), measure.ForgetPeak(t.client.PID()))
	}
	var was, is clientStatus
	err = errors.Join(err, t.client.Call(ctx, "status", nil, &was))
	before, err2 := cputime.Of(t.client.PID())
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if name == phaseStart {
		before.CPU, was.Collected, noted = 0, 0, notes{} // by now the client may have listed
	}
	rss := t.sampleRSS(ctx)
	err = run(ctx)
	p := phaseResult{Name: name, RSS: rss()}
	if err != nil {
		return err
	}
	after, err := cputime.Of(t.client.PID())
	err = errors.Join(err, t.client.Call(ctx, "status", nil, &is))
	p.Peak = after.Peak
	p.Wall, p.CPU, p.CollectCPU = after.At.Sub(before.At), after.CPU-before.CPU, is.Collected-was.Collected
	ended, err2 := t.notes(ctx)
	for of := range noted {
		p.Changes += ended[of].Changes - noted[of].Changes
		p.Lists += ended[of].Lists - noted[of].Lists
	}
	t.result.Phases = append(t.result.Phases, p)
	return errors.Join(err, err2)
}

// sampleRSS samples the client's RSS until stop is called, which returns the median in bytes.
func (t *trial) sampleRSS(ctx context.Context) (stop func() uint64) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan []uint64)
	go func() {
		var all []uint64
		for err := error(nil); err == nil; err = measure.Pause(ctx, poll) {
			if r, err := cputime.Of(t.client.PID()); err == nil {
				all = append(all, r.RSS)
			}
		}
		ended <- all
	}()
	return func() uint64 {
		cancel()
		all := slices.Sorted(slices.Values(append(<-ended, 0)))
		return all[len(all)/2]
	}
}

// start waits until all informers have synced.
func (t *trial) start(ctx context.Context) error {
	return t.client.Call(ctx, "sync", patience, &t.result.Sync)
}

// between blocks until the changes of the start are sent and the slow handler has synced, and then
// for some seconds in which the memory settles. It resets the server's lateness.
func (t *trial) between(ctx context.Context) error {
	noted, err := t.notes(ctx)
	if err == nil {
		err = t.caughtUp(ctx, noted)
	}
	if err == nil {
		err = t.client.Call(ctx, "sync slow", patience, nil)
	}
	if err == nil {
		err = measure.Pause(ctx, min(5*time.Second, t.spec.Steady/4))
	}
	if err == nil {
		err = t.server.Call(ctx, "late", nil, nil) // resets it
	}
	return err
}

// steady runs the cluster without faults. In the middle, a handler joins.
func (t *trial) steady(ctx context.Context, profile string) (err error) {
	start := time.Now()
	if profile != "" {
		err = t.client.Call(ctx, "profile", fmt.Sprintf("%s%d.%s.%s.pprof", profile, t.spec.Nodes, t.spec.Encoding, t.spec.Side), nil)
	}
	if err == nil {
		err = measure.Pause(ctx, t.spec.Steady/2)
	}
	if err == nil {
		err = t.client.Call(ctx, "join", patience, &t.result.Join)
	}
	if err == nil {
		err = measure.Pause(ctx, t.spec.Steady-time.Since(start))
	}
	if err == nil && profile != "" {
		err = t.client.Call(ctx, "profile", "", nil)
	}
	if err == nil {
		err = t.server.Call(ctx, "late", nil, &t.result.Server)
	}
	return err
}

// allGone makes the client list each resource again, one after the other.
func (t *trial) allGone(ctx context.Context) error {
	for _, of := range world.All() {
		noted, err := t.notes(ctx)
		if err == nil {
			err = t.server.Call(ctx, "gone", of.String(), nil)
		}
		if err == nil {
			err = t.caughtUp(ctx, noted, of)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	return nil
}

const (
	outage = time.Minute // at speed 1
	// inFlight is longer than the latency of changes in the steady phase.
	inFlight = 200 * time.Millisecond
)

// storm cuts all connections, compacts all resources during an outage, and blocks until the client
// has the server's state. It waits inFlight first, so that no change of the phase before is cut off.
func (t *trial) storm(ctx context.Context) error {
	if err := measure.Pause(ctx, inFlight); err != nil {
		return err
	}
	noted, err := t.notes(ctx)
	if err == nil {
		err = t.server.Call(ctx, "shut", true, nil)
	}
	if err == nil {
		err = measure.Pause(ctx, time.Duration(float64(outage)/t.spec.Speed))
	}
	if err == nil {
		err = errors.Join(t.server.Call(ctx, "gone", "", nil), t.server.Call(ctx, "shut", false, nil))
	}
	back := time.Now()
	if err == nil {
		err = t.caughtUp(ctx, noted, world.All()...)
	}
	if err == nil {
		err = t.settle(ctx)
	}
	var status clientStatus
	if err == nil {
		err = t.client.Call(ctx, "status", nil, &status)
	}
	t.result.Recovered = max(0, time.Unix(0, status.LastLate).Sub(back))
	return err
}

// report stores the latencies of the client's report in the result, and returns an error if a
// notification was not in order.
func (t *trial) report(ctx context.Context) error {
	var r report
	if err := t.client.Call(ctx, "report", nil, &r); err != nil {
		return err
	}
	for i := range t.result.Phases {
		t.result.Phases[i].Latency = r.Phases[t.result.Phases[i].Name]
	}
	if r.Faulty > 0 {
		return fmt.Errorf("%d notifications were not in order, first\n%s", r.Faulty, strings.Join(r.Faults, "\n"))
	}
	return nil
}

var mediaTypes = map[string]string{"json": blank.JSON, "protobuf": blank.Protobuf}

// patience bounds every wait of a run. A lost event makes the run fail at this limit.
const patience = 10 * time.Minute

// trial is a run, with its server and client.
type trial struct {
	spec     spec
	server   *child.Process
	client   *child.Process
	patience time.Duration // the limit of a wait in settle
	result   result
}

// newTrial starts the server, resumes its time, and then starts the client.
func newTrial(ctx context.Context, s spec) (*trial, error) {
	t := &trial{spec: s, patience: patience, result: result{Spec: s}}
	var hello serve.Hello
	var err error
	t.server, err = child.Start(ctx, serve.Role, serve.Config{
		Nodes: s.Nodes, Seed: s.Seed, Churn: s.Churn, Speed: s.Speed, MediaType: mediaTypes[s.Encoding], TLS: true,
	}, &hello, os.Stderr)
	if err != nil {
		return nil, err
	}
	if err := t.server.Call(ctx, "resume", nil, nil); err != nil {
		return nil, errors.Join(err, t.server.Stop())
	}
	t.client, err = child.Start(ctx, clientRole, clientConfig{Side: s.Side, Server: hello, MediaType: mediaTypes[s.Encoding]},
		nil, os.Stderr)
	if err != nil {
		return nil, errors.Join(err, t.server.Stop())
	}
	if err := measure.FirstToGo(t.client.PID()); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

func (t *trial) stop() error { return errors.Join(t.client.Stop(), t.server.Stop()) }

type notes = [world.Resources]serve.Notes

func (t *trial) notes(ctx context.Context) (n notes, err error) {
	err = t.server.Call(ctx, "notes", nil, &n)
	return n, err
}

// poll is the time between two queries of another process.
const poll = 100 * time.Millisecond

// until calls is every poll until it returns true or an error. After patience, until returns an error
// that contains what.
func until(ctx context.Context, what string, is wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, is)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("after %s: %s: %w", patience, what, err)
	}
	return cmp.Or(context.Cause(ctx), err)
}

// caughtUp blocks until each resource has one open watch that has sent all changes, and has been
// listed at least as often as in before; the resources in more, at least once more.
func (t *trial) caughtUp(ctx context.Context, before notes, more ...world.Resource) error {
	for _, of := range world.All() {
		least := before[of].Lists
		if slices.Contains(more, of) {
			least++
		}
		what := fmt.Sprintf("the watch of %s is not open, not up to date, or has listed too few times", of)
		err := until(ctx, what, func(ctx context.Context) (bool, error) {
			now, err := t.notes(ctx)
			n := now[of]
			return n.Open == 1 && n.Lag == 0 && n.Lists >= least, errors.Join(err, t.client.Ended())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var errDiffers = errors.New("the client differs from the server")

// settle stops time, blocks until the client's stores and handlers have the server's state, and
// resumes time. It returns errDiffers if they still differ after t.patience.
func (t *trial) settle(ctx context.Context) error {
	var stood notes
	if err := t.server.Call(ctx, "pause", nil, &stood); err != nil {
		return err
	}
	var want [world.Resources]expected
	for _, of := range world.All() {
		n := stood[of]
		want[of] = expected{State: n.State, Changes: n.Changes - n.Base, Exact: n.Lists == 1}
	}
	var differs []string
	start := time.Now()
	for {
		if err := t.client.Call(ctx, "differs", want, &differs); err != nil {
			return err
		}
		if len(differs) == 0 {
			return t.server.Call(ctx, "resume", nil, nil)
		}
		if time.Since(start) > t.patience {
			return fmt.Errorf("%w:\n%s", errDiffers, strings.Join(differs, "\n"))
		}
		if err := measure.Pause(ctx, max(poll, time.Since(start)/10)); err != nil {
			return err
		}
	}
}

// say writes a line of progress.
func say(to io.Writer, format string, args ...any) {
	fmt.Fprintf(to, "%s  %s\n", time.Now().UTC().Format("15:04:05"), fmt.Sprintf(format, args...))
}
