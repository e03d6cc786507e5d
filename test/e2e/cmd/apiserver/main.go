// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Command apiserver runs the API server of package apiserver until it receives SIGTERM or SIGINT or its
// standard input ends. It prints the server's URL and the path of its kubeconfig file:
//
//	$ apiserver -data-dir=/tmp/kinformer
//	READY https://127.0.0.1:6443, kubeconfig /tmp/kinformer/admin.kubeconfig
//
// In another terminal: KUBECONFIG=/tmp/kinformer/admin.kubeconfig kubectl get nodes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/apiserver/embedded"
)

func main() {
	var opts apiserver.Options
	flag.StringVar(&opts.DataDir, "data-dir", "kinformer-apiserver", "folder of etcd, certificate and kubeconfig file")
	flag.IntVar(&opts.Port, "port", -1, "port on 127.0.0.1, 0 for a free one (default: that of the last start with this folder, else 6443, or a free one if that is taken)")
	inJSON := flag.Bool("json", false, "print the endpoint with its token as JSON, for programs")
	flag.BoolVar(&opts.DisableWatchCache, "disable-watch-cache", false, "read everything from etcd")
	flag.BoolVar(&opts.RBAC, "rbac", false, "let users do only what roles allow that are bound to them, and the administrator everything")
	flag.StringVar(&opts.FeatureGates, "feature-gates", "", "as of kube-apiserver")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if opts.Port < 0 {
		opts.Port = usualPort(opts.DataDir)
	}
	ready := func(e apiserver.Endpoint) error {
		if *inJSON {
			return json.NewEncoder(os.Stdout).Encode(e)
		}
		_, err := fmt.Printf("READY %s, kubeconfig %s\n", e.URL, apiserver.Kubeconfig(opts.DataDir))
		return err
	}
	err := os.MkdirAll(opts.DataDir, 0o700)
	if err == nil {
		err = embedded.Run(ctx, opts, os.Stdin, os.Stdout, ready)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

// usualPort returns the port of the last start with the folder dir, so that clients reconnect. Without
// one it returns 6443 if that port is free, else 0.
func usualPort(dir string) int {
	if last, err := clientcmd.LoadFromFile(apiserver.Kubeconfig(dir)); err == nil {
		for _, cluster := range last.Clusters {
			if u, err := url.Parse(cluster.Server); err == nil {
				if port, err := strconv.Atoi(u.Port()); err == nil {
					return port
				}
			}
		}
	}
	const usual = 6443
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", usual))
	if err != nil {
		return 0
	}
	_ = l.Close() // it only tested the port
	return usual
}
