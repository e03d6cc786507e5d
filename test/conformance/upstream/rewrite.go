// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"strconv"
	"strings"
)

// file is a Go source file, without comments.
type file struct {
	name string
	tree *ast.File
}

// positions are those of all files.
var positions = token.NewFileSet()

func parseFile(name string, src []byte) (file, error) {
	tree, err := parser.ParseFile(positions, name, src, parser.SkipObjectResolution)
	return file{name, tree}, err
}

// write writes the file to a path, with directives by which failures are reported at the original lines.
func (f file) write(path string) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	return (&printer.Config{Mode: printer.SourcePos, Tabwidth: 8}).Fprint(to, positions, f.tree)
}

// asserted maps unexported types T of assertions x.(*T) to the exported types that replace *T.
var asserted = map[string]string{"sharedIndexInformer": "SharedIndexInformer", "threadSafeMap": "ThreadSafeStoreWithTransaction"}

// ofRig maps the type and the constructors of reflectors to the rig's.
var ofRig = map[string]string{
	"Reflector": "rig", "NewReflector": "newRig", "NewNamedReflector": "newNamedRig", "NewReflectorWithOptions": "newRigWithOptions",
}

// leftBehind are the functions that goleak.VerifyTestMain ignores. Shutdown of the fake source never
// releases the source's lock, so a later request of a reflector does not return. TestPanicPropagated can leave one
// behind, with client-go's reflector as well.
var leftBehind = []string{
	"k8s.io/client-go/tools/cache/testing.(*FakeControllerSource).List", "k8s.io/client-go/tools/cache/testing.(*FakeControllerSource).Watch",
}

// rewrite makes the tests of a package test the package tested. Tests inside the package get a dot
// import of it, so that the same names refer to it. The rig replaces reflectors.
func rewrite(tree *ast.File, tested string) {
	for _, spec := range tree.Imports {
		if below, found := strings.CutPrefix(spec.Path.Value, `"`+clientGo+"/tools/cache"); found {
			spec.Path.Value = `"` + ours + below
		}
	}
	if !strings.HasSuffix(tree.Name.Name, "_test") { // external tests import it by its path
		at := tree.Name.End()
		spec := &ast.ImportSpec{Name: &ast.Ident{Name: ".", NamePos: at}, Path: text(tested, at)}
		tree.Imports = append(tree.Imports, spec)
		tree.Decls = append([]ast.Decl{&ast.GenDecl{Tok: token.IMPORT, TokPos: at, Specs: []ast.Spec{spec}}}, tree.Decls...)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			if star, ok := n.Type.(*ast.StarExpr); ok && asserted[nameOf(star.X)] != "" {
				n.Type = &ast.Ident{Name: asserted[nameOf(star.X)], NamePos: star.Pos()}
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "VerifyTestMain" {
				for _, name := range leftBehind {
					ignore := &ast.SelectorExpr{X: fn.X, Sel: &ast.Ident{Name: "IgnoreAnyFunction", NamePos: n.Rparen}}
					n.Args = append(n.Args, &ast.CallExpr{Fun: ignore, Lparen: n.Rparen, Args: []ast.Expr{text(name, n.Rparen)}, Rparen: n.Rparen})
				}
			}
		}
		return true
	})
	for _, decl := range tree.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && makesReflector(fn) {
			useRig(fn)
		}
	}
}

// text returns a literal.
func text(value string, at token.Pos) *ast.BasicLit {
	return &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(value), ValuePos: at}
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

// useRig renames the constructors and the type. Selected names and keys of literals with the same
// spelling are other names.
func useRig(fn *ast.FuncDecl) {
	other := map[ast.Node]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
		case *ast.KeyValueExpr:
			other[n.Key] = true
		case *ast.Ident:
			if to := ofRig[n.Name]; to != "" && !other[n] {
				n.Name = to
			}
		}
		return true
	})
}
