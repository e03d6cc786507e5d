// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"errors"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentsLeadSomewhere: links in Markdown files lead to existing files and headings. The
// files, folders, tests and names of our packages that they mention exist. The same holds for names
// in comments.
func TestDocumentsLeadSomewhere(t *testing.T) {
	names, tests := exportedOf(t, append([]string{"", "internal/sources"}, besidePackages...)...), allTests(t)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		checkLinks(t, file, text)
		checkPaths(t, file, text)
		for _, name := range found(text, namesOfOurs) {
			assert.Contains(t, names, name, "in %s", file)
		}
		for _, test := range found(text, "`((?:Test|Fuzz)[A-Z]\\w+)`") {
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

// anchors returns the anchors that GitHub makes for the headings of a file.
func anchors(text []byte) (names []string) {
	for _, heading := range found(text, `(?m)^#+ (.+)$`) {
		name := strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
		names = append(names, regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, ""))
	}
	return names
}

// checkPaths checks the files and folders that a document mentions.
func checkPaths(t *testing.T, file string, text []byte) {
	paths := found(text, `(?:`+"`"+`|\s|^)(`+ourFolders+`/[\w./-]*\w)`)
	paths = append(paths, found(text, "`(\\w+\\.(?:go|mod|md))`")...)
	for _, path := range paths {
		if strings.HasPrefix(path, "tools/cache") { // client-go's
			continue
		}
		_, err := os.Stat(path)
		assert.NoError(t, err, "%s in %s", path, file)
	}
}

// namesOfOurs matches the exported names of the packages for users, of which the root is named cache.
var namesOfOurs = `\b((?:cache|` + strings.Join(besidePackages, "|") + `)\.[A-Z]\w+)`

// ourFolders are the folders whose paths in Markdown files are relative to the root.
const ourFolders = "(?:adapters|cachetest|cmd|docs|examples|internal|test|testdata|tools)"

// found returns the matches of the expression's group.
func found(text []byte, expression string) (groups []string) {
	for _, match := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
		groups = append(groups, string(match[1]))
	}
	return groups
}

// allTests returns the names of the tests and fuzz targets of all modules.
func allTests(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		names = append(names, found(text, `(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)...)
		return err
	}))
	return names
}

// migrationCommand returns the commands in a section of docs/migration.md, without those of the go
// tool.
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

// TestReplacements: docs/migration.md has a row for each exported name that client-go does not have, or for its
// package as a whole. Names of client-go's next minor have one, too.
func TestReplacements(t *testing.T) {
	names := exportedOf(t, besidePackages...)
	names = append(names, readNameList(t, "testdata/surface/next.txt").names...)
	text, err := os.ReadFile("docs/migration.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "\n| kinformer | replacement | loss |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var first strings.Builder // column
	for row := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), " | ")
		first.WriteString(cell + "\n")
	}
	for _, name := range names {
		of, _, _ := strings.Cut(name, ".")
		row := regexp.MustCompile("`" + regexp.QuoteMeta(name) + "\\b|\\bpackages? (`\\w+` and )?`" + of + "`")
		assert.True(t, row.MatchString(first.String()), "docs/migration.md has no row for %s", name)
	}
}

// sedOfMacOS is a sed that requires a backup suffix after -i, as macOS and the BSDs do.
const sedOfMacOS = `#!/bin/sh
if [ "$1" = -i ]; then echo "sed: -i needs a suffix" >&2; exit 1; fi
exec REAL "$@"
`

// TestMigrationCommand runs the commands of docs/migration.md in both directions: they change only
// imports, in the order of gofmt, leave vendor/ alone, leave no other file behind, and need nothing
// that macOS lacks.
func TestMigrationCommand(t *testing.T) {
	sed, err := exec.LookPath("sed")
	if err != nil {
		t.Skip(err)
	}
	tools := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "sed"), []byte(strings.Replace(sedOfMacOS, "REAL", sed, 1)), 0o755))
	const theirs, ours = "k8s.io/client-go/tools/cache", "github.com/kinformer/cache"
	imports := func(path string) string {
		source, err := format.Source([]byte("package p\n\nimport (\n\t\"" + path + "\"\n\t\"" + path + "/synctrack\"\n\tf \"" + path + "/testing\"\n" +
			"\t\"k8s.io/client-go/tools/record\"\n\t\"" + ours + "/factory\"\n)\n\n// See " + theirs + " and " + ours + ".\n"))
		require.NoError(t, err)
		return string(source)
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

	run(migrationCommand(t, "Going back to client-go"))
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

var updateFigures = flag.Bool("figures.update", false, "take the figures of README.md over from docs/benchmarks")

// figureRow is a row of a table of figures in README.md: a text, three figures, and their source.
var figureRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\|([^|]+)\\|([^|]+)\\|([^|]+)\\| `([a-z]+/[\\w/-]+)`: ([^|]+) \\|$")

// TestFiguresInReadme: the figures of README.md are those of docs/benchmarks, and its charts are
// drawn from them. make charts updates both.
func TestFiguresInReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	measured := measuredFigures(t)
	var count int
	want := figureRow.ReplaceAllStringFunc(string(readme), func(line string) string {
		count++
		cells := figureRow.FindStringSubmatch(line)
		figures, ok := measured[cells[5]+": "+cells[6]]
		assert.True(t, ok, "docs/benchmarks has no row %s with a measure %q", cells[5], cells[6])
		return fmt.Sprintf("| %s | %s | %s | %s | `%s`: %s |", cells[1], figures[0], figures[1], figures[2], cells[5], cells[6])
	})
	require.Equal(t, 8, count)
	if *updateFigures {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(readme))
	for _, file := range []string{"docs/pictures/figures-light.svg", "docs/pictures/figures-dark.svg"} {
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, cells := range figureRow.FindAllStringSubmatch(string(readme), -1) {
			for _, text := range []string{cells[1], strings.TrimSpace(cells[2]) + " → " + strings.TrimSpace(cells[3])} {
				assert.Contains(t, string(picture), ">"+strings.ReplaceAll(text, "`", "")+"<", file)
			}
		}
	}
}

