// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package mixing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	clientGoCache = "k8s.io/client-go/tools/cache"
	copyModule    = "mixing.kinformer.example"

	// patience bounds a module's tests, and fetchPatience the download of a module missing in the module
	// cache.
	patience      = 2 * time.Hour
	fetchPatience = 5 * time.Minute
)

// modules are real modules, each with packages that create or use informers and have tests.
var modules = []struct {
	path    string // at the version of client-go
	folders []string
}{
	{"k8s.io/client-go", []string{
		"dynamic/dynamicinformer", "dynamic/dynamiclister", "metadata/metadatainformer", "metadata/metadatalister", "tools/watch",
	}},
	{"k8s.io/cloud-provider", []string{"controllers/service", "controllers/node"}},
}

// TestPackagesOfOthers copies packages, replaces client-go's tools/cache by kinformer, and runs their
// tests.
func TestPackagesOfOthers(t *testing.T) {
	for _, m := range modules {
		t.Run(m.path, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			dir := t.TempDir()
			version := strings.TrimSpace(goCommand(t, ctx, ".", "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go"))
			from := newModule(t, ctx, dir, m.path+"@"+version)
			swaps := []string{`"` + clientGoCache + `"`, `"github.com/kinformer/cache"`}
			args := []string{"test", "-mod=mod", "-vet=off", "-timeout=2h"}
			for _, folder := range m.folders {
				swaps = append(swaps, `"`+m.path+"/"+folder+`"`, `"`+copyModule+"/"+folder+`"`)
				args = append(args, "./"+folder)
			}
			for _, folder := range m.folders {
				assert.NotZero(t, copyPackage(t, strings.NewReplacer(swaps...), filepath.Join(from, folder), filepath.Join(dir, folder)),
					"%s does not import tools/cache", folder)
			}
			out, err := tryGo(ctx, dir, args...)
			if err != nil {
				// Some of these tests assume that a watch is open once the first list is complete, and
				// miss writes in between. An error of kinformer would occur again.
				t.Log("once more: ", err)
				out, err = tryGo(ctx, dir, args...)
			}
			require.NoError(t, err)
			for _, folder := range m.folders {
				assert.Contains(t, out, "ok  \t"+copyModule+"/"+folder)
			}
			assert.NotContains(t, out, "[no test")
		})
	}
}

// newModule creates a module in dir that requires the module other and all its requirements, and returns
// the folder of other.
func newModule(t *testing.T, ctx context.Context, dir, other string) string {
	t.Helper()
	var downloaded struct{ Dir string }
	fetching, cancel := context.WithTimeoutCause(ctx, fetchPatience, errors.New("not in the module cache, and the module proxy does not answer"))
	defer cancel()
	require.NoError(t, json.Unmarshal([]byte(goCommand(t, fetching, ".", "mod", "download", "-json", other)), &downloaded))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(downloaded.Dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	home := strings.TrimSpace(goCommand(t, ctx, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/kinformer/cache"))
	goCommand(t, ctx, dir, "mod", "edit", "-module="+copyModule, "-require="+other,
		"-require=github.com/kinformer/cache@v0.0.0", "-replace=github.com/kinformer/cache="+home)
	return downloaded.Dir
}

// copyPackage copies the Go files of a folder and returns the number of files that import kinformer.
func copyPackage(t *testing.T, imports *strings.Replacer, from, to string) int {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	paths, err := filepath.Glob(filepath.Join(from, "*.go"))
	require.NoError(t, err)
	swapped := 0
	for _, path := range paths {
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		text := imports.Replace(string(src))
		if strings.Contains(text, `"github.com/kinformer/cache"`) {
			swapped++
		}
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(path)), []byte(text), 0o644))
	}
	return swapped
}

// goCommand returns the standard output of the go command, which must succeed.
func goCommand(t *testing.T, ctx context.Context, dir string, args ...string) string {
	t.Helper()
	out, err := tryGo(ctx, dir, args...)
	require.NoError(t, err)
	return out
}

// tryGo runs the go command and returns its standard output. The error contains all output. When ctx
// ends, the command is interrupted; ten seconds later it is killed, and the programs it runs are no
// longer awaited.
func tryGo(ctx context.Context, dir string, args ...string) (string, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, &complaints
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), errors.Join(err, context.Cause(ctx)), out, complaints.String())
	}
	return string(out), err
}
