// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules_test checks rules for all packages and documents: the exported names, the length of
// files and functions, and the links of documents. The tests run in the root of the module.
package rules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const modulePath = "github.com/kinformer/cache"

const (
	mostLines         = 500
	mostFunctionLines = 60
)

// TestSizes: files and functions are short enough to be read at once. Tests and generated files are
// exempt.
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
