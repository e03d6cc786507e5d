// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"os/exec"
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
		}
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return string(out)
}
