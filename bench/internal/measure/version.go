// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"
)

// The modules that are compared.
const (
	ClientGo  = "k8s.io/client-go"
	Kinformer = "github.com/kinformer/cache"
)

// Version returns the version of a module in this program. One that go.mod takes from the folder
// beside it has none: that is the commit of the working directory.
func Version(ctx context.Context, module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	version, beside := versionIn(info, module)
	if beside {
		return revision(ctx)
	}
	return version
}

const unknownVersion = "unknown"

// versionIn returns the version of a module in a program, or says that it is of the folder beside.
func versionIn(info *debug.BuildInfo, module string) (version string, beside bool) {
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version, dependency.Replace != nil
		}
	}
	return unknownVersion, false
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
