// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kinformer-measure reads a cluster once, and prints for each resource what its informers
// cost in decoding, with client-go's decoder and with that of package direct, and what would be
// saved.
//
//	go run github.com/kinformer/cache/cmd/kinformer-measure -kubeconfig FILE
//
// It asks for discovery and for one list of each resource, of at most so many objects as -limit
// says, and reads at most as much as -max-bytes says. It writes nothing to the cluster, and prints
// neither names nor contents of objects. What it decodes it decodes again and again, to tell how
// long that takes, from memory: the figures are of this machine's processor, without a network.
// Secrets are left out unless -resources names them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.LogToStderr(false) // what libraries have to say is in our own words
	klog.SetOutput(io.Discard)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kinformer-measure:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	kubeconfig, context, namespace string
	resources                      []string
	limit, maxBytes                int64
	output                         string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("kinformer-measure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says where the cluster is (default $KUBECONFIG, ~/.kube/config, or the cluster that this runs in)")
	flags.StringVar(&o.context, "context", "", "context of that file (default its current one)")
	flags.StringVar(&o.namespace, "namespace", "", "list in this namespace only (default all)")
	resources := flags.String("resources", "", "only these, separated by commas, as pods,deployments.apps (default all but secrets)")
	flags.Int64Var(&o.limit, "limit", 500, "read at most so many `objects` of each resource")
	flags.Int64Var(&o.maxBytes, "max-bytes", 256<<20, "read at most so many `bytes` of all objects together")
	flags.StringVar(&o.output, "o", "text", "text or json")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *resources != "" {
		o.resources = strings.Split(*resources, ",")
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.limit < 1 || o.maxBytes < 1:
		return o, errors.New("-limit and -max-bytes must be positive")
	case o.output != "text" && o.output != "json":
		return o, fmt.Errorf("-o is %q: it is text or json", o.output)
	}
	return o, nil
}

// run is the program without its process. When the context ends, it prints what it has.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	config, err := clusterConfig(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	resources, unknown, err := discover(ctx, config, o.resources)
	if err != nil {
		return err
	}
	all := report{Limit: o.limit, Resources: unknown}
	c := &cluster{config: config, namespace: o.namespace, limit: o.limit, left: o.maxBytes, most: largestAnswer}
	for i, r := range resources {
		fmt.Fprintf(stderr, "%d/%d %s\n", i+1, len(resources), r)
		measured := c.measure(ctx, r)
		if ctx.Err() != nil {
			break // what is measured of it is not all
		}
		all.Resources = append(all.Resources, measured)
	}
	all.BytesRead = o.maxBytes - c.left
	write := all.writeText
	if o.output == "json" {
		write = all.writeJSON
	}
	return errors.Join(write(stdout), context.Cause(ctx))
}
