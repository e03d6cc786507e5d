// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// BinaryEnv is the environment variable that names a built server binary.
const BinaryEnv = "KINFORMER_APISERVER"

const binaryPackage = "github.com/kinformer/cache/e2e/cmd/apiserver"

// building keeps the servers of one process from building at the same time.
var building sync.Mutex

// build builds the server binary in dir by "go build", without the race
// detector, and returns its path. The working directory must be in a module
// that knows the module github.com/kinformer/cache/e2e. The first build
// compiles k8s.io/apiserver and etcd and takes minutes; when nothing has
// changed, a second one takes a second or two. log receives a
// line that says so.
func build(ctx context.Context, dir string, log io.Writer) (string, error) {
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(dir, "kinformer-apiserver")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	fmt.Fprintf(log, "apiserver: building %s (the first build takes minutes)\n", path)
	cmd := exec.CommandContext(ctx, "go", "build", "-race=false", "-o", path, binaryPackage)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of the API server: %w\n%s", err, out)
	}
	return path, nil
}

// findBinary returns the first of Options.Binary, BinaryEnv and a build.
func findBinary(ctx context.Context, o Options) (string, error) {
	for _, path := range []string{o.Binary, os.Getenv(BinaryEnv)} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("binary of the API server: %w", err)
		}
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder to build in: %w", err)
	}
	return build(ctx, filepath.Join(cache, "kinformer"), o.Log)
}
