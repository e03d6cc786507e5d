// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

var templates = regexp.MustCompile(`(?m)^(html|text)/template.*`)

// TestNoTemplates: the package links no template package, which would keep every exported method of
// a program.
func TestNoTemplates(t *testing.T) {
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	assert.Contains(t, string(deps), "net/http\n")
	assert.Empty(t, templates.FindAllString(string(deps), -1))
}

// mostAdded is the size that the page may add to a program without debug information.
const mostAdded = 300 << 10

// TestSize: the page adds little to a program with the clients of Kubernetes. No function that the
// page brings looks up methods by reflection, for then the linker keeps all exported methods.
func TestSize(t *testing.T) {
	testkit.AtNight(t) // links two programs
	plain, _ := built(t)
	withPage, kept := built(t, "-tags=page")
	t.Logf("%d bytes without the page, %d more with it", plain, withPage-plain)
	assert.Greater(t, withPage, plain)
	assert.LessOrEqual(t, withPage-plain, int64(mostAdded))
	assert.Empty(t, kept, "these look up methods by reflection")
}

var reflected = regexp.MustCompile(`(\S+) <ReflectMethod>`)

// built builds the program of testdata, and returns its size and the functions that look up methods
// by reflection.
func built(t *testing.T, flags ...string) (size int64, kept []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-ldflags=-s -w -dumpdep", "-o", program}, append(flags, "./testdata/size")...)...)
	var log bytes.Buffer
	build.Stderr = &log
	require.NoError(t, build.Run(), "%s", log.String()[:min(log.Len(), 1000)])
	for _, match := range reflected.FindAllStringSubmatch(log.String(), -1) {
		kept = append(kept, match[1])
	}
	info, err := os.Stat(program)
	require.NoError(t, err)
	return info.Size(), kept
}
