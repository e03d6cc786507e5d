// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// migrationCommand returns what a section of docs/migration.md says to run, apart from what the go
// command does.
func migrationCommand(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("docs/migration.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var command []string
	for line := range strings.Lines(section) {
		if line, indented := strings.CutPrefix(line, "    "); indented && !strings.HasPrefix(line, "go ") {
			command = append(command, line)
		}
	}
	require.NotEmpty(t, command)
	return strings.Join(command, "")
}

// sedOfMacOS is a sed that wants what the one of macOS and the BSDs wants: a suffix for the files
// as they were, next to -i.
const sedOfMacOS = `#!/bin/sh
if [ "$1" = -i ]; then echo "sed: -i needs a suffix" >&2; exit 1; fi
exec REAL "$@"
`

// TestMigrationCommand runs the commands of docs/migration.md, there and back: they change imports
// and nothing else, leave vendor/ alone and no file behind, and need nothing that macOS has not.
func TestMigrationCommand(t *testing.T) {
	sed, err := exec.LookPath("sed")
	if err != nil {
		t.Skip(err)
	}
	tools := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "sed"), []byte(strings.Replace(sedOfMacOS, "REAL", sed, 1)), 0o755))
	const theirs, ours = "k8s.io/client-go/tools/cache", "github.com/kinformer/cache"
	imports := func(path string) string {
		return "package p\n\nimport (\n\t\"" + path + "\"\n\t\"" + path + "/synctrack\"\n\tf \"" + path + "/testing\"\n\t\"k8s.io/client-go/tools/record\"\n" +
			"\t\"" + ours + "/factory\"\n)\n\n// See " + theirs + " and " + ours + ".\n"
	}
	before := map[string]string{
		"p.go": imports(theirs), "sub/dir/q.go": imports(theirs), "other.go": "package p\n", "notes.md": "\"" + theirs + "\"\n",
		"vendor/k8s.io/client-go/informers/i.go": imports(theirs), "sub/vendor/v.go": imports(theirs),
	}
	dir := t.TempDir()
	run := func(command string) {
		c := exec.Command("bash", "-e", "-o", "pipefail", "-c", command)
		c.Dir, c.Env = dir, append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for name, text := range before {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	run(migrationCommand(t, "The import line"))
	after := maps.Clone(before)
	after["p.go"], after["sub/dir/q.go"] = imports(ours), imports(ours)
	assert.Equal(t, after, readTree(t, dir))

	run(migrationCommand(t, "The way back"))
	assert.Equal(t, before, readTree(t, dir), "packages of ours alone stay imported")
}

func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return files
}
