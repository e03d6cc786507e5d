// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Command apiserver runs the API server of package apiserver in a process of its own. It prints its
// endpoint as JSON, and serves until it gets SIGTERM or SIGINT or its standard input ends.
//
// By hand: run "apiserver -data-dir=/tmp/kinformer", then in another terminal
// KUBECONFIG=/tmp/kinformer/admin.kubeconfig kubectl get nodes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/apiserver/embedded"
)

func main() {
	var opts apiserver.Options
	flag.StringVar(&opts.DataDir, "data-dir", "kinformer-apiserver", "folder of etcd, certificate and kubeconfig file")
	flag.IntVar(&opts.Port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	flag.BoolVar(&opts.DisableWatchCache, "disable-watch-cache", false, "read everything from etcd")
	flag.StringVar(&opts.FeatureGates, "feature-gates", "", "as of kube-apiserver")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	err := os.MkdirAll(opts.DataDir, 0o700)
	if err == nil {
		err = embedded.Run(ctx, opts, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}
