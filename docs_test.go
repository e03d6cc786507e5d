// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentsLeadSomewhere: links of the Markdown files lead to files that are there, and the
// files and folders, the targets of make, the tests and the names of this package that they name
// exist.
func TestDocumentsLeadSomewhere(t *testing.T) {
	files, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, pattern := range []string{"docs/*.md", "docs/benchmarks/*.md", "internal/*.md"} {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, more...)
	}
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	names := loadSurfaces(t, ourModule)[ourModule].pkg.Scope()
	tests := allTests(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, link := range found(text, `\]\(([^)#:]+)\)`) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), link))
			assert.NoError(t, err, "link in %s", file)
		}
		for _, path := range found(text, `(?:`+"`"+`|\s|^)(`+ourFolders+`/[\w./-]*\w)`) {
			_, err := os.Stat(path)
			assert.NoError(t, err, "%s in %s", path, file)
		}
		for _, path := range found(text, "`(\\w+\\.(?:go|mod|md))`") {
			_, err := os.Stat(path)
			assert.NoError(t, err, "%s in %s", path, file)
		}
		for _, target := range found(text, "(?:`|    )make ([a-z0-9]+)") {
			assert.NotEmpty(t, found(makefile, "(?m)^("+target+"):"), "make %s in %s", target, file)
		}
		for _, name := range found(text, `\bcache\.([A-Z]\w+)`) {
			assert.NotNil(t, names.Lookup(name), "cache.%s in %s", name, file)
		}
		for _, test := range found(text, "`(Test[A-Z]\\w+)`") {
			assert.Contains(t, tests, test, "in %s", file)
		}
	}
}

// ourFolders are those whose paths the Markdown files write from the root on.
const ourFolders = "(?:bench|cachetest|cmd|conformance|docs|e2e|examples|internal|testdata)"

// TestReasonsInDocuments: the reasons for not decoding directly that docs/direct.md explains are
// those that the Status tells.
func TestReasonsInDocuments(t *testing.T) {
	text, err := os.ReadFile("docs/direct.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n| `Why` begins with |")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n\n")
	reasons := found([]byte(section), `"([^"]+)"`)
	require.Greater(t, len(reasons), 10)
	files, err := filepath.Glob("internal/tap/*.go")
	require.NoError(t, err)
	var sources strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		sources.Write(source)
	}
	said := strings.ReplaceAll(sources.String(), `KillSwitch + " is off`, `"KINFORMER_DIRECT is off`)
	for _, reason := range reasons {
		assert.Contains(t, said, `"`+reason)
	}
}

// found returns what the expression's group matched.
func found(text []byte, expression string) (groups []string) {
	for _, match := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
		groups = append(groups, string(match[1]))
	}
	return groups
}

// allTests returns the names of the tests of all modules.
func allTests(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		names = append(names, found(text, `(?m)^func (Test[A-Z]\w+)\(`)...)
		return err
	}))
	return names
}
