// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package mixing

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/conformance/internal/prune"
	"github.com/kinformer/cache/conformance/internal/rewrite"
)

const (
	clientGoCache = "k8s.io/client-go/tools/cache"
	copyModule    = "mixing.kinformer.example"
)

// packages are packages of real modules that make or use informers and have tests of their own.
var packages = []struct{ module, folder string }{
	{"k8s.io/client-go", "dynamic/dynamicinformer"},
	{"k8s.io/client-go", "dynamic/dynamiclister"},
	{"k8s.io/client-go", "metadata/metadatainformer"},
	{"k8s.io/client-go", "metadata/metadatalister"},
	{"k8s.io/client-go", "tools/watch"},
}

// TestPackagesOfOthers copies packages, with kinformer in the place of client-go's tools/cache, and runs their tests.
func TestPackagesOfOthers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	newModule(t, ctx, dir)
	rules := rewrite.Rules{Imports: map[string]string{clientGoCache: "github.com/kinformer/cache"}}
	for _, p := range packages {
		rules.Imports[p.module+"/"+p.folder] = copyModule + "/" + p.folder
	}
	for _, p := range packages {
		from := strings.TrimSpace(goCommand(t, ctx, dir, "list", "-m", "-f", "{{.Dir}}", p.module))
		assert.NotZero(t, copyPackage(t, rules, filepath.Join(from, p.folder), filepath.Join(dir, p.folder)),
			"%s does not import tools/cache", p.folder)
	}
	for _, p := range packages {
		t.Run(p.folder, func(t *testing.T) {
			out := goCommand(t, ctx, dir, "test", "-vet=off", "-timeout=2m", "./"+p.folder)
			assert.Contains(t, out, "ok")
			assert.NotContains(t, out, "no test files")
		})
	}
}

// newModule makes a module in dir with the requirements of this one.
func newModule(t *testing.T, ctx context.Context, dir string) {
	t.Helper()
	home := strings.TrimSpace(goCommand(t, ctx, ".", "list", "-m", "-f", "{{.Dir}}"))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(home, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	goCommand(t, ctx, dir, "mod", "edit", "-module="+copyModule, "-replace=github.com/kinformer/cache="+filepath.Dir(home))
}

// copyPackage copies the Go files of a folder and returns how many of them now import kinformer.
func copyPackage(t *testing.T, rules rewrite.Rules, from, to string) int {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	paths, err := filepath.Glob(filepath.Join(from, "*.go"))
	require.NoError(t, err)
	swapped := 0
	for _, path := range paths {
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		file, _, err := rules.File(prune.File{Name: filepath.Base(path), Src: src})
		require.NoError(t, err)
		if strings.Contains(string(file.Src), `"github.com/kinformer/cache"`) {
			swapped++
		}
		assert.NotContains(t, string(file.Src), `"`+clientGoCache+`"`)
		require.NoError(t, os.WriteFile(filepath.Join(to, file.Name), file.Src, 0o644))
	}
	return swapped
}

func goCommand(t *testing.T, ctx context.Context, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
