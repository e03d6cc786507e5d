// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"
)

// versionOf is the version of client-go, or the commit of the working directory.
func versionOf(ctx context.Context, side string) string {
	if side != "client-go" {
		return revision(ctx)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "k8s.io/client-go" {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

// revision asks git, because `go run` leaves the commit out of the program.
func revision(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "working tree"
	}
	return strings.TrimSpace(string(out))
}
