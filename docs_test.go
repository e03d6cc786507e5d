// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentsLeadSomewhere: links of the Markdown files lead to files and headings that are
// there, and the files and folders, the targets of make, the programs, the tests and the names of
// our packages that they name exist. So do the names in comments.
func TestDocumentsLeadSomewhere(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	names, tests := documentedSurface(t), allTests(t)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		checkLinks(t, file, text)
		checkPaths(t, file, text)
		for _, target := range found(text, "(?:`|    )make ([a-z0-9-]+)") {
			assert.NotEmpty(t, found(makefile, "(?m)^("+target+"):"), "make %s in %s", target, file)
		}
		for _, name := range found(text, namesOfOurs) {
			assert.Contains(t, names, name, "in %s", file)
		}
		for _, test := range found(text, "`(Test[A-Z]\\w+)`") {
			assert.Contains(t, tests, test, "in %s", file)
		}
	}
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, comment := range found(text, `(?m)^\s*//(.*)$`) {
			for _, name := range found([]byte(comment), namesOfOurs) {
				assert.Contains(t, names, name, "in %s", file)
			}
		}
	}
}

// documents returns the Markdown files.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/benchmarks/*.md", "internal/*.md", "examples/*.md"} {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, more...)
	}
	return files
}

// checkLinks checks links within the repository, and those to headings.
func checkLinks(t *testing.T, file string, text []byte) {
	for _, link := range found(text, `(?:\]\(|src="|srcset=")([^)":\s]+)[)"]`) {
		path, anchor, _ := strings.Cut(link, "#")
		target := file
		if path != "" {
			target = filepath.Join(filepath.Dir(file), path)
		}
		content, err := os.ReadFile(target)
		if errors.Is(err, syscall.EISDIR) {
			continue
		}
		if assert.NoError(t, err, "link in %s", file) && anchor != "" {
			assert.Contains(t, anchors(content), anchor, "link in %s to %s", file, target)
		}
	}
}

// anchors returns what GitHub calls the headings of a file.
func anchors(text []byte) (names []string) {
	for _, heading := range found(text, `(?m)^#+ (.+)$`) {
		name := strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
		names = append(names, regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, ""))
	}
	return names
}

// checkPaths checks the files and folders that a document names.
func checkPaths(t *testing.T, file string, text []byte) {
	paths := found(text, `(?:`+"`"+`|\s|^)(`+ourFolders+`/[\w./-]*\w)`)
	paths = append(paths, found(text, "`(\\w+\\.(?:go|mod|md))`")...)
	paths = append(paths, found(text, `go run `+modulePath+`/([\w/-]+)`)...)
	for _, command := range regexp.MustCompile(`cd ([\w/]+) && go run (?:-\S+ )*\./([\w/-]+)`).FindAllSubmatch(text, -1) {
		paths = append(paths, filepath.Join(string(command[1]), string(command[2])))
	}
	for _, path := range paths {
		_, err := os.Stat(path)
		assert.NoError(t, err, "%s in %s", path, file)
	}
}

// namedPackages are the packages of this module whose names are looked up.
var namedPackages = []string{"cache", "factory", "direct", "debug", "audit", "cachetest"}

// namesOfOurs matches the exported names of these packages.
var namesOfOurs = `\b((?:` + strings.Join(namedPackages, "|") + `)\.[A-Z]\w+)`

// documentedSurface returns the exported names of these packages, as a document writes them.
func documentedSurface(t *testing.T) (names []string) {
	t.Helper()
	var paths []string
	for _, name := range namedPackages {
		paths = append(paths, path.Join(modulePath, name))
	}
	paths[0] = modulePath // package cache
	surfaces := loadSurfaces(t, paths...)
	for i, path := range paths {
		for _, name := range surfaces[path].pkg.Scope().Names() {
			names = append(names, namedPackages[i]+"."+name)
		}
	}
	return names
}

// ourFolders are those whose paths the Markdown files write from the root on.
const ourFolders = "(?:bench|cachetest|cmd|conformance|docs|e2e|examples|internal|testdata)"

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
