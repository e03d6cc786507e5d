// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Command apiserver runs the API server of package apiserver in a process of
// its own. It prints what it does, then one line that starts with READY and
// goes on with the endpoint as JSON, and it serves until it gets SIGTERM or
// SIGINT or its standard input ends.
//
// By hand: run "apiserver -data-dir=/tmp/kinformer", then in another terminal
// KUBECONFIG=/tmp/kinformer/admin.kubeconfig kubectl get nodes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/apiserver/embedded"
)

// stopTimeout bounds a graceful stop, which takes a second or two on a machine that is not busy.
const stopTimeout = time.Minute

func main() {
	opts, err := parseFlags(os.Args[1:])
	if err != nil {
		os.Exit(2) // the flag package has said why
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (apiserver.Options, error) {
	opts := apiserver.Options{Log: os.Stdout}
	fs := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	fs.StringVar(&opts.DataDir, "data-dir", "", "folder of etcd, certificate, tokens and kubeconfig files (default: a temporary one)")
	fs.IntVar(&opts.Port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	fs.BoolVar(&opts.DisableWatchCache, "disable-watch-cache", false, "read everything from etcd")
	fs.IntVar(&opts.MaxRequestsInFlight, "max-requests-in-flight", 0, "reads at a time before 429 (default 400)")
	fs.IntVar(&opts.MaxMutatingRequestsInFlight, "max-mutating-requests-in-flight", 0, "writes at a time before 429 (default 200)")
	fs.StringVar(&opts.StorageMediaType, "storage-media-type", apiserver.StorageProtobuf, "format of built-in objects in etcd")
	klog.InitFlags(fs)
	return opts, fs.Parse(args)
}

// run serves until ctx or standard input ends.
func run(ctx context.Context, opts apiserver.Options) error {
	srv, err := embedded.Start(ctx, opts)
	if err != nil {
		return err
	}
	if err := apiserver.WriteReady(os.Stdout, srv.Endpoint()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-ended(os.Stdin):
	case <-srv.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return srv.Stop(stopCtx)
}

// ended returns a channel that is closed when r has no more to read.
func ended(r io.Reader) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// An error ends the input just as well.
		_, _ = io.Copy(io.Discard, r)
	}()
	return done
}
