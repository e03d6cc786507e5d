// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures informers on a cluster of N nodes: a server process sends its traffic
// over TLS and HTTP/2, on an open schedule, and a client process runs the informers of a controller
// manager, by client-go or by this library. docs/cluster.md tells what is run.
//
//	go run ./cluster -n 1000 -sides client-go,direct -encodings protobuf
//	go run ./cluster -n 100,1000 -state f -resume     runs what f does not have
//	go run ./cluster -n 1000 -sides direct -soak 1h   with faults, and what the memory does
//	go run ./cluster -n 10000 -sides direct -profile /tmp/p.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/child"
	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/result"
	"github.com/kinformer/cache/bench/cluster/internal/serve"
	"github.com/kinformer/cache/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	is, err := beChild(ctx)
	if !is {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// beChild does what a child is for, if this process is one.
func beChild(ctx context.Context) (is bool, err error) {
	switch role, config := child.Role(); role {
	case serve.Role:
		var c serve.Config
		if err := json.Unmarshal(config, &c); err != nil {
			return true, err
		}
		return true, serve.Serve(ctx, c, os.Stdin, os.Stdout)
	case follow.Role:
		var c follow.Config
		if err := json.Unmarshal(config, &c); err != nil {
			return true, err
		}
		return true, follow.Serve(ctx, c, os.Stdin, os.Stdout)
	default:
		return false, nil
	}
}

// config is what the command line says.
type config struct {
	nodes            []int
	sides, encodings []string
	like             result.Spec // but for what the lists above say
	state, command   string
	figures, folder  string
	resume, kept     bool
	soak             time.Duration
	profile          string
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	nodes := flags.String("n", "1000", "numbers of `nodes`")
	sides := flags.String("sides", "client-go,direct", "which `sides` of "+strings.Join(follow.Sides(), ", "))
	encodings := flags.String("encodings", "protobuf", "json, protobuf or both")
	flags.Float64Var(&c.like.Speed, "speed", 10, "how much shorter watches, outages and the time between bookmarks are than in life; nothing happens more often")
	flags.DurationVar(&c.like.Steady, "steady", 2*time.Minute, "how long the steady phase is")
	flags.Uint64Var(&c.like.Seed, "seed", 1, "seed of the plan")
	flags.Float64Var(&c.like.Churn, "churn", 1, "how much more often pods and nodes change")
	flags.BoolVar(&c.like.Lists, "lists", false, "take whole states by lists instead of watch-lists")
	flags.IntVar(&c.like.Procs, "procs", 0, "GOMAXPROCS of the client; 0: the number of cores")
	flags.StringVar(&c.state, "state", "", "keep results in this `folder`, as JSON")
	flags.BoolVar(&c.resume, "resume", false, "take what -state has already, and go on after a run that fails")
	flags.BoolVar(&c.kept, "kept", false, "run nothing, and report all that -state has")
	flags.StringVar(&c.command, "command", "go run ./cluster", "what the report is said to be written by")
	flags.StringVar(&c.figures, "figures", "", "write what bench/chart -cluster draws to this `file`")
	flags.StringVar(&c.folder, "pictures", "", "show the pictures that it draws into this `folder`")
	flags.DurationVar(&c.soak, "soak", 0, "go on for so long, with faults, instead of measuring")
	flags.StringVar(&c.profile, "profile", "", "write profiles of the steady phase to files with this `prefix`")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	c.sides, c.encodings = strings.Split(*sides, ","), strings.Split(*encodings, ",")
	for _, text := range strings.Split(*nodes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			return c, fmt.Errorf("-n: %q is no number of nodes: at least 2", text)
		}
		c.nodes = append(c.nodes, n)
	}
	return c, c.check()
}

func (c config) check() error {
	for _, side := range c.sides {
		if !slices.Contains(follow.Sides(), side) {
			return fmt.Errorf("-sides: there is no side %q but %s", side, strings.Join(follow.Sides(), ", "))
		}
	}
	for _, encoding := range c.encodings {
		if mediaTypes[encoding] == "" {
			return fmt.Errorf("-encodings: there is no encoding %q but json and protobuf", encoding)
		}
	}
	if c.like.Speed <= 0 || c.like.Steady <= 0 || c.like.Churn <= 0 || c.like.Procs < 0 {
		return errors.New("-speed, -steady and -churn must be positive, and -procs not negative")
	}
	if (c.resume || c.kept) && c.state == "" {
		return errors.New("-resume and -kept need -state")
	}
	if c.kept && c.soak > 0 {
		return errors.New("-kept runs nothing: it does not go with -soak")
	}
	return nil
}

// specs are the runs, the small ones first.
func (c config) specs() []result.Spec {
	var all []result.Spec
	for _, n := range c.nodes {
		for _, encoding := range c.encodings {
			for _, side := range c.sides {
				s := c.like
				s.Nodes, s.Encoding, s.Side = n, encoding, side
				all = append(all, s)
			}
		}
	}
	return all
}

// run is the program without its process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if c.soak > 0 {
		return c.each(func(s result.Spec) error { return soak(ctx, s, c.soak, stdout, stderr) })
	}
	made, err := c.results(ctx, stderr)
	if err != nil {
		return err
	}
	result.Sort(made)
	return errors.Join(c.writeFigures(made), result.WriteMarkdown(stdout, made, c.command, c.folder))
}

// results are what is kept, or what the runs give.
func (c config) results(ctx context.Context, progress io.Writer) (made []result.Result, err error) {
	if c.kept {
		return result.AllKept(c.state)
	}
	err = c.each(func(s result.Spec) error {
		r, err := c.one(ctx, s, progress)
		made = append(made, r)
		return err
	})
	return made, err
}

// each does something with each spec, up to the first error.
func (c config) each(do func(result.Spec) error) error {
	for _, s := range c.specs() {
		if err := do(s); err != nil {
			return fmt.Errorf("%d nodes, %s, %s: %w", s.Nodes, s.Encoding, s.Side, err)
		}
	}
	return nil
}

func (c config) writeFigures(all []result.Result) error {
	if c.figures == "" {
		return nil
	}
	file, err := os.Create(c.figures)
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return errors.Join(report.WriteFigures(file, result.Figures(all)), file.Close())
}

// one runs a spec, or takes the result that there is. With -resume, a run that fails is a result.
func (c config) one(ctx context.Context, s result.Spec, progress io.Writer) (result.Result, error) {
	if c.resume {
		if r, there, err := result.Kept(c.state, s); there || err != nil {
			return r, err
		}
	}
	r, err := undisturbed(ctx, s, c.profile, progress)
	if err != nil && c.resume && ctx.Err() == nil {
		say(progress, "failed: %v", err)
		r.Spec, r.Failed, err = s, err.Error(), nil
	}
	if err == nil && c.state != "" {
		err = result.Keep(c.state, r)
	}
	return r, err
}
