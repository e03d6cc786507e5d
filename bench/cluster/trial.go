// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/child"
	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/outside"
	"github.com/kinformer/cache/bench/cluster/internal/result"
	"github.com/kinformer/cache/bench/cluster/internal/serve"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/wire"
)

var mediaTypes = map[string]string{"json": wire.JSON, "protobuf": wire.Protobuf}

// patience is how long anything may take that is waited for. What is lost ends here.
const patience = 10 * time.Minute

// trial is a server and a client.
type trial struct {
	spec      result.Spec
	server    *child.Process
	client    *child.Process
	outside   outside.Process // of the client
	collector *outside.Collector
	patience  time.Duration // for what the client has yet to do
	result    result.Result
}

// newTrial starts the server and then the client. The cluster lives by then.
func newTrial(ctx context.Context, s result.Spec) (*trial, error) {
	t := &trial{spec: s, collector: outside.NewCollector(os.Stderr), patience: patience}
	t.result.Spec = s
	var hello serve.Hello
	var err error
	t.server, err = child.Start(ctx, serve.Role, serve.Config{
		Nodes: s.Nodes, Seed: s.Seed, Churn: s.Churn, Speed: s.Speed, MediaType: mediaTypes[s.Encoding],
	}, &hello, os.Stderr)
	if err != nil {
		return nil, err
	}
	t.result.FormBytes = hello.FormBytes
	if err := t.server.Call(ctx, "resume", nil, nil); err != nil {
		return nil, errors.Join(err, t.server.Stop())
	}
	t.client, err = child.Start(ctx, follow.Role, follow.Config{
		Side: s.Side, URL: hello.URL, CA: hello.CA, MediaType: mediaTypes[s.Encoding], Lists: s.Lists,
	}, nil, t.collector, environment(s)...)
	if err != nil {
		return nil, errors.Join(err, t.server.Stop())
	}
	t.outside.PID = t.client.PID()
	if err := t.outside.FirstToGo(); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// environment is what the client has in its environment.
func environment(s result.Spec) []string {
	all := []string{outside.GCTrace}
	if s.Procs > 0 {
		all = append(all, fmt.Sprintf("GOMAXPROCS=%d", s.Procs))
	}
	return all
}

func (t *trial) stop() error { return errors.Join(t.client.Stop(), t.server.Stop()) }

type notes = [world.Resources]serve.Notes

func (t *trial) notes(ctx context.Context) (n notes, err error) {
	err = t.server.Call(ctx, "notes", nil, &n)
	return n, err
}

// poll is how often something is looked for in another process.
const poll = 100 * time.Millisecond

// until waits until something is so.
func until(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %s: %s", patience, what))
	defer cancel()
	for {
		if so, err := is(); so || err != nil {
			return err
		}
		if err := rest(ctx, poll); err != nil {
			return err
		}
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// caughtUp waits until the server has sent all that happened, by open watches, and has begun so
// many more whole states of the resources than before.
func (t *trial) caughtUp(ctx context.Context, before notes, more [world.Resources]int) error {
	for _, of := range world.All() {
		what := fmt.Sprintf("the watch of %s is not open, not up to date, or has listed too few times", of)
		err := until(ctx, what, func() (bool, error) {
			now, err := t.notes(ctx)
			n := now[of]
			return n.Open == 1 && n.Lag == 0 && n.Lists >= before[of].Lists+more[of], errors.Join(err, t.client.Ended())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// allOnce is one for each resource.
func allOnce() (each [world.Resources]int) {
	for i := range each {
		each[i] = 1
	}
	return each
}

var errDiffers = errors.New("the client differs from the server")

// settle stops time, compares all that the client has and was told with the server, and goes on.
// What the client has yet to do it is given the time for.
func (t *trial) settle(ctx context.Context) error {
	var stood notes
	if err := t.server.Call(ctx, "pause", nil, &stood); err != nil {
		return err
	}
	var expected [world.Resources]follow.Expected
	t.result.Objects = map[string]int{}
	for _, of := range world.All() {
		n := stood[of]
		expected[of] = follow.Expected{State: n.State, Changes: n.Changes - n.Base, Exact: n.Lists == 1}
		t.result.Objects[of.String()] = n.State.Objects
	}
	var differs []string
	start := time.Now()
	for {
		if err := t.client.Call(ctx, "differs", expected, &differs); err != nil {
			return err
		}
		if len(differs) == 0 {
			return t.server.Call(ctx, "resume", nil, nil)
		}
		if time.Since(start) > t.patience {
			return fmt.Errorf("%w:\n%s", errDiffers, strings.Join(differs, "\n"))
		}
		if err := rest(ctx, max(poll, time.Since(start)/10)); err != nil {
			return err
		}
	}
}

// say writes a line of progress.
func say(to io.Writer, format string, args ...any) {
	fmt.Fprintf(to, "%s  %s\n", time.Now().UTC().Format("15:04:05"), fmt.Sprintf(format, args...))
}
