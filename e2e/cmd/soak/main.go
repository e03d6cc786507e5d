// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command soak runs package soak for the given duration, prints its progress and a summary, and fails if
// there was a violation. "soak -library client-go" runs it on client-go's informers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinformer/cache/e2e/soak"
)

func main() {
	config := soak.Default()
	config.Out = os.Stdout
	config.Register(flag.CommandLine)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	summary, err := soak.Run(ctx, config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if len(summary.Violated) > 0 {
		os.Exit(3)
	}
}
