// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// drop is a removed declaration.
type drop struct {
	name string
	at   token.Position
	why  string // the first error of the type checker about it
}

// prune removes declarations from the files of a package until the rest compiles. It repeatedly removes
// each declaration with an error: first a helper with an unknown type, then a test that calls the
// helper. The shims are checked as well. A declaration of a shim replaces a declaration of the same
// name. Such replaced declarations and unused imports are not reported as drops.
func prune(files, shims []file, imp types.Importer) (drops []drop, err error) {
	theirs := map[string]bool{}
	for _, u := range unitsOf(shims) {
		theirs[u.name] = !u.isImport
	}
	remove(files, slices.DeleteFunc(unitsOf(files), func(u unit) bool { return u.isImport || !theirs[u.name] }))
	for {
		why := check(slices.Concat(files, shims), imp)
		if len(why) == 0 {
			return drops, nil
		}
		faulty := unitsOf(files)
		for i := range faulty {
			faulty[i].why = faulty[i].first(why)
		}
		faulty = slices.DeleteFunc(faulty, func(u unit) bool { return u.why == "" })
		if len(faulty) == 0 {
			return nil, fmt.Errorf("an error stands outside of every declaration: %v", why[0])
		}
		// Unused imports are known only once no other declaration has an error.
		if declarations := slices.DeleteFunc(slices.Clone(faulty), func(u unit) bool { return u.isImport }); len(declarations) > 0 {
			faulty = declarations
		}
		for _, u := range faulty {
			if !u.isImport {
				drops = append(drops, drop{u.name, positions.Position(u.node.Pos()), u.why})
			}
		}
		remove(files, faulty)
	}
}

// check type-checks the files with the same package clause as one package.
func check(files []file, imp types.Importer) (found []types.Error) {
	packages := map[string][]*ast.File{}
	for _, f := range files {
		packages[f.tree.Name.Name] = append(packages[f.tree.Name.Name], f.tree)
	}
	config := types.Config{Importer: imp, Error: func(err error) { found = append(found, err.(types.Error)) }}
	for name, trees := range packages {
		_, _ = config.Check(name, positions, trees, nil) // Check returns the first of the errors
	}
	return found
}

// unit is the smallest removable part: a function, a method, a type, a variable, an import, or a group
// of constants, whose values may depend on their positions.
type unit struct {
	name     string
	node     ast.Node
	isImport bool
	isTest   bool
	why      string
}

// first returns the first of the errors within the unit, or "". That of an import is at its beginning.
func (u unit) first(found []types.Error) string {
	for _, err := range found {
		if err.Pos == u.node.Pos() || !u.isImport && u.node.Pos() < err.Pos && err.Pos < u.node.End() {
			return err.Msg
		}
	}
	return ""
}

func unitsOf(files []file) (units []unit) {
	for _, f := range files {
		for _, decl := range f.tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				u := unit{name: d.Name.Name, node: d, isTest: isTest(d)}
				if d.Recv != nil {
					u.name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + u.name
				}
				units = append(units, u)
			case *ast.GenDecl:
				units = append(units, unitsOfGroup(d)...)
			}
		}
	}
	return units
}

func unitsOfGroup(d *ast.GenDecl) (units []unit) {
	for _, spec := range d.Specs {
		u := unit{node: spec, isImport: d.Tok == token.IMPORT}
		switch s := spec.(type) {
		case *ast.TypeSpec:
			u.name = s.Name.Name
		case *ast.ValueSpec:
			u.name = s.Names[0].Name
		}
		if d.Tok == token.CONST {
			u.node = d
			return []unit{u}
		}
		units = append(units, u)
	}
	return units
}

// isTest reports whether go test runs the function as a test. TestMain is not a test.
func isTest(d *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(d.Name.Name, "Test")
	return ok && d.Recv == nil && len(d.Type.Params.List) == 1 && d.Name.Name != "TestMain" && (rest == "" || !unicode.IsLower(rune(rest[0])))
}

// testsIn returns the names of the tests.
func testsIn(files []file) (tests []string) {
	for _, u := range unitsOf(files) {
		if u.isTest {
			tests = append(tests, u.name)
		}
	}
	return tests
}

// remove removes units from the files.
func remove(files []file, units []unit) {
	gone := map[ast.Node]bool{}
	for _, u := range units {
		gone[u.node] = true
	}
	for _, f := range files {
		f.tree.Decls = slices.DeleteFunc(f.tree.Decls, func(d ast.Decl) bool {
			group, ok := d.(*ast.GenDecl)
			if ok {
				group.Specs = slices.DeleteFunc(group.Specs, func(s ast.Spec) bool { return gone[s] })
			}
			return gone[d] || ok && len(group.Specs) == 0
		})
	}
}
