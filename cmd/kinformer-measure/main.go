// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kinformer-measure reads a cluster once, and prints for each resource the costs of decoding
// its lists: with client-go's decoder, with that of package direct, and with the latter and ShareParts.
//
//	go run github.com/kinformer/cache/cmd/kinformer-measure -kubeconfig FILE
//
// It makes discovery requests and requests one list of each resource, of at most -limit objects and 32
// MiB.
//
// With -keep FILE it adds what kinformer.Decoding.Keep and Whole would save: the file has a line for each resource, such as
//
//	pods: {keep: [spec.nodeName, status.podIPs], whole: app=mine}
//
// With -watch 1m it compares a whole start and a minute of watching instead: informers of client-go, of this
// library, and with ShareParts, one after the other, with whole lists: three times what a program with these
// informers requests.
//
// It writes nothing to the cluster, and prints neither names nor contents of objects. Secrets are
// excluded unless -resources or the file of -keep names them.
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
	klog.LogToStderr(false) // log lines of libraries contain names
	klog.SetOutput(io.Discard)
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kinformer-measure:", err)
		os.Exit(1)
	}
}

const legend = `
CPU is in microseconds per object of a list, including garbage collection, without the network; HEAP and WIRE are in bytes per object.
Each has three columns: client-go's decoder, that of package direct, and that with ShareParts. Measured on at most %d objects of a resource; "-" stands for measurements of fewer than %d.
`

// keepLegend explains what -keep adds.
const keepLegend = "KEEP is direct decoding of the fields that are kept, without ShareParts; objects that match whole are decoded whole. See docs/keep.md.\n"

// run is main without os. If the context ends, run prints the complete rows.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("kinformer-measure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("kubeconfig", "", "kubeconfig `file` of the cluster (default $KUBECONFIG, ~/.kube/config, or the cluster in which the program runs)")
	in := flags.String("context", "", "context in the kubeconfig file (default its current context)")
	namespace := flags.String("namespace", "", "namespace of the lists (default all)")
	names := flags.String("resources", "", "comma-separated resources, for example pods,deployments.apps (default all except secrets)")
	keepFile := flags.String("keep", "", "`file` in YAML with the fields that a program reads of each resource: pods: {keep: [spec.nodeName], whole: app=mine}")
	watch := flags.Duration("watch", 0, "compare informers of both libraries instead, that list everything and watch for this `time`")
	limit := flags.Int64("limit", 500, "maximum number of `objects` to read of each resource")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *limit < 1 || *watch < 0 || *watch > 0 && *keepFile != "" || *names != "" && *keepFile != "" {
		return errors.New("there are no arguments but flags, -limit must be positive, -watch not negative, and -keep has neither -watch nor -resources beside it")
	}
	config, err := clusterConfig(*file, *in)
	if err != nil {
		return err
	}
	c := &cluster{config: config, namespace: *namespace, limit: *limit}
	chosen := strings.FieldsFunc(*names, func(r rune) bool { return r == ',' })
	if *keepFile != "" {
		if c.keep, err = keepRulesOf(*keepFile); err != nil {
			return err
		}
		chosen = c.keep.names()
	}
	resources, err := discover(ctx, config, chosen)
	if err != nil {
		return err
	}
	if err := c.keepOf(chosen, resources); err != nil {
		return err
	}
	if *watch > 0 {
		return c.compare(ctx, resources, *watch, stdout, stderr)
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(c.heads(), "\t"))
	for i, r := range resources {
		fmt.Fprintf(stderr, "%d/%d %s\n", i+1, len(resources), r)
		row := c.measure(ctx, r)
		if ctx.Err() != nil {
			break // the row is incomplete
		}
		fmt.Fprintln(table, r.String()+"\t"+row)
	}
	fmt.Fprintf(table, legend, *limit, fewest)
	if c.keep != nil {
		fmt.Fprint(table, keepLegend)
	}
	return errors.Join(table.Flush(), context.Cause(ctx))
}
