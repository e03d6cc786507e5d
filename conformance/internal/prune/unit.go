// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is the smallest piece that is taken out whole: a function, a method, a type, a variable or
// import specification, or a group of constants (whose values may depend on one another's place).
type unit struct {
	file     int // index among the parsed files
	names    []string
	node     ast.Node
	isImport bool
	isTest   bool
}

// covers reports whether pos lies inside the unit.
func (u *unit) covers(pos token.Pos) bool {
	return u.node.Pos() <= pos && pos < u.node.End()
}

// title is the name under which the unit is reported.
func (u *unit) title() string { return strings.Join(u.names, ", ") }

// unitsOf lists the units of all files, in order.
func unitsOf(files []parsed) []*unit {
	var out []*unit
	for i, f := range files {
		for _, decl := range f.tree.Decls {
			for _, u := range unitsOfDecl(decl) {
				u.file = i
				out = append(out, u)
			}
		}
	}
	return out
}

func unitsOfDecl(decl ast.Decl) []*unit {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return []*unit{funcUnit(d)}
	case *ast.GenDecl:
		if d.Tok == token.CONST || !d.Lparen.IsValid() {
			return []*unit{wholeGroup(d)}
		}
		out := make([]*unit, 0, len(d.Specs))
		for _, spec := range d.Specs {
			out = append(out, &unit{names: namesOf(spec), node: spec, isImport: d.Tok == token.IMPORT})
		}
		return out
	default:
		return nil
	}
}

func wholeGroup(d *ast.GenDecl) *unit {
	u := &unit{node: d, isImport: d.Tok == token.IMPORT}
	for _, spec := range d.Specs {
		u.names = append(u.names, namesOf(spec)...)
	}
	return u
}

func funcUnit(d *ast.FuncDecl) *unit {
	if d.Recv == nil {
		return &unit{names: []string{d.Name.Name}, node: d, isTest: isTestFunc(d)}
	}
	return &unit{names: []string{receiverName(d.Recv) + "." + d.Name.Name}, node: d}
}

// receiverName is the name of the type that a method belongs to.
func receiverName(recv *ast.FieldList) string {
	if len(recv.List) == 0 {
		return "?"
	}
	expr := recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return "?"
		}
	}
}

func namesOf(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var out []string
		for _, n := range s.Names {
			out = append(out, n.Name)
		}
		return out
	case *ast.ImportSpec:
		return []string{s.Path.Value}
	default:
		return nil
	}
}

// isTestFunc reports whether go test would run d as a test: TestMain is none.
func isTestFunc(d *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(d.Name.Name, "Test")
	if !ok || d.Name.Name == "TestMain" || d.Recv != nil || d.Type.TypeParams != nil {
		return false
	}
	if len(d.Type.Params.List) != 1 || d.Type.Results != nil {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(first)
}

// TestsIn lists the names of the tests that the files declare, in order.
func TestsIn(files []File) ([]string, error) {
	trees, err := parse(token.NewFileSet(), files)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, u := range unitsOf(trees) {
		if u.isTest {
			out = append(out, u.names[0])
		}
	}
	return out, nil
}
