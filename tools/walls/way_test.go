// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package walls_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/cover"
)

// mostFunctions and mostLines limit the way of an update: the number of functions that one MODIFIED event in
// protobuf executes in the tap and the decoder, with shared parts, and the number of lines of their files. Both
// may only be lowered. A run has 85 to 89 functions, and some ten more if a part was checked by chance.
const (
	mostFunctions = 110
	mostLines     = 4500
)

// TestWayOfAnUpdate compares the counters of go test -cover of ten updates and of thirteen. None of
// the three is also verified by the client's decoding, as the 40th object of a watch is.
func TestWayOfAnUpdate(t *testing.T) {
	if os.Getenv("KINFORMER_NIGHT") == "" {
		t.Skip("for the night: set KINFORMER_NIGHT=1")
	}
	var functions []string
	few, lines := blocksOf(t, 10), 0
	for file, blocks := range blocksOf(t, 13) {
		ran, length := executed(t, file, blocks, few[file])
		if functions = append(functions, ran...); len(ran) > 0 {
			lines += length
		}
	}
	slices.Sort(functions)
	t.Logf("%d functions, %d lines\n%s", len(functions), lines, strings.Join(functions, "\n"))
	if len(functions) > mostFunctions || lines > mostLines {
		t.Errorf("%d functions in files of %d lines, of %d and %d", len(functions), lines, mostFunctions, mostLines)
	}
}

// blocksOf returns the counters of each file after some updates, by the line and column of a block.
func blocksOf(t *testing.T, updates int) map[string]map[[2]int]int {
	out := filepath.Join(t.TempDir(), "profile")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run", "^TestUpdates$", "-covermode=count",
		"-coverpkg=./internal/tap/...,./internal/decode/...", "-coverprofile="+out, "./internal/tap/engine")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), fmt.Sprint("KINFORMER_UPDATES=", updates))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	profiles, err := cover.ParseProfiles(out)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]map[[2]int]int{}
	for _, p := range profiles {
		counts := map[[2]int]int{}
		for _, b := range p.Blocks {
			counts[[2]int{b.StartLine, b.StartCol}] = b.Count
		}
		blocks[p.FileName] = counts
	}
	return blocks
}

// executed returns the functions of a file with a block that has run more often than before, and the lines of
// the file.
func executed(t *testing.T, file string, counts, before map[[2]int]int) (names []string, lines int) {
	name, _ := inModule(file)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("../..", name), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		from, to := files.Position(d.Pos()).Line, files.Position(d.End()).Line
		for block, count := range counts {
			if f, ok := d.(*ast.FuncDecl); ok && from <= block[0] && block[0] <= to && count > before[block] {
				names = append(names, fmt.Sprint(name, ":", from, " ", f.Name.Name))
				break
			}
		}
	}
	return names, files.File(parsed.FileStart).LineCount()
}
