// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/test/e2e/transport"
)

const (
	controllerRuntime = "sigs.k8s.io/controller-runtime"
	theirImport       = `"k8s.io/client-go/tools/cache"`
	ourImport         = `"github.com/kinformer/cache"`

	// upstreamPatience bounds the build and run of controller-runtime's tests, which take about a
	// minute. fetchPatience bounds the download of further requirements missing in the module cache.
	upstreamPatience = 2 * time.Hour
	fetchPatience    = 5 * time.Minute
)

// upstreamPackages are the packages with tests of caches and informers.
var upstreamPackages = []string{"./pkg/cache/...", "./pkg/source/...", "./pkg/internal/source/..."}

// TestControllerRuntimesOwnTests runs controller-runtime's own tests of caches and sources, including
// its exported ones, on the embedded API server. They are copied from the module cache. Changed are
// only the import of tools/cache, the attempts of five tests (retryUpstream) and, with KINFORMER_TAPPED,
// one line for each config that puts direct.Transport below its clients.
func TestControllerRuntimesOwnTests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), upstreamPatience)
	defer cancel()
	_, s := newStage(t)
	require.NoError(t, s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	require.NoError(t, s.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}))

	dir := t.TempDir()
	swapped := copyUpstream(t, ctx, dir)
	assert.Contains(t, swapped, "pkg/cache/internal/informers.go")
	retryUpstream(t, dir)
	if transport.Tapped() {
		tapUpstream(t, dir)
	}
	fetching, cancel := context.WithTimeoutCause(ctx, fetchPatience, errors.New("modules are not in the module cache, and the module proxy does not answer"))
	defer cancel()
	goCommand(t, fetching, dir, nil, append([]string{"list", "-mod=mod", "-deps", "-test"}, upstreamPackages...)...)
	env := []string{"USE_EXISTING_CLUSTER=true", "KUBECONFIG=" + s.Kubeconfig(), "GINKGO_NO_COLOR=TRUE", "GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT=30s"}
	out := goCommand(t, ctx, dir, env, append([]string{"test", "-v", "-mod=mod", "-vet=off", "-timeout=2h"}, upstreamPackages...)...)
	for _, folder := range []string{"cache", "source", "internal/source"} {
		assert.Contains(t, out, "ok  \t"+controllerRuntime+"/pkg/"+folder+"\t")
	}
	suites := regexp.MustCompile(`(\d+) Passed \| 0 Failed \|(?: \d+ Flaked \|)? \d+ Pending \| 0 Skipped`).FindAllString(out, -1)
	assert.Len(t, suites, 4, "cache, cache/internal, source, internal/source; what is pending is so upstream")
	if transport.Tapped() {
		taken := regexp.MustCompile(`direct\.Transport has taken ([1-9]\d*) bodies`).FindAllStringSubmatch(out, -1)
		require.Len(t, taken, len(configured), "in each suite that has a server")
		for _, match := range taken {
			n, err := strconv.ParseInt(match[1], 10, 64)
			require.NoError(t, err)
			transport.AddTaken(n)
			t.Log(match[0])
		}
	}
	t.Log(suites)
}

// cancelled matches the end of the description of a test that waits for an informer with an ended context.
var cancelled = regexp.MustCompile(`cancelled", `)

// retryUpstream gives five attempts to each test that waits for an informer with an ended context. Such a
// test expects an error. It gets none if the informer has listed before the first call of HasSynced, with
// client-go's informers as well.
func retryUpstream(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "pkg", "cache", "cache_test.go")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, cancelled.FindAll(text, -1), 5)
	require.NoError(t, os.WriteFile(path, cancelled.ReplaceAll(text, []byte("${0}FlakeAttempts(5), ")), 0o644))
}

// configured are the suites with a config of the server, and aConfig matches the call that returns it.
var (
	configured = []string{"pkg/cache/cache_suite_test.go", "pkg/source/source_suite_test.go"}
	aConfig    = regexp.MustCompile(`(\w+), err = testenv\.Start\(\)\n`)
)

// tapUpstream puts direct.Transport below the clients of the suites' configs, and makes the suites print
// the number of bodies it has taken over.
func tapUpstream(t *testing.T, dir string) {
	t.Helper()
	from, to := filepath.Join("..", "..", "e2e", "transport"), filepath.Join(dir, "pkg", "internal", "transport")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	for _, suite := range configured {
		path := filepath.Join(dir, filepath.FromSlash(suite))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		src := aConfig.ReplaceAllString(string(text), "${0}\tExpect(err).NotTo(HaveOccurred())\n\ttransport.Direct(${1})\n")
		require.NotEqual(t, string(text), src)
		src = strings.Replace(src, "import (\n", "import (\n\t\"fmt\"\n\t\""+controllerRuntime+"/pkg/internal/transport\"\n", 1)
		src += `
var _ = ReportAfterSuite("taken", func(Report) { fmt.Printf("direct.Transport has taken %d bodies\n", transport.Taken()) })
`
		require.NoError(t, os.WriteFile(path, []byte(src), 0o644))
	}
}

// copyUpstream makes dir a copy of controller-runtime that imports kinformer, and returns the changed
// files.
func copyUpstream(t *testing.T, ctx context.Context, dir string) (swapped []string) {
	t.Helper()
	from := os.DirFS(strings.TrimSpace(goCommand(t, ctx, ".", nil, "list", "-m", "-f", "{{.Dir}}", controllerRuntime)))
	require.NoError(t, fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || (filepath.Ext(path) != ".go" && filepath.Dir(path) != ".") {
			return err
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		src := strings.ReplaceAll(string(text), theirImport, ourImport)
		if src != string(text) {
			swapped = append(swapped, path)
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(src), 0o644))
	}))
	addSums(t, filepath.Join(dir, "go.sum"), "go.sum")
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	goCommand(t, ctx, dir, nil, "mod", "edit", "-require=github.com/kinformer/cache@v0.0.0", "-replace=github.com/kinformer/cache="+root)
	return swapped
}

// addSums adds the lines of one go.sum to another, so that no checksum is requested over the network.
func addSums(t *testing.T, to, from string) {
	t.Helper()
	var lines []string
	for _, path := range []string{to, from} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines = slices.AppendSeq(lines, strings.Lines(string(text)))
	}
	slices.Sort(lines)
	require.NoError(t, os.WriteFile(to, []byte(strings.Join(slices.Compact(lines), "")), 0o644))
}

// goCommand runs the go command with additional environment and returns its output.
func goCommand(t *testing.T, ctx context.Context, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command passes it on to the tests
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), errors.Join(err, context.Cause(ctx)))
	}
	require.NoError(t, err, "%s", out)
	return string(out)
}
