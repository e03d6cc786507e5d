// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prune makes a set of Go files compile by taking declarations out of it.
//
// The tests of a package refer to its unexported names. Seen from another package those names do
// not exist, and a test which needs one cannot be run there. Prune type-checks the files, takes out
// every top-level declaration that holds an error, and repeats until none is left: a helper goes
// with the type it needs, and a test with its helper.
//
// What is taken out is blanked, line by line: every declaration that stays keeps its line, so that
// a failing test is reported at the line where its author wrote it.
package prune

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// File is one Go source file of a package. Prune never writes into Src.
type File struct {
	// Name is the file's base name. It is unique in its package.
	Name string
	// Src is the whole text.
	Src []byte
}

// Edit replaces the bytes [Start, End) of a source with Text.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns src with the edits made. The edits may come in any order but must not overlap. Line
// numbers after an edit stay what they were: a line break inside a replaced range is kept.
func Apply(src []byte, edits []Edit) []byte {
	sorted := slices.Clone(edits)
	slices.SortFunc(sorted, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out bytes.Buffer
	at := 0
	for _, e := range sorted {
		out.Write(src[at:e.Start])
		out.WriteString(e.Text)
		for range bytes.Count(src[e.Start:e.End], []byte("\n")) {
			out.WriteByte('\n')
		}
		at = e.End
	}
	out.Write(src[at:])
	return out.Bytes()
}

// parsed is one file of a round: its tree and its text, which belong together.
type parsed struct {
	file File
	tree *ast.File
}

// parse reads all files into one file set.
func parse(fset *token.FileSet, files []File) ([]parsed, error) {
	out := make([]parsed, 0, len(files))
	for _, f := range files {
		tree, err := parser.ParseFile(fset, f.Name, f.Src, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", f.Name, err)
		}
		out = append(out, parsed{file: f, tree: tree})
	}
	return out, nil
}
