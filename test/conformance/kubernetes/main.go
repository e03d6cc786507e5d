// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubernetes runs kube-apiserver, kube-controller-manager and kube-scheduler, built by make
// kubernetes in bin/kubernetes, with etcd and kubelets without containers, through a scenario determined
// by a seed. docs/kubernetes.md describes the scenario.
//
//	scenario   one variant: phases, and their costs
//	  cluster    the processes of the control plane
//	  kubelets   all nodes, in this process
//	  want       the wanted state after each phase
//	  state      the state of the server, and its deviations
//
// The command prints a table, and fails if a phase does not end in the wanted state.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// variant is a way to run the controller manager and the scheduler.
type variant struct {
	name, folder string
	env          []string
}

// variants are the unchanged programs, and the programs with user.patch, which read the variables.
var variants = []variant{
	{name: "client-go", folder: "unchanged"},
	{name: "ours", folder: "patched", env: []string{"KINFORMER_DIRECT=off", "SHARE_PARTS=off"}},
	{name: "direct", folder: "patched", env: []string{"SHARE_PARTS=off"}},
	{name: "shared", folder: "patched"},
}

// options are the options of the command line.
type options struct {
	bin                 string
	nodes, pods, rounds int
	seed                uint64
	variants            []variant
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = runAll(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("kubernetes", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.bin, "bin", "../../bin/kubernetes", "the `folder` with the programs; logs are in its folder run")
	flags.IntVar(&o.nodes, "nodes", 100, "number of nodes, 10 to 1000")
	flags.IntVar(&o.pods, "pods", 2000, "number of pods, 5 to 50 for each node")
	flags.IntVar(&o.rounds, "rounds", 1, "how often each variant runs, at least once")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the scenario")
	chosen := flags.String("variants", "client-go,shared", "which `variants` of client-go, ours, direct, shared")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.nodes < 10 || o.nodes > 1000 || o.pods < 5*o.nodes || o.pods > 50*o.nodes || o.rounds < 1 {
		return o, errors.New("there are only flags, in their ranges: see -h")
	}
	for name := range strings.SplitSeq(*chosen, ",") {
		i := slices.IndexFunc(variants, func(v variant) bool { return v.name == name })
		if i < 0 {
			return o, fmt.Errorf("-variants: %q is none of client-go, ours, direct, shared", name)
		}
		o.variants = append(o.variants, variants[i])
	}
	return o, nil
}

// runAll runs the variants and writes the table, also of the complete runs if one fails.
func runAll(ctx context.Context, o options, stdout, stderr io.Writer) error {
	runs, err := runRounds(ctx, o, stderr)
	var columns []string
	for _, v := range o.variants {
		columns = append(columns, v.name)
	}
	fmt.Fprintf(stdout, "Kubernetes %s, %d nodes, %d pods, seed %d, %d rounds\n\n", "v1.37.2", o.nodes, o.pods, o.seed, o.rounds)
	return errors.Join(err, writeTable(stdout, columns, runs))
}

// runRounds runs the variants in turns, once per round, and returns the complete runs of each variant. It
// ends with the first run that fails.
func runRounds(ctx context.Context, o options, stderr io.Writer) (runs [][]figures, err error) {
	runs = make([][]figures, len(o.variants))
	for round := range o.rounds {
		for i, v := range o.variants {
			name := fmt.Sprint(v.name, " ", round+1)
			say := func(format string, args ...any) { fmt.Fprintf(stderr, name+": "+format+"\n", args...) }
			f, err := scenario(ctx, o, v, round+1, say)
			if err != nil {
				return runs, fmt.Errorf("%s: %w", name, err)
			}
			runs[i] = append(runs[i], f)
		}
	}
	return runs, nil
}
