// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// interleave is the path of the substitutes, which have the names of the packages that they
// replace.
const interleave = "github.com/kinformer/cache/internal/interleave"

var substitutes = map[string]string{
	"sync":         interleave + "/sync",
	"sync/atomic":  interleave + "/atomic",
	"hash/maphash": interleave + "/maphash",
	"time":         interleave + "/time",
}

// write writes the instrumented copies of packages to the folder out, with overlay.json. packages are
// the paths of their folders in root.
func write(out, root string, packages ...string) error {
	replaced := map[string]string{}
	for _, pkg := range packages {
		if err := writePackage(filepath.Join(out, pkg), filepath.Join(root, pkg), replaced); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replaced}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "overlay.json"), text, 0o666)
}

// writePackage instruments a package, and adds the copies of its files to replaced.
func writePackage(out, dir string, replaced map[string]string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no package in %s", dir)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, file := range files {
		if err := writeFile(out, file, replaced); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(out, file string, replaced map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, fromErr := filepath.Abs(file)
	to, toErr := filepath.Abs(filepath.Join(out, filepath.Base(file)))
	if strings.HasSuffix(file, "_test.go") {
		if !bytes.Contains(text, []byte("\n//go:build interleave")) {
			replaced[from] = "" // the file is omitted
		}
		return fromErr
	}
	with, err := withPoints(file, text)
	if err != nil {
		return err
	}
	replaced[from] = to
	return errors.Join(fromErr, toErr, os.WriteFile(to, with, 0o666))
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	by       string
}

// withPoints returns the text of a file instrumented with points.
func withPoints(name string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	e := editor{offset: func(p token.Pos) int { return fset.Position(p).Offset }}
	for _, spec := range file.Imports {
		e.importSpec(spec)
	}
	imports := len(e.edits)
	ast.Inspect(file, e.node)
	if len(e.edits) > imports {
		e.replace(file.Name.End(), file.Name.End(), "; import interleave "+strconv.Quote(interleave))
	}
	return e.apply(text), nil
}

type editor struct {
	offset func(token.Pos) int
	edits  []edit
	yields bool // runtime.Gosched was replaced
}

func (e *editor) replace(from, to token.Pos, by string) {
	e.edits = append(e.edits, edit{e.offset(from), e.offset(to), by})
}

func (e *editor) importSpec(spec *ast.ImportSpec) {
	if path, err := strconv.Unquote(spec.Path.Value); err == nil && substitutes[path] != "" {
		e.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(substitutes[path]))
	}
}

// node replaces go statements and calls of runtime.Gosched.
func (e *editor) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		e.replace(n.Go, n.Call.Pos(), "interleave.Go(func() { ")
		e.replace(n.Call.End(), n.Call.End(), " })")
	case *ast.SelectorExpr:
		if of, ok := n.X.(*ast.Ident); ok && of.Name == "runtime" && n.Sel.Name == "Gosched" {
			e.replace(n.Pos(), n.End(), "interleave.Point")
			e.yields = true
		}
	}
	return true
}

func (e *editor) apply(text []byte) (edited []byte) {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	at := 0
	for _, d := range e.edits {
		edited = append(append(edited, text[at:d.from]...), d.by...)
		at = d.to
	}
	edited = append(edited, text[at:]...)
	if e.yields { // the import must be used
		edited = append(edited, "\nvar _ = runtime.Gosched\n"...)
	}
	return edited
}
