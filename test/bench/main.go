// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench compares the informers and stores of client-go with those of this library. Both run
// in one process on equal work. The result is the Markdown of docs/benchmarks/README.md.
//
//	go run .                        everything, under half an hour
//	go run . -quick                 everything, smaller, under three minutes
//	go run . -quick -control         client-go against itself: the noise
//	go run . -run fanout/0-16 -cpuprofile /tmp/p.
//	go run . -quick -check floors.txt
//
// Each row is a workload; the function rows lists them all. Both sides run a row in turns
// (runner.go) and must end in the same state (env.go).
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/report"
	"github.com/kinformer/cache/test/bench/internal/serve"
)

func main() {
	child.Main(roles, func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

var roles = map[string]child.Role{serve.Role: child.Of(serve.Serve)}

// run runs the program with the given arguments and outputs.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stderr)
	if err != nil {
		return err
	}
	klog.LogToStderr(false) // keeps the log lines of informers out of the progress output
	klog.SetOutput(io.Discard)
	document := describe(ctx, cfg)
	document.Command = commandOf(cfg, args)
	floors, err := readFloors(cfg.check)
	if err != nil {
		return err
	}
	r := runner{env: cfg.env(), sides: cfg.sides(), rounds: cfg.rounds, more: cfg.more, progress: stderr}
	all := rows(cfg.n)
	if document.Rows, err = r.run(ctx, all, cfg.pattern); err != nil {
		return err
	}
	if len(document.Rows) == 0 {
		return fmt.Errorf("no row is called like %q", cfg.pattern)
	}
	document.Took = time.Since(document.Started)
	document.LoadAfter, _ = measure.Load()
	return errors.Join(document.WriteMarkdown(stdout), floors.Check(document.Rows, names(all)))
}

// commandOf returns the command that produces the same document. It includes the arguments if -run
// selects rows.
func commandOf(c config, args []string) string {
	if !c.named {
		return "make bench"
	}
	return "cd test/bench && go run . '" + strings.Join(args, "' '") + "'"
}

// readFloors reads the floors of ratios from a file. It returns nil if path is empty.
func readFloors(path string) (report.Floors, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("floors: %w", err)
	}
	return report.ParseFloors(string(content))
}

// rows returns all workloads in the order of the report, for stores of n objects.
func rows(n int) []row {
	return slices.Concat(
		stallRows(), storeMemoryRows(), sizeRows(n), fanoutRows(), idleRows(), sourcesRows(), syncRows(), httpRows(),
	)
}

func names(all []row) (names []string) {
	for _, r := range all {
		names = append(names, r.name)
	}
	return names
}

// notes are remarks about the rows, appended to a complete report.
//
//go:embed notes.md
var notes string

// config holds the values of the command line.
type config struct {
	n, rounds      int
	more           int // number of rounds of a row whose sides are close to each other
	seed           uint64
	scale          float64
	quick, control bool
	named          bool // -run selects the rows
	pattern        *regexp.Regexp
	check          string
	profile        string // prefix of profile file names
}

func (c config) env() *env {
	return &env{sides: c.sides(), n: c.n, seed: c.seed, scale: c.scale, profile: c.profile}
}

func (c config) sides() [2]side {
	if c.control {
		return controlSides()
	}
	return sides()
}

const (
	fullObjects  = 100_000
	quickObjects = 10_000
	fullRounds   = 5
	quickRounds  = 3
	closeRounds  = 21
	quickScale   = 0.15
)

func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.n, "n", 0, "number of `objects` (default 100000, for which a run needs 10 GB of memory; 10000 with -quick)")
	flags.IntVar(&c.rounds, "rounds", 0, "rounds of each row (default 5, and 21 where the sides are within 15 % of each other; 3 with -quick)")
	flags.Uint64Var(&c.seed, "seed", 1, "seed of the objects")
	flags.BoolVar(&c.quick, "quick", false, "fewer objects and rounds: under three minutes in total")
	flags.BoolVar(&c.control, "control", false, "client-go on both sides: shows which ratios are noise")
	pattern := flags.String("run", "", "run only the rows whose name matches this `regexp`")
	flags.StringVar(&c.check, "check", "", "fail when a ratio is below its floor in this `file`")
	flags.StringVar(&c.profile, "cpuprofile", "", "write a CPU profile per row, side and round to files with this `prefix`")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if c.pattern, err = regexp.Compile(*pattern); err != nil {
		return c, fmt.Errorf("-run: %w", err)
	}
	c.named = *pattern != ""
	return c.withDefaults(), nil
}

// withDefaults fills in the values that are not set.
func (c config) withDefaults() config {
	c.scale = 1
	objects, rounds := fullObjects, fullRounds
	if c.quick {
		objects, rounds, c.scale = quickObjects, quickRounds, quickScale
	}
	if c.n <= 0 {
		c.n = objects
	}
	if c.rounds <= 0 {
		c.rounds = rounds
		if !c.quick {
			c.more = closeRounds
		}
	}
	return c
}

// busyLoad is the load average per core above which the machine is reported as busy.
const busyLoad = 0.5

// describe returns a document with its machine, sides and settings, but without rows.
func describe(ctx context.Context, c config) *report.Document {
	d := &report.Document{
		Machine: measure.ThisMachine(),
		Objects: c.n, Seed: c.seed, Rounds: c.rounds, Quick: c.quick,
		Started: time.Now(),
	}
	if !c.named {
		d.Notes = notes
	}
	load, oneMinute := measure.Load()
	d.LoadBefore, d.Busy = load, oneMinute > busyLoad*float64(d.Machine.Cores)
	for i, s := range c.sides() {
		d.Sides[i] = report.Side{Name: s.name, Version: measure.Version(ctx, s.module)}
	}
	return d
}
