// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinked checks what README.md promises: programs that import this module link no module that
// client-go does not require, and no assembly, cgo or go:linkname of ours.
func TestLinked(t *testing.T) {
	theirs, err := os.ReadFile(strings.TrimSpace(goList(t, "-m", "-f", "{{.GoMod}}", "k8s.io/client-go")))
	require.NoError(t, err)
	allowed := append(found(theirs, `(?m)^\t(\S+) v`), modulePath, "k8s.io/client-go")
	root := strings.TrimSpace(goList(t, "-m", "-f", "{{.Dir}}"))
	var public []string
	for _, path := range strings.Fields(goList(t, "./...")) {
		if !strings.HasPrefix(path, modulePath+"/internal/") {
			public = append(public, path)
		}
	}
	const format = `{{with .Module}}{{.Path}}{{if eq .Path "` + modulePath + `"}}{{range $.GoFiles}} {{$.Dir}}/{{.}}{{end}}{{range $.SFiles}} {{.}}{{end}}` +
		`{{range $.CgoFiles}} {{.}}{{end}}{{end}}{{end}}`
	for line := range strings.Lines(goList(t, append([]string{"-deps", "-f", format}, public...)...)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		assert.Contains(t, allowed, words[0], "client-go does not require it")
		for _, file := range words[1:] {
			text, err := os.ReadFile(file)
			require.NoError(t, err, "%s is assembly, or cgo", file)
			assert.NotContains(t, string(text), "\n//go:linkname", file)
			if strings.Contains(string(text), "\n\t\"unsafe\"\n") {
				assert.Contains(t, withUnsafe, strings.TrimPrefix(filepath.Dir(file), root+"/"), "%s imports unsafe: see docs/unsafe.md", file)
			}
		}
	}
}

// withUnsafe are the packages that may import unsafe: docs/unsafe.md has the reasons.
var withUnsafe = []string{"internal/decode/mem", "internal/provider", "internal/table"}

// withoutDirect are the packages that must not bring the decoders into a program: all public ones but direct, which
// installs them, and audit, which lists with them.
var withoutDirect = []string{"", "cachetest", "debug", "factory", "inspect", "kinformer", "retry", "sources", "synctrack", "testing", "view"}

// TestDecodersAreNotLinked: a program that imports neither package direct nor package audit has none of the code
// that reads bytes from a server, and the list of such packages is complete.
func TestDecodersAreNotLinked(t *testing.T) {
	has := func(name string) bool {
		deps := goList(t, "-deps", strings.TrimSuffix(modulePath+"/"+name, "/"))
		return strings.Contains(deps, modulePath+"/internal/decode") || strings.Contains(deps, modulePath+"/internal/tap/engine")
	}
	var with []string
	for path := range strings.FieldsSeq(goList(t, modulePath+"/...")) {
		name := strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/")
		switch {
		case slices.Contains(withoutDirect, name):
			assert.False(t, has(name), "%s links the decoders", path)
		case !strings.Contains(name, "internal/") && !strings.HasPrefix(name, "cmd/"):
			with = append(with, name)
		}
	}
	assert.ElementsMatch(t, []string{"direct", "audit"}, with)
	for _, name := range with {
		assert.True(t, has(name), name)
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return string(out)
}
