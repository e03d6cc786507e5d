// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/bench/internal/blank"
	"github.com/kinformer/cache/bench/internal/child"
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/serve"
	"github.com/kinformer/cache/bench/internal/world"
)

var mediaTypes = map[string]string{"json": blank.JSON, "protobuf": blank.Protobuf}

// patience is how long anything may take that is waited for. What is lost ends here.
const patience = 10 * time.Minute

// trial is a server and a client.
type trial struct {
	spec     spec
	server   *child.Process
	client   *child.Process
	outside  measure.Process // of the client
	patience time.Duration   // for what the client has yet to do
	result   result
}

// newTrial starts the server and then the client. The cluster lives by then.
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
	t.outside = measure.Process(t.client.PID())
	if err := t.outside.FirstToGo(); err != nil {
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
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// caughtUp waits until the server has sent all that happened, by open watches, and has begun one
// more whole state of some resources than before.
func (t *trial) caughtUp(ctx context.Context, before notes, more ...world.Resource) error {
	for _, of := range world.All() {
		least := before[of].Lists
		if slices.Contains(more, of) {
			least++
		}
		what := fmt.Sprintf("the watch of %s is not open, not up to date, or has listed too few times", of)
		err := until(ctx, what, func() (bool, error) {
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

// settle stops time, compares all that the client has and was told with the server, and goes on.
// What the client has yet to do it is given the time for.
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
		if err := pause(ctx, max(poll, time.Since(start)/10)); err != nil {
			return err
		}
	}
}

// say writes a line of progress.
func say(to io.Writer, format string, args ...any) {
	fmt.Fprintf(to, "%s  %s\n", time.Now().UTC().Format("15:04:05"), fmt.Sprintf(format, args...))
}
