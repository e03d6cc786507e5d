// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kinformer-measure reads a cluster once, and prints for each resource what its lists cost
// in decoding: by client-go's decoder, by that of package direct, and by that with ShareParts.
//
//	go run github.com/kinformer/cache/cmd/kinformer-measure -kubeconfig FILE
//
// It asks for discovery and for one list of each resource, of at most as many objects as -limit
// says, and 32 MiB. It writes nothing to the cluster, and prints neither names nor contents of
// objects. Secrets are left out unless -resources names them.
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
	"text/tabwriter"

	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.LogToStderr(false) // libraries would print names
	klog.SetOutput(io.Discard)
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kinformer-measure:", err)
		os.Exit(1)
	}
}

const legend = `
CPU is microseconds for an object of a list, garbage collection included, without the network; HEAP and WIRE are bytes for an object.
Each has client-go's decoder, that of package direct, and that with ShareParts. Measured on %d objects of a resource at most; "-" stands for figures of fewer than %d.
`

// run is the program without its process. When the context ends, it prints what it has.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("kinformer-measure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("kubeconfig", "", "`file` that says where the cluster is (default $KUBECONFIG, ~/.kube/config, or the cluster that this runs in)")
	in := flags.String("context", "", "context of that file (default its current one)")
	namespace := flags.String("namespace", "", "list in this namespace only (default all)")
	names := flags.String("resources", "", "only these, separated by commas, as pods,deployments.apps (default all but secrets)")
	limit := flags.Int64("limit", 500, "read at most so many `objects` of each resource")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *limit < 1 {
		return errors.New("there are no arguments but flags, and -limit must be positive")
	}
	config, err := clusterConfig(*file, *in)
	if err != nil {
		return err
	}
	resources, err := discover(ctx, config, strings.FieldsFunc(*names, func(r rune) bool { return r == ',' }))
	if err != nil {
		return err
	}
	c := &cluster{config: config, namespace: *namespace, limit: *limit}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESOURCE\tOBJECTS\tENCODING\tWIRE\tCPU\tDIRECT\tSHARED\tHEAP\tDIRECT\tSHARED\tNOTES")
	for i, r := range resources {
		fmt.Fprintf(stderr, "%d/%d %s\n", i+1, len(resources), r)
		row := c.measure(ctx, r)
		if ctx.Err() != nil {
			break // the row is not complete
		}
		fmt.Fprintln(table, r.String()+"\t"+row)
	}
	fmt.Fprintf(table, legend, *limit, fewest)
	return errors.Join(table.Flush(), context.Cause(ctx))
}
