// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures informers on a cluster of N nodes: a server process sends its traffic
// over TLS and HTTP/2, on an open schedule, and a client process runs the informers of a controller
// manager, of client-go or of this library. docs/cluster.md describes the runs.
//
//	go run ./cluster -n 1000 -sides client-go,direct -encodings protobuf
//	go run ./cluster -n 100,1000 -state f -resume     runs those without a result in f
//	go run ./cluster -n 10000 -sides direct -profile /tmp/p.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/serve"
)

const clientRole = "client"

var roles = map[string]child.Role{serve.Role: child.Of(serve.Serve), clientRole: child.Of(follow)}

func main() {
	child.Main(roles, func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// config is the parsed command line.
type config struct {
	specs          []spec // in the order of the flags: by nodes, encoding and side
	state, command string
	resume         bool
	profile        string
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	nodes := flags.String("n", "1000", "comma-separated numbers of `nodes`")
	names := flags.String("sides", "client-go,direct", "comma-separated `sides`: client-go, ours, direct, shared, keep")
	encodings := flags.String("encodings", "protobuf", "json, protobuf or both")
	var s spec
	flags.Float64Var(&s.Speed, "speed", 10, "divisor of the timeouts of watches, of outages and of the time between bookmarks; the rate of changes is not affected")
	flags.DurationVar(&s.Steady, "steady", 2*time.Minute, "duration of the steady phase")
	flags.Uint64Var(&s.Seed, "seed", 1, "seed of the plan")
	flags.Float64Var(&s.Churn, "churn", 1, "factor of the rate of changes of pods and nodes")
	flags.StringVar(&c.state, "state", "", "store results in this `folder`, as JSON")
	flags.BoolVar(&c.resume, "resume", false, "use the results in -state, continue after a failed run, and report all results in -state of the same -speed, -steady, -churn and -seed")
	flags.StringVar(&c.command, "command", "go run ./cluster", "the `command` that the report names")
	flags.StringVar(&c.profile, "profile", "", "write profiles of the steady phase to files with this `prefix`")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 || s.Speed <= 0 || s.Steady <= 0 || s.Churn <= 0 || c.resume && c.state == "" {
		return c, fmt.Errorf("-speed, -steady and -churn must be positive, -resume needs -state, and arguments are not allowed: %q", flags.Args())
	}
	for _, text := range strings.Split(*nodes, ",") {
		if s.Nodes, err = strconv.Atoi(text); err != nil || s.Nodes < 2 {
			return c, fmt.Errorf("-n: %q is not a number of nodes: at least 2", text)
		}
		for _, s.Encoding = range strings.Split(*encodings, ",") {
			if mediaTypes[s.Encoding] == "" {
				return c, fmt.Errorf("-encodings: unknown encoding %q: use json or protobuf", s.Encoding)
			}
			for _, s.Side = range strings.Split(*names, ",") {
				if _, err := sideNamed(s.Side); err != nil {
					return c, fmt.Errorf("-sides: %w", err)
				}
				c.specs = append(c.specs, s)
			}
		}
	}
	return c, nil
}

// run runs the program with the given arguments and outputs.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var made []result
	for _, s := range c.specs {
		r, err := c.one(ctx, s, stderr)
		if err != nil {
			return fmt.Errorf("%d nodes, %s, %s: %w", s.Nodes, s.Encoding, s.Side, err)
		}
		made = append(made, r)
	}
	if c.resume {
		if made, err = stored(c.state, c.specs[0]); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, page(made, c.command))
	return err
}

// one runs a spec, or with -resume returns the stored result, if any. With -resume, the failure of a
// run is a result, too.
func (c config) one(ctx context.Context, s spec, progress io.Writer) (result, error) {
	if c.resume {
		if r, there, err := kept(c.state, s); there || err != nil {
			return r, err
		}
	}
	r, err := measured(ctx, s, c.profile, progress)
	if err != nil && c.resume && ctx.Err() == nil {
		say(progress, "failed: %v", err)
		r.Spec, r.Failed, err = s, err.Error(), nil
	}
	if err == nil && c.state != "" {
		err = save(c.state, r)
	}
	return r, err
}