// measuredFigures returns client-go's figure, ours, and the ratio, for each "row: measure" of
// docs/benchmarks: medians of components, and clusters and Kubernetes with direct and ShareParts.
func measuredFigures(t *testing.T) map[string][3]string {
	t.Helper()
	figures, row := map[string][3]string{}, ""
	for _, cells := range tableRows(t, "docs/benchmarks/README.md", 6) {
		if name := strings.Trim(cells[0], "` "); name != "" {
			row = name
		}
		median := func(cell string) string { return strings.SplitN(cell, " (", 2)[0] }
		figures[row+": "+cells[2]] = [3]string{median(cells[3]), median(cells[4]), cells[5]}
	}
	for _, cells := range tableRows(t, "docs/benchmarks/kubernetes.md", 3) {
		figures["kubernetes/shared: "+cells[0]] = withRatio(cells[1], cells[2])
	}
	maps.Copy(figures, clusterFigures(t))
	return figures
}

// clusterFigures returns the figures of docs/benchmarks/cluster.md, with rows such as
// "cluster/json-10000".
func clusterFigures(t *testing.T) map[string][3]string {
	t.Helper()
	const client, shared = "client-go", "kinformer, decoding directly, sharing"
	figures, encoding, measures, theirs := map[string][3]string{}, "", []string(nil), []string(nil)
	for _, cells := range tableRows(t, "docs/benchmarks/cluster.md", 0) {
		switch heading, isHeading := strings.CutPrefix(cells[0], "## "); {
		case isHeading:
			encoding, _, _ = strings.Cut(heading, ",")
		case cells[0] == "nodes":
			measures = cells
		case len(cells) == len(measures) && cells[1] == client:
			theirs = cells
		case len(cells) == len(measures) && cells[1] == shared && theirs[0] == cells[0]:
			for i := 2; i < len(cells); i++ {
				figures["cluster/"+encoding+"-"+cells[0]+": "+measures[i]] = withRatio(theirs[i], cells[i])
			}
		}
	}
	return figures
}

// tableRows returns the cells of the lines of a file. If n is not 0, lines with another number of
// cells are left out.
func tableRows(t *testing.T, file string, n int) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if n == 0 || len(cells) == n {
			rows = append(rows, cells)
		}
	}
	return rows
}

// withRatio returns the numbers at the beginning of two cells, and their ratio. Figures without a
// number have the ratio NaN.
func withRatio(theirs, ours string) [3]string {
	number := func(cell string) (string, float64) {
		word, _, _ := strings.Cut(cell, " ")
		value, err := strconv.ParseFloat(word, 64)
		if err != nil {
			value = math.NaN()
		}
		return word, value
	}
	client, a := number(theirs)
	shared, b := number(ours)
	return [3]string{client, shared, fmt.Sprintf("%.3g", a/b)}
}
