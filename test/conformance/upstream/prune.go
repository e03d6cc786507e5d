// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// drop is a removed declaration.
type drop struct {
	name, file string
	line       int
	why        string // the first error of the type checker about it
}

// prune removes declarations from the files of a package until the rest compiles. It repeatedly removes
// each declaration with an error: first a helper with an unknown type, then a test that calls the
// helper. The shims are checked as well. A declaration of a shim replaces a declaration of the same
// name. Such replaced declarations and unused imports are not reported as drops.
func prune(files, shims []file, imp types.Importer) (kept []file, drops []drop, err error) {
	theirs := map[string]bool{}
	for _, u := range unitsOf(shims) {
		theirs[u.name] = true
	}
	files, err = without(slices.Clone(files), unitsOf(files), func(u unit) bool { return theirs[u.name] && !u.isImport })
	for err == nil {
		why := check(append(slices.Clone(files), shims...), imp)
		if len(why) == 0 {
			return files, drops, nil
		}
		faulty := unitsOf(files)
		for i := range faulty {
			faulty[i].why = faulty[i].first(why)
		}
		faulty = slices.DeleteFunc(faulty, func(u unit) bool { return u.why == "" })
		// Unused imports are known only once no other declaration has an error.
		declarations := slices.ContainsFunc(faulty, func(u unit) bool { return !u.isImport })
		if len(faulty) == 0 {
			return nil, nil, fmt.Errorf("an error stands outside of every declaration: %v", why[0])
		}
		for _, u := range faulty {
			if !u.isImport {
				drops = append(drops, drop{u.name, u.file.name, u.file.fset.Position(u.node.Pos()).Line, u.why})
			}
		}
		files, err = without(files, faulty, func(u unit) bool { return u.isImport != declarations })
	}
	return nil, nil, err
}

// check type-checks the files with the same package clause as one package.
func check(files []file, imp types.Importer) (found []types.Error) {
	fset, packages := token.NewFileSet(), map[string][]*ast.File{}
	for _, f := range files {
		tree, err := parser.ParseFile(fset, f.name, f.src, parser.SkipObjectResolution)
		if err != nil {
			return []types.Error{{Fset: fset, Msg: err.Error()}}
		}
		packages[tree.Name.Name] = append(packages[tree.Name.Name], tree)
	}
	config := types.Config{Importer: imp, Error: func(err error) { found = append(found, err.(types.Error)) }}
	for name, trees := range packages {
		_, _ = config.Check(name, fset, trees, nil) // Check returns the first of the errors
	}
	return found
}

// unit is the smallest removable part: a function, a method, a type, a variable, an import, or a group
// of constants, whose values may depend on their positions.
type unit struct {
	file     file
	name     string
	node     ast.Node
	isImport bool
	isTest   bool
	why      string
}

// first returns the first of the errors within the unit, or "".
func (u unit) first(found []types.Error) string {
	from, to := u.file.fset.Position(u.node.Pos()), u.file.fset.Position(u.node.End())
	for _, err := range found {
		at := err.Fset.Position(err.Pos)
		if at.Filename == u.file.name && from.Offset <= at.Offset && at.Offset < to.Offset {
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
				u := unit{file: f, name: d.Name.Name, node: d, isTest: isTest(d)}
				if d.Recv != nil {
					u.name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + u.name
				}
				units = append(units, u)
			case *ast.GenDecl:
				units = append(units, unitsOfGroup(f, d)...)
			}
		}
	}
	return units
}

func unitsOfGroup(f file, d *ast.GenDecl) (units []unit) {
	for _, spec := range d.Specs {
		u := unit{file: f, node: spec, isImport: d.Tok == token.IMPORT}
		switch s := spec.(type) {
		case *ast.TypeSpec:
			u.name = s.Name.Name
		case *ast.ValueSpec:
			u.name = s.Names[0].Name
		}
		if d.Tok == token.CONST || !d.Lparen.IsValid() {
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

// without returns the files without the selected units.
func without(files []file, units []unit, which func(unit) bool) ([]file, error) {
	for i, f := range files {
		var edits []edit
		for _, u := range units {
			if u.file.name == f.name && which(u) {
				edits = append(edits, replace(u.node, ""))
			}
		}
		if len(edits) == 0 {
			continue
		}
		edited, err := f.edited(edits)
		if err != nil {
			return nil, err
		}
		files[i] = edited
	}
	return files, nil
}
