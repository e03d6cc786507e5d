// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rewrite turns the tests of one package into tests of another one that stands in for it.
//
// A test inside a package names what it tests without a qualifier. Here its file gets a dot import
// of the package that is to be tested instead, so that the same names mean the other package's. All
// rewriting is done on the text, without moving a line.
package rewrite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/kinformer/cache/conformance/internal/prune"
)

// Rules says how the files of a package are read.
type Rules struct {
	// DotImport is the path of the package under test. A file of an external test package (named
	// "..._test") imports it by its path already and gets no dot import. Empty means that no file
	// gets one.
	DotImport string
	// Imports maps import paths to the paths that take their place.
	Imports map[string]string
	// Assertions maps the unexported type T of an assertion x.(*T) to the exported type that is
	// asserted instead.
	Assertions map[string]string
	// Rig, if set, sends the code that makes reflectors to a rig.
	Rig *Rig
}

// File returns the file rewritten by the rules, and the names of the functions that the rig
// changed.
func (r Rules) File(f prune.File) (prune.File, []string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Src, parser.SkipObjectResolution)
	if err != nil {
		return prune.File{}, nil, fmt.Errorf("parsing %s: %w", f.Name, err)
	}
	e := &editor{base: tree.FileStart}
	r.importsOf(tree, e)
	ast.Inspect(tree, func(n ast.Node) bool {
		if a, ok := n.(*ast.TypeAssertExpr); ok {
			r.assertion(a, e)
		}
		return true
	})
	var rigged []string
	if r.Rig != nil {
		rigged = r.Rig.file(tree, e)
	}
	return prune.File{Name: f.Name, Src: prune.Apply(f.Src, e.edits)}, rigged, nil
}

// editor collects edits given as nodes of one file's tree.
type editor struct {
	base  token.Pos
	edits []prune.Edit
}

func (e *editor) replace(n ast.Node, text string) {
	e.edits = append(e.edits, prune.Edit{Start: int(n.Pos() - e.base), End: int(n.End() - e.base), Text: text})
}

func (e *editor) insertAfter(n ast.Node, text string) {
	at := int(n.End() - e.base)
	e.edits = append(e.edits, prune.Edit{Start: at, End: at, Text: text})
}

func (r Rules) importsOf(tree *ast.File, e *editor) {
	if r.DotImport != "" && !IsExternal(tree.Name.Name) {
		e.insertAfter(tree.Name, "; import . "+strconv.Quote(r.DotImport))
	}
	for _, spec := range tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser accepts only strings here
		}
		if to, ok := r.Imports[path]; ok {
			e.replace(spec.Path, strconv.Quote(to))
		}
	}
}

// assertion reads x.(*T) as an assertion to the interface that T was made for.
func (r Rules) assertion(a *ast.TypeAssertExpr, e *editor) {
	star, ok := a.Type.(*ast.StarExpr)
	if !ok {
		return
	}
	id, ok := star.X.(*ast.Ident)
	if !ok {
		return
	}
	if to, ok := r.Assertions[id.Name]; ok {
		e.replace(a.Type, to)
	}
}

// IsExternal reports whether a package clause names an external test package.
func IsExternal(packageName string) bool {
	return strings.HasSuffix(packageName, "_test")
}

// Rename returns the file with another name in its package clause.
func Rename(f prune.File, packageName string) (prune.File, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Src, parser.PackageClauseOnly)
	if err != nil {
		return prune.File{}, fmt.Errorf("parsing %s: %w", f.Name, err)
	}
	e := &editor{base: tree.FileStart}
	e.replace(tree.Name, packageName)
	return prune.File{Name: f.Name, Src: prune.Apply(f.Src, e.edits)}, nil
}
