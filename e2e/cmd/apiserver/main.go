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

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/apiserver/embedded"
)

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
	klog.InitFlags(fs)
	return opts, fs.Parse(args)
}

// run serves until ctx or standard input ends.
func run(ctx context.Context, opts apiserver.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // an error ends the input just as well
	}()
	if opts.DataDir == "" {
		dir, err := os.MkdirTemp("", "kinformer-apiserver-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		opts.DataDir = dir
	}
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
		return err
	}
	return embedded.Run(ctx, opts, func(ep apiserver.Endpoint) error { return apiserver.WriteReady(os.Stdout, ep) })
}
