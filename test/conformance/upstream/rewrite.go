// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// file is a Go source file with its tree.
type file struct {
	name string
	src  []byte
	tree *ast.File
	fset *token.FileSet
}

func parseFile(name string, src []byte) (file, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	return file{name, src, tree, fset}, err
}

// edit replaces a part of a file.
type edit struct {
	from, to token.Pos
	text     string
}

func replace(n ast.Node, text string) edit { return edit{n.Pos(), n.End(), text} }

// edited returns the file after edits, which must not overlap. Line breaks in replaced text are kept, so
// that test failures are reported at the original lines.
func (f file) edited(edits []edit) (file, error) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		from, to := int(e.from-f.tree.FileStart), int(e.to-f.tree.FileStart)
		out.Write(f.src[at:from])
		out.WriteString(e.text)
		out.Write(bytes.Repeat([]byte("\n"), bytes.Count(f.src[from:to], []byte("\n"))))
		at = to
	}
	out.Write(f.src[at:])
	return parseFile(f.name, out.Bytes())
}

// asserted maps unexported types T of assertions x.(*T) to the exported types that replace *T.
var asserted = map[string]string{"sharedIndexInformer": "SharedIndexInformer", "threadSafeMap": "ThreadSafeStoreWithTransaction"}

// ofRig maps the type and the constructors of reflectors to the rig's.
var ofRig = map[string]string{
	"Reflector": "rig", "NewReflector": "newRig", "NewNamedReflector": "newNamedRig", "NewReflectorWithOptions": "newRigWithOptions",
}

// leftBehind is added to the arguments of goleak.VerifyTestMain. Shutdown of the fake source never
// releases the source's lock, so a later request of a reflector does not return. TestPanicPropagated can leave one
// behind, with client-go's reflector as well.
const leftBehind = `, goleak.IgnoreAnyFunction("k8s.io/client-go/tools/cache/testing.(*FakeControllerSource).List")` +
	`, goleak.IgnoreAnyFunction("k8s.io/client-go/tools/cache/testing.(*FakeControllerSource).Watch")`

// rewriteAll makes the tests of a package test the package tested. Tests inside the package get a dot
// import of it, so that the same names refer to it. The rig replaces reflectors.
func rewriteAll(files []file, tested string) (rewritten []file, err error) {
	for _, f := range files {
		var edits []edit
		if !strings.HasSuffix(f.tree.Name.Name, "_test") { // external tests import it by its path
			edits = append(edits, edit{f.tree.Name.End(), f.tree.Name.End(), "; import . " + strconv.Quote(tested)})
		}
		for _, spec := range f.tree.Imports {
			if below, found := strings.CutPrefix(spec.Path.Value, `"`+clientGo+"/tools/cache"); found {
				edits = append(edits, replace(spec.Path, `"`+ours+below))
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if star, ok := n.Type.(*ast.StarExpr); ok && asserted[nameOf(star.X)] != "" {
					edits = append(edits, replace(star, asserted[nameOf(star.X)]))
				}
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "VerifyTestMain" {
					edits = append(edits, edit{n.Rparen, n.Rparen, leftBehind})
				}
			}
			return true
		})
		for _, decl := range f.tree.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && makesReflector(fn) {
				edits = append(edits, rigEdits(fn)...)
			}
		}
		if f, err = f.edited(edits); err != nil {
			return nil, err
		}
		rewritten = append(rewritten, f)
	}
	return rewritten, nil
}

// nameOf returns the name of an identifier, "" for other expressions.
func nameOf(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// makesReflector reports whether the function calls a constructor or contains a literal. Elsewhere, as
// in the parameter of an error handler, the type remains client-go's.
func makesReflector(fn *ast.FuncDecl) (makes bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			makes = makes || ofRig[nameOf(n.Fun)] != ""
		case *ast.CompositeLit:
			makes = makes || nameOf(n.Type) == "Reflector"
		}
		return !makes
	})
	return makes
}

// rigEdits renames the constructors and the type. Selected names and keys of literals with the same
// spelling are other names.
func rigEdits(fn *ast.FuncDecl) (edits []edit) {
	other := map[ast.Node]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
		case *ast.KeyValueExpr:
			other[n.Key] = true
		case *ast.Ident:
			if to := ofRig[n.Name]; to != "" && !other[n] {
				edits = append(edits, replace(n, to))
			}
		}
		return true
	})
	return edits
}
