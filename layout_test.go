// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/kinformer/cache"

// mayImport are the walls: which packages of ours each package may import, those of tests apart.
// The engines know what an event is, and not each other; what they stand on knows nothing of ours.
var mayImport = map[string][]string{
	"": {"internal/event", "internal/reflector", "internal/queue", "internal/store", "internal/fanout",
		"internal/table", "internal/door"},
	"internal/event":           {},
	"internal/door":            {"internal/event", "internal/fanout", "internal/queue", "internal/reflector", "internal/store", "internal/table"},
	"internal/table":           {},
	"internal/eventlog":        {},
	"internal/identical":       {},
	"internal/testkit/cputime": {},
	"internal/decode":          {},
	"internal/interleave":      {},
	"internal/tap":             {"internal/event", "internal/decode"},
	"internal/tap/taptest":     {"internal/tap"},
	"internal/reflector":       {"internal/event", "internal/tap"},
	"internal/queue":           {"internal/event"},
	"internal/store":           {"internal/event", "internal/table", "internal/identical"},
	"internal/fanout":          {"internal/event", "internal/eventlog"},
	"internal/metrics":         {"inspect"},
	"internal/testkit":         {"cachetest", "internal/testkit/cputime"},
	"internal/testkit/checker": {},
	"cachetest":                {},
	"direct":                   {"internal/tap"},
	"audit":                    {"", "audit/internal/exact", "inspect", "internal/door", "internal/event", "internal/identical"},
	"audit/internal/exact":     {"internal/decode", "internal/event", "internal/reflector", "internal/tap"},
	"debug":                    {"", "inspect", "internal/door", "view"},
	"inspect":                  {"internal/door", "internal/event", "internal/fanout", "internal/queue", "internal/reflector"},
	"kinformer": {"", "inspect", "internal/door", "internal/event", "internal/fanout", "internal/reflector",
		"internal/store", "internal/table"},
	"view":      {"internal/door", "internal/event", "internal/table"},
	"factory":   {"", "internal/door", "kinformer"},
	"synctrack": {},
	"trim":      {"internal/decode"},
	"retry":     {"", "internal/door", "internal/event"},
	"testing":   {},

	"cmd/kinformer-measure": {"internal/decode", "internal/testkit/cputime"},
}

// TestWalls: no package imports one of ours that it must not know, and each that there is has its
// rule.
func TestWalls(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		importer := inModule(names[0])
		if strings.HasPrefix(importer, "internal/interleave/") || importer == "factory/internal/tablegen" {
			continue // of the tools
		}
		allowed, known := mayImport[importer]
		require.True(t, known, "%s: say in mayImport what it may import", names[0])
		for _, imported := range names[1:] {
			if imported == modulePath || strings.HasPrefix(imported, modulePath+"/") {
				assert.Contains(t, allowed, inModule(imported), "%s imports %s", names[0], imported)
			}
		}
	}
}

func inModule(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/")
}

const (
	mostLines         = 500
	mostFunctionLines = 60
)

// TestSizes: files and functions stay short enough to be read at once. Tests and what is generated
// are exempt.
func TestSizes(t *testing.T) {
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			checkSize(t, path)
		}
		return nil
	}))
}

func checkSize(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	if ast.IsGenerated(file) {
		return
	}
	assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), mostLines, "lines of %s", path)
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line + 1
			assert.LessOrEqual(t, lines, mostFunctionLines, "lines of %s in %s", function.Name.Name, path)
		}
	}
}
