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

// version is the version of a module in this program. Of the module that the
// program itself is part of, it is the commit of the working directory.
func version(ctx context.Context, module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if module == info.Main.Path {
		return revision(ctx)
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
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
